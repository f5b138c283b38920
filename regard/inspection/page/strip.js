// One sentence and its translation, each on one line, with links between the words: the panel of links.

import { element, hintAtMore, panel, soon } from "./dom.js";
import { Links } from "./links.js";
import { saveButtons } from "./picture.js";
import { copying, isContinuation, origin, sureness } from "./reading.js";
import { showWords, step } from "./words.js";

const UNSURE = 0.5;
const [LARGEST, SMALLEST] = [26, 15];
const LONGEST = 28; // letters of a word that are shown; links to what lies beyond it could not be followed

/**
 * The panel of links.
 *
 * `focus` is the watched { side, unit } or null, `press(unit, element)` hears of a pressed word of the translation, and
 * `tools` are buttons for the panel's header.
 */
export class Strip {
  constructor(focus, press, tools) {
    Object.assign(this, { focus, press });
    this.lines = {
      source: element("p", { class: "line", dir: "auto", role: "group", "aria-label": "The sentence" }),
      target: element("p", { class: "line", dir: "auto", role: "group", "aria-label": "Its translation" }),
    };
    this.sheet = element("div", { class: "pair" }, this.lines.source, this.lines.target);
    this.host = element("div", { class: "strip scrolls" }, this.sheet);
    this.key = element("p", { class: "key hint" });
    this.links = new Links(this.sheet, focus);
    this.words = { source: [], target: [] };
    const save = saveButtons("the links", "links", () => this.links.picture());
    this.panel = panel("Links", "which words made which", this.host, ...tools, ...save);
    this.note = this.panel.querySelector("header p");
    this.panel.classList.add("wide", "linked");
    this.panel.append(this.key);
    this.fit = soon(() => this.#fit());
    new ResizeObserver(this.fit).observe(this.host);
    hintAtMore(this.host);
  }

  /** Show the units of one part, of which `elements` are made at their numbers. */
  show(explanation, number, units, links) {
    const part = explanation.parts[number];
    const linked = new Set(links.map((link) => link.source));
    const languages = explanation.languages ?? {};
    const read = isContinuation(explanation);
    this.note.textContent = read ? "below what is read, above what it looked at" : "which words made which";
    const marks = {
      source: (word, unit, at) => !read && links.length && !linked.has(at) && idle(word),
      target: (word, unit) => this.#doubt(word, part, unit, read ? 0 : UNSURE),
    };
    for (const side of ["source", "target"]) {
      const own = units[side].map((unit, at) => ({ ...unit, at })).filter((unit) => unit.part === number);
      this.lines[side].lang = languages[side] ?? "";
      const shown = own.map((unit) => ({ ...unit, text: shortened(unit) }));
      const made = showWords(this.lines[side], shown, {
        side,
        focus: this.focus,
        across: (at) => this.#cross(side, at),
        press: side === "target" ? this.press : null,
        decorate: marks[side],
      });
      this.words[side] = [];
      own.forEach((unit, at) => {
        this.words[side][unit.at] = made[at];
        if (unit.text !== shown[at].text) nameInFull(made[at], unit.text);
      });
    }
    this.#explain(isContinuation(explanation));
    this.#fit();
    this.links.show(this.words, links);
  }

  #doubt(word, part, unit, least) {
    const tokens = unit.tokens.map((at) => part.target[at]);
    word.setAttribute("aria-haspopup", "dialog");
    word.classList.toggle("given", part.path.length > 0 && tokens.every((token) => token.forced));
    const share = Math.round(sureness(part, unit) * 100);
    word.title = `${share} %${least ? " sure" : ""}`;
    const copied = copying(part, unit);
    if (copied) {
      word.title += `; ${origin(copied)}`;
      word.classList.toggle("copied", copied.share >= 0.5);
      word.setAttribute("aria-description", word.title);
    }
    if (share >= least * 100) return;
    word.classList.add("unsure");
    word.setAttribute("aria-description", word.title);
  }

  /** What the marks mean, where there are any. */
  #explain(continued) {
    const has = (kind) => !(continued && kind === "given") && this.host.querySelector(`.${kind}`);
    const told = [
      has("idle") && ["idle", "made nothing"],
      has("unsure") && ["unsure", "less than 50 % sure"],
      has("given") && ["given", "given"],
      has("copied") && ["copied", "copied from the source"],
    ].filter(Boolean);
    this.key.hidden = !told.length;
    this.key.replaceChildren(
      ...told.map(([kind, text]) => element("span", {}, element("i", { class: `word ${kind}`, text: "word" }), text)),
    );
  }

  #cross(side, unit) {
    const other = side === "source" ? "target" : "source";
    const found = this.links.links.filter((link) => link[side] === unit).sort((one, two) => two.strength - one.strength);
    const words = this.words[other].filter(Boolean);
    if (found.length) step(words, words.indexOf(this.words[other][found[0][other]]));
  }

  /** As large as one line allows; what does not fit even when small is scrolled to. */
  #fit() {
    const room = this.host.clientWidth;
    if (!room) return;
    this.sheet.style.fontSize = `${LARGEST}px`;
    const wide = this.sheet.scrollWidth;
    if (wide > room) this.sheet.style.fontSize = `${Math.max(SMALLEST, Math.floor((LARGEST * room) / wide - 0.5))}px`;
    this.links.redraw();
  }
}

/** A very long word with its middle left out; a part that was not looked into is not a word. */
function shortened({ text, tokens }) {
  const letters = [...new Intl.Segmenter().segment(text)].map((one) => one.segment);
  if (letters.length <= LONGEST || !tokens.length) return text;
  return `${letters.slice(0, LONGEST / 2).join("")}…${letters.slice(1 - LONGEST / 2).join("")}`;
}

function nameInFull(word, text) {
  word.title = word.title ? `${text}: ${word.title}` : text;
  word.setAttribute("aria-label", text);
}

function idle(word) {
  word.classList.add("idle");
  word.title = "made nothing";
  word.setAttribute("aria-description", word.title);
}
