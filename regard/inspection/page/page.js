// The page at `/`: type, and see the translation and how it comes to be.

import { closeAlternatives, showAlternatives } from "./alternatives.js";
import { explain, languages, Trouble, useKey } from "./api.js";
import { followScheme } from "./colors.js";
import { Composer } from "./composer.js";
import { element, watched } from "./dom.js";
import { Inspector } from "./inspector.js";
import { Links } from "./links.js";
import { download } from "./picture.js";
import { fittingGrain, linksOf, unitsOf } from "./reading.js";
import { showWords, step } from "./words.js";

const PAUSE = 250;
const find = (name) => document.getElementById(name);
const stage = find("stage");
const focus = watched(null);
const state = { explanation: null, grain: "words", chosenGrain: null, prefix: "", asked: 0, pairs: [] };
const shown = { units: { source: [], target: [] }, words: { source: [], target: [] } };

const links = new Links(stage, focus);
const inspector = new Inspector(find("inspector"), focus, () => shown.units);
const composer = new Composer(find("text"), find("mirror"), { changed: typed, pointed: pointAtSource });
let waiting = 0;

function typed() {
  state.prefix = "";
  stage.classList.add("stale");
  closeAlternatives();
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE);
}

async function ask() {
  const text = composer.text;
  const number = ++state.asked;
  if (!text.trim()) {
    show(null);
    return;
  }
  const slow = setTimeout(() => say("Translating …"), 500);
  try {
    const [source, target] = [find("from").value, find("to").value];
    const answer = await explain({ q: text, source, target, prefix: state.prefix });
    if (number === state.asked && text === composer.text) show(answer);
  } catch (error) {
    if (number === state.asked && error.name !== "AbortError") fail(error);
  } finally {
    clearTimeout(slow);
    if (number === state.asked) say("");
  }
}

function show(explanation) {
  state.explanation = explanation;
  find("trouble").hidden = find("unlock").hidden = true;
  stage.classList.remove("stale");
  stage.classList.toggle("empty", !explanation);
  find("actions").hidden = !explanation;
  if (!explanation) {
    find("target").replaceChildren();
    links.show({ source: [], target: [] }, []);
    inspector.show({ parts: [] });
    return;
  }
  state.grain = state.chosenGrain ?? fittingGrain(explanation);
  release();
  showPair();
  inspector.show(explanation);
}

function showPair() {
  const { explanation, grain } = state;
  focus.set(null);
  shown.units.source = unitsOf(explanation, "source", grain);
  shown.units.target = unitsOf(explanation, "target", grain);
  shown.words.source = composer.elements(shown.units.source);
  const forced = (unit) => unit.tokens.every((at) => explanation.parts[unit.part].target[at].forced);
  shown.words.target = showWords(find("target"), shown.units.target, {
    side: "target",
    focus,
    across: () => find("text").focus(),
    press: (at, word) => {
      const unit = shown.units.target[at];
      showAlternatives(word, explanation.parts[unit.part], unit, choose);
    },
    decorate: (word, unit) => {
      word.classList.toggle("given", forced(unit));
      word.setAttribute("aria-haspopup", "dialog");
    },
  });
  for (const button of document.querySelectorAll("[data-grain]")) {
    button.setAttribute("aria-pressed", String(button.dataset.grain === grain));
  }
  link();
}

function link() {
  const { explanation, grain } = state;
  if (explanation) links.show(shown.words, linksOf(explanation, grain, inspector.view.get()));
}

function choose(prefix) {
  state.prefix = prefix;
  stage.classList.add("stale");
  ask();
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
  const unit = span ? shown.words.source.indexOf(span) : -1;
  if (unit >= 0) focus.set({ side: "source", unit });
  else if (focus.get()?.side === "source") focus.set(null);
}

function say(text) {
  find("status").textContent = text;
}

function fail(error) {
  stage.classList.remove("stale");
  const trouble = find("trouble");
  trouble.textContent = error instanceof Trouble ? error.message : `This page failed: ${error.message}`;
  trouble.hidden = false;
  find("unlock").hidden = !error.locked;
}

/* Languages */

async function fillLanguages() {
  try {
    state.pairs = await languages();
  } catch (error) {
    fail(error);
    return;
  }
  const sources = state.pairs.filter((one) => one.targets.some((code) => code !== one.code));
  fillSelect(find("from"), sources);
  fillTargets();
}

function fillSelect(select, options, value = select.value) {
  select.replaceChildren(...options.map((one) => element("option", { value: one.code, text: one.name })));
  if (options.some((one) => one.code === value)) select.value = value;
  select.classList.toggle("single", options.length < 2);
}

function fillTargets(value) {
  const from = state.pairs.find((one) => one.code === find("from").value);
  const names = new Map(state.pairs.map((one) => [one.code, one.name]));
  const targets = (from?.targets ?? []).filter((code) => code !== from.code);
  fillSelect(find("to"), targets.map((code) => ({ code, name: names.get(code) ?? code })), value);
  find("text").lang = find("from").value;
  find("target").lang = find("to").value;
  const back = state.pairs.find((one) => one.code === find("to").value);
  find("swap").disabled = !back?.targets.includes(find("from").value);
}

function swap() {
  const [from, to, said] = [find("from").value, find("to").value, state.explanation?.target.text];
  find("from").value = to;
  fillTargets(from);
  if (said) composer.text = said;
  again();
}

function again() {
  state.prefix = "";
  if (composer.text.trim()) ask();
}

/* What the reader can press */

async function copy() {
  const text = state.explanation?.target.text ?? "";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { class: "unseen", text }); // pages that are not served over TLS
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("Copied.");
  setTimeout(() => say(""), 1500);
}

find("from").addEventListener("change", () => (fillTargets(), again()));
find("to").addEventListener("change", () => (fillTargets(find("to").value), again()));
find("swap").addEventListener("click", swap);
find("copy").addEventListener("click", copy);
find("release").addEventListener("click", () => choose(""));
find("unlock").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(find("key").value);
  again();
});
find("text").addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" && composer.text.length === find("text").selectionStart && shown.words.target.length) {
    event.preventDefault();
    step(shown.words.target, 0);
  }
});
inspector.view.watch(() => state.grain === "tokens" && link());
for (const button of document.querySelectorAll("[data-grain]")) {
  button.addEventListener("click", () => {
    state.grain = state.chosenGrain = button.dataset.grain;
    if (state.explanation) showPair();
  });
}
for (const button of document.querySelectorAll("[data-picture]")) {
  button.addEventListener("click", () => {
    const { shapes, width, height } = links.picture();
    download(shapes, width, height, "translation", button.dataset.picture);
  });
}
addEventListener("online", again);
followScheme(find("theme"), () => inspector.redraw());
await fillLanguages();
again();
