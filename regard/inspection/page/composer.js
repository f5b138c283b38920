// A text field whose words can be pointed at: behind it stands the same text, word by word.

import { element, soon } from "./dom.js";

/**
 * The field and its mirror: `changed(text)` hears of typing, `pointed(element or null)` of the word under the pointer or
 * at the caret, `placed(position)` of a caret that was placed by pointer or keys.
 */
export class Composer {
  constructor(field, mirror, { changed, pointed, placed }) {
    Object.assign(this, { field, mirror });
    this.#fill([field.value]);
    field.addEventListener("input", () => {
      this.#fill([field.value]);
      changed(field.value);
    });
    field.addEventListener("click", () => placed(this.caret));
    field.addEventListener("pointermove", (event) => event.pointerType === "mouse" && pointed(this.#under(event)));
    field.addEventListener("pointerdown", (event) => event.pointerType !== "mouse" && pointed(this.#under(event)));
    field.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && pointed(null));
    field.addEventListener("blur", () => pointed(null));
    field.addEventListener("keyup", (event) => {
      if (!/^(Arrow|Home|End|Page)/.test(event.key)) return;
      placed(this.caret);
      pointed(this.#atCaret());
    });
    new ResizeObserver(soon(() => this.#grow())).observe(mirror);
  }

  get text() {
    return this.field.value;
  }

  set text(value) {
    this.field.value = value;
    this.#fill([value]);
  }

  /** Where the caret stands, in characters as Python counts them. */
  get caret() {
    return [...this.field.value.slice(0, this.field.selectionStart)].length;
  }

  /**
   * One element for each unit of the source. A word that is not spelled by its units stands for all of them; what is
   * not found in the field has none.
   */
  elements(units, explanation) {
    const found = [];
    const nodes = [];
    let rest = this.field.value;
    for (let first = 0; first < units.length; ) {
      const own = wordFrom(units, first);
      const text = own[0].word === null ? own[0].text : explanation.source.words[own[0].word];
      const start = rest.indexOf(text);
      if (start < 0 || /[^\s▁]/u.test(rest.slice(0, start))) break;
      const pieces = own.map((unit) => unit.text);
      const texts = pieces.join("") === text ? pieces : [text];
      const spans = texts.map((piece) => element("span", { class: own.length > 1 ? "word" : "word whole", text: piece }));
      own.forEach((_, at) => found.push(spans[Math.min(at, spans.length - 1)]));
      nodes.push(rest.slice(0, start), ...spans);
      rest = rest.slice(start + text.length);
      first += own.length;
    }
    this.#fill([...nodes, rest]);
    return found;
  }

  #fill(nodes) {
    this.spans = nodes.filter((node) => typeof node !== "string");
    this.mirror.replaceChildren(...nodes, "\u200b");
    this.#grow();
  }

  #grow() {
    this.field.style.height = `${this.mirror.getBoundingClientRect().height}px`;
  }

  #under(event) {
    const { clientX: x, clientY: y } = event;
    const inside = (box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    return this.spans.find((span) => [...span.getClientRects()].some(inside)) ?? null;
  }

  #atCaret() {
    const caret = this.field.selectionStart;
    let end = 0;
    for (const node of this.mirror.childNodes) {
      const start = end;
      end += node.textContent.length;
      if (this.spans.includes(node) && caret >= start && caret <= end) return node;
    }
    return null;
  }
}

/** The units of the word that starts with a unit. */
function wordFrom(units, first) {
  const { part, word } = units[first];
  const after = units.findIndex((unit, at) => at > first && (unit.part !== part || unit.word !== word || word === null));
  return units.slice(first, after < 0 ? units.length : after);
}
