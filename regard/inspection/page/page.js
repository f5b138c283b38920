// The page at `/`: type, and see the translation and how it comes to be.

import { readAddress, writeAddress } from "./address.js";
import { closeAlternatives } from "./alternatives.js";
import { explain, languages, Trouble, useKey } from "./api.js";
import { followScheme } from "./colors.js";
import { Composer } from "./composer.js";
import { element } from "./dom.js";
import { Languages } from "./languages.js";
import { Viewer } from "./viewer.js";
import { step } from "./words.js";

const PAUSE = 250;
const find = (name) => document.getElementById(name);
const stage = find("stage");
const state = { explanation: null, prefix: "", attention: "cross", asked: 0 };
const selects = { from: find("from"), to: find("to"), swap: find("swap") };
const served = new Languages(selects, again);
const composer = new Composer(find("text"), find("mirror"), { changed: typed, pointed: pointAtSource, placed: lookThere });
const viewer = new Viewer(find("inspector"), find("target"), {
  read: (units, explanation) => composer.elements(units, explanation),
  choose,
  pick: (part) => ask(startOf(part)),
  ask: (kind) => {
    state.attention = kind === "cross" ? "cross" : "all";
    ask(startOf(viewer.part));
  },
});
let waiting = 0;

function typed() {
  state.prefix = "";
  stage.classList.add("stale");
  closeAlternatives();
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE);
}

/** Ask for the translation; the sentence at a position of the text, by default that of the caret, is explained. */
async function ask(at = composer.caret) {
  const text = composer.text;
  const number = ++state.asked;
  writeAddress({ text, from: served.from, to: served.to });
  if (!text.trim()) {
    show(null);
    return;
  }
  stage.classList.add("stale");
  const slow = setTimeout(() => say("Translating …"), 500);
  const { prefix, attention } = state;
  try {
    const answer = await explain({ q: text, source: served.from, target: served.to, prefix, at, attention });
    if (number === state.asked && text === composer.text) show(answer);
  } catch (error) {
    if (number === state.asked && error.name !== "AbortError") fail(error);
  } finally {
    clearTimeout(slow);
    if (number === state.asked) say(note());
  }
}

function show(explanation) {
  state.explanation = explanation;
  find("trouble").hidden = find("unlock").hidden = true;
  stage.classList.remove("stale");
  stage.classList.toggle("empty", !explanation);
  find("actions").hidden = !explanation;
  find("model").textContent = explanation?.model ?? "";
  served.detected(explanation?.detected?.language ?? "");
  find("text").lang = explanation?.detected?.language ?? (served.from === "auto" ? "" : served.from);
  find("target").lang = served.to;
  release();
  const nothing = { parts: [], links: [], attention: [], source: { words: [], spaced: [] }, target: { words: [], spaced: [] } };
  viewer.show(explanation ? { ...explanation, languages: { source: find("text").lang, target: served.to } } : nothing);
}

/** The position of a part in the text, in characters as the server counts them. */
function startOf(part) {
  const before = state.explanation.parts.slice(0, part);
  const text = before.map((one) => one.gaps.source + one.texts.source).join("");
  return [...text].length + [...(state.explanation.parts[part]?.gaps.source ?? "")].length;
}

/** The caret was placed in a sentence: look into it. */
function lookThere(caret) {
  if (stage.classList.contains("stale") || !state.explanation) return;
  const starts = state.explanation.parts.map((_, part) => startOf(part));
  viewer.look(Math.max(0, starts.findLastIndex((start) => start <= caret)));
}

function choose(prefix) {
  state.prefix = prefix;
  ask(startOf(viewer.part));
}

/** A word that was chosen stays until the text changes or it is let go. */
function release() {
  const button = find("release");
  const start = state.prefix.split("\n").at(-1) || state.prefix.trim();
  button.hidden = !state.prefix;
  button.textContent = `starts with “${start.length > 28 ? `…${start.slice(-27)}` : start}”`;
  button.setAttribute("aria-label", `Let go of the chosen beginning: ${start}`);
}

function pointAtSource(span) {
  const unit = span ? viewer.words.source.indexOf(span) : -1;
  const focus = viewer.focus;
  if (unit >= 0) focus.set({ side: "source", unit });
  else if (focus.get()?.side === "source") focus.set(null);
}

/** What there is to say about a translation: nothing, unless the text was left as it is or could not be looked into. */
function note() {
  const parts = state.explanation?.parts ?? [];
  if (!parts.length || parts.some((part) => part.target.length)) return "";
  const kept = state.explanation.detected?.language === served.to;
  return kept ? `The text is ${served.name(served.to)} already, and was left as it is.` : "This sentence is too long to look into.";
}

function say(text) {
  find("status").textContent = text;
}

function fail(error) {
  stage.classList.toggle("stale", Boolean(state.explanation) && state.explanation.source.text !== composer.text);
  const trouble = find("trouble");
  trouble.textContent = error instanceof Trouble ? error.message : `This page failed: ${error.message}`;
  trouble.hidden = false;
  find("unlock").hidden = !error.locked;
}

function swap() {
  const { from, to } = served;
  const said = state.explanation?.target.text;
  served.choose(to, from);
  if (said) composer.text = said;
  again();
}

function again() {
  state.prefix = "";
  if (composer.text.trim()) ask();
}

async function copy(text, told) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { class: "unseen", text }); // pages that are not served over TLS
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(told);
  setTimeout(() => say(note()), 1500);
}

/** Begin with what the address says. */
async function start() {
  const said = readAddress();
  if (said.text) composer.text = said.text;
  try {
    served.offer(await languages(), said);
  } catch (error) {
    fail(error);
    return;
  }
  again();
}

find("swap").addEventListener("click", swap);
find("copy").addEventListener("click", () => copy(state.explanation?.target.text ?? "", "Copied."));
find("share").addEventListener("click", () => copy(location.href, "Copied the address."));
find("release").addEventListener("click", () => choose(""));
find("unlock").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(find("key").value);
  again();
});
find("text").addEventListener("keydown", (event) => {
  const atEnd = composer.text.length === find("text").selectionStart;
  if (event.key === "ArrowDown" && atEnd && viewer.words.target.length) {
    event.preventDefault();
    step(viewer.words.target, 0);
  }
});
addEventListener("online", again);
addEventListener("hashchange", start);
followScheme(find("theme"), () => viewer.redraw());
await start();
