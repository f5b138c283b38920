// A text field whose words can be pointed at: behind it stands the same text, word by word.

import { element, soon } from "./dom.js";

const SPLIT = /[\s▁]+|[^\s▁]+/gu;

/** The field and its mirror; `changed(text)` hears of typing, `pointed(word number or null)` of pointer and caret. */
export class Composer {
  constructor(field, mirror, { changed, pointed }) {
    Object.assign(this, { field, mirror, pointed });
    this.spans = [];
    this.#mirror();
    field.addEventListener("input", () => {
      this.#mirror();
      changed(field.value);
    });
    field.addEventListener("pointermove", (event) => event.pointerType === "mouse" && pointed(this.#under(event)));
    field.addEventListener("pointerdown", (event) => event.pointerType !== "mouse" && pointed(this.#under(event)));
    field.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && pointed(null));
    field.addEventListener("blur", () => pointed(null));
    field.addEventListener("keyup", (event) => event.key.startsWith("Arrow") && pointed(this.#atCaret()));
    new ResizeObserver(soon(() => this.#grow())).observe(mirror);
  }

  get text() {
    return this.field.value;
  }

  set text(value) {
    this.field.value = value;
    this.#mirror();
  }

  /**
   * One element for each unit of the source. Where `units` are smaller than words, words are cut into theirs; a word
   * that is not spelled by its units stands for all of them.
   */
  elements(units) {
    const words = this.#pieces().filter((piece) => piece.trim());
    const parts = words.map((word, number) => {
      const own = units.filter((unit) => unit.word === number).map((unit) => unit.text);
      return own.join("") === word ? own : [word];
    });
    this.#mirror(parts);
    const found = new Map();
    return units.map((unit) => {
      const spans = this.words[unit.word] ?? [];
      const at = found.get(unit.word) ?? 0;
      found.set(unit.word, at + 1);
      return spans[Math.min(at, spans.length - 1)];
    });
  }

  #pieces() {
    return this.field.value.match(SPLIT) ?? [];
  }

  #mirror(parts = null) {
    this.words = [];
    const nodes = this.#pieces().flatMap((piece) => {
      if (!/[^\s▁]/u.test(piece)) return [document.createTextNode(piece)];
      const texts = parts?.[this.words.length] ?? [piece];
      const kind = texts.length > 1 ? "word" : "word whole";
      const spans = texts.map((text) => element("span", { class: kind, text }));
      this.words.push(spans);
      return spans;
    });
    this.spans = this.words.flat();
    this.mirror.replaceChildren(...nodes, document.createTextNode("\u200b"));
    this.#grow();
  }

  #grow() {
    this.field.style.height = `${this.mirror.offsetHeight}px`;
  }

  #under(event) {
    const { clientX: x, clientY: y } = event;
    const inside = (box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    return this.spans.find((span) => [...span.getClientRects()].some(inside)) ?? null;
  }

  #atCaret() {
    const caret = this.field.selectionStart;
    let end = 0;
    let word = -1;
    for (const piece of this.#pieces()) {
      const isWord = /[^\s▁]/u.test(piece);
      if (isWord) word += 1;
      if (isWord && caret >= end && caret <= end + piece.length) return this.words[word][0];
      end += piece.length;
    }
    return null;
  }
}
