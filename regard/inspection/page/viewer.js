// What both pages show of an explanation: the translation, the links of one sentence, and what is below them.

import { closeAlternatives, showAlternatives } from "./alternatives.js";
import { element, panel, watched } from "./dom.js";
import { Inspector } from "./inspector.js";
import { lightWords, litUnits } from "./lighting.js";
import { showNext } from "./next.js";
import { fittingGrain, firstView, isContinuation, linksOf, unitsOf } from "./reading.js";
import { Strip } from "./strip.js";
import { showWords } from "./words.js";

/**
 * Shows explanations in `target`, where the translation is read, and in `host`, where the panels stand.
 *
 * `read(units, explanation)` shows the text and gives an element for each of its units. Pages that can ask give
 * `choose(prefix)`, for alternatives, `pick(part)`, for a sentence that is not explained yet, and `ask(kind)`, for kinds
 * of attention that are not there.
 */
export class Viewer {
  constructor(host, target, { read, choose = null, pick = null, ask = null }) {
    Object.assign(this, { host, target, read, choose, pick });
    this.focus = watched(null);
    this.units = { source: [], target: [] };
    this.words = { source: [], target: [] };
    this.links = [];
    this.part = 0;
    this.#build(host, ask);
    this.focus.watch(() => this.#light());
  }

  /** Show an explanation; `part` is the sentence to look into, by default the first that is explained. */
  show(explanation, part = null) {
    closeAlternatives();
    this.focus.set(null);
    this.explanation = explanation;
    const looked = explanation.parts.findIndex((one) => one.target.length);
    this.part = explanation.parts[part]?.target.length ? part : looked;
    this.grain = this.chosenGrain ?? fittingGrain(explanation);
    this.host.hidden = looked < 0;
    showNext(this.comesNext, explanation.next);
    this.grains[0].parentElement.hidden = isContinuation(explanation);
    this.#showText();
    if (looked >= 0) this.#showPart();
  }

  redraw() {
    if (this.explanation && this.part >= 0) this.inspector.redraw();
  }

  #build(host, ask) {
    this.grains = ["words", "tokens"].map((grain) =>
      element("button", {
        type: "button",
        text: grain === "words" ? "Words" : "Tokens",
        data: { grain },
        onclick: () => this.#regrain(grain),
      }),
    );
    const grains = element("div", { class: "choice", role: "group", "aria-label": "What is linked" }, ...this.grains);
    const turn = (label, text, by) =>
      element("button", { type: "button", class: "plain", text, "aria-label": label, onclick: () => this.#turn(by) });
    this.place = element("span", { class: "hint" });
    const turns = [turn("Previous sentence", "‹", -1), this.place, turn("Next sentence", "›", 1)];
    this.pager = element("div", { class: "pager", role: "group", "aria-label": "Sentence" }, ...turns);
    this.strip = new Strip(this.focus, (at, word) => this.#press(at, word), [this.pager, grains]);
    this.inspector = new Inspector(this.focus, () => this.units, ask);
    this.inspector.view.watch(() => this.grain === "tokens" && this.#link());
    this.comesNext = panel("What comes next", "the likeliest words, with their probabilities", element("div", {}));
    host.replaceChildren(this.comesNext, this.strip.panel, ...this.inspector.panels);
  }

  #showText() {
    const { explanation, grain } = this;
    for (const side of ["source", "target"]) this.units[side] = unitsOf(explanation, side, grain);
    this.words.source = this.read(this.units.source, explanation);
    this.words.target = showWords(this.target, this.units.target, {
      side: "target",
      focus: this.focus,
      press: (at, word) => this.#press(at, word),
      decorate: (word, unit) => {
        word.setAttribute("aria-haspopup", unit.tokens.length ? "dialog" : "false");
        if (!unit.tokens.length) word.title = "Look into this sentence";
      },
    });
    for (const button of this.grains) button.setAttribute("aria-pressed", String(button.dataset.grain === grain));
  }

  #showPart() {
    const { explanation, part } = this;
    const count = explanation.parts.length;
    this.pager.hidden = count < 2;
    this.place.textContent = `sentence ${part + 1} of ${count}`;
    this.inspector.show(explanation, part);
    for (const side of ["source", "target"]) {
      this.units[side].forEach((unit, at) => {
        this.words[side][at]?.classList.toggle("picked", count > 1 && unit.part === part);
      });
    }
    this.#link();
  }

  #link() {
    const { explanation, units, grain } = this;
    const shown = this.inspector.view.get();
    const first = firstView(explanation, explanation.parts[this.part]);
    const view = shown.kind === first.kind ? shown : first;
    this.links = linksOf(explanation, units, grain, view);
    this.strip.show(explanation, this.part, units, this.links);
    this.#light();
  }

  #light() {
    lightWords(this.words, this.focus.get(), litUnits(this.focus.get(), this.links));
  }

  /** Go to another sentence, which may have to be asked for. */
  look(part) {
    if (part === this.part || !this.explanation.parts[part]) return;
    if (this.explanation.parts[part].target.length) {
      this.part = part;
      this.#showPart();
    } else {
      this.pick?.(part);
    }
  }

  #turn(by) {
    const count = this.explanation.parts.length;
    this.look((this.part + by + count) % count);
  }

  #press(at, word) {
    const unit = this.units.target[at];
    this.look(unit.part);
    if (unit.tokens.length) showAlternatives(word, this.explanation.parts[unit.part], unit, this.choose);
  }

  #regrain(grain) {
    this.grain = this.chosenGrain = grain;
    closeAlternatives();
    this.focus.set(null);
    this.#showText();
    this.#showPart();
  }
}
