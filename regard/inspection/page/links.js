// Two lines of words and the curves between them: which words made which.

import { soon, vector } from "./dom.js";
import { palette } from "./colors.js";
import { isLit, lightWords, litUnits } from "./lighting.js";
import { curvePath } from "./picture.js";

const MARGIN = 16;

/**
 * Draws curves in `sheet`, between the elements of both lines in it.
 *
 * `focus` is the watched { side, unit } or null. `show(sides, links)` gets the elements of each side by unit, and the
 * links { source, target, strength } between units.
 */
export class Links {
  constructor(sheet, focus) {
    this.sheet = sheet;
    this.focus = focus;
    this.sides = { source: [], target: [] };
    this.links = [];
    this.canvas = vector("svg", { class: "links", "aria-hidden": "true" });
    sheet.prepend(this.canvas);
    this.redraw = soon(() => this.#draw());
    focus.watch(() => this.#light());
    new ResizeObserver(this.redraw).observe(sheet);
    document.fonts?.ready.then(this.redraw);
  }

  show(sides, links) {
    this.sides = sides;
    this.links = links.filter((link) => sides.source[link.source] && sides.target[link.target]);
    this.#draw();
  }

  #draw() {
    const frame = this.sheet.getBoundingClientRect();
    this.canvas.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    this.curves = this.links.map((link) => {
      const curve = vector("path", { d: curvePath(this.#ends(link, frame)), class: "link" });
      curve.style.strokeWidth = `${thickness(link.strength)}px`;
      return curve;
    });
    this.canvas.replaceChildren(...this.curves);
    this.#light();
  }

  #ends(link, frame) {
    const above = this.sides.source[link.source].getBoundingClientRect();
    const below = this.sides.target[link.target].getBoundingClientRect();
    const middle = (box) => (box.left + box.right) / 2 - frame.left;
    return [middle(above), above.bottom - frame.top, middle(below), below.top - frame.top];
  }

  #light() {
    const focus = this.focus.get();
    const lit = litUnits(focus, this.links);
    this.links.forEach((link, at) => this.curves?.[at]?.classList.toggle("lit", isLit(link, focus, lit)));
    lightWords(this.sides, focus, lit);
    this.sheet.classList.toggle("focused", Boolean(focus && this.sides[focus.side][focus.unit]));
  }

  /** The lines and curves as shapes, for a picture that is no larger than they are. */
  picture() {
    const words = [...this.sides.source, ...this.sides.target].filter(Boolean);
    const boxes = words.map((word) => word.getBoundingClientRect());
    const frame = {
      left: Math.min(...boxes.map((box) => box.left)) - MARGIN,
      top: Math.min(...boxes.map((box) => box.top)) - MARGIN,
    };
    const width = Math.max(...boxes.map((box) => box.right)) - frame.left + MARGIN;
    const height = Math.max(...boxes.map((box) => box.bottom)) - frame.top + MARGIN;
    const colors = palette();
    const shapes = [{ kind: "rect", x: 0, y: 0, width, height, fill: colors.paper }];
    for (const link of this.links) {
      const look = { width: thickness(link.strength), stroke: colors.link };
      shapes.push({ kind: "curve", points: this.#ends(link, frame), ...look });
    }
    shapes.push(...words.map((word) => asShape(word, frame, colors)));
    return { shapes, width, height };
  }
}

/** Strong links are thick; none is so pale that it cannot be seen. */
function thickness(strength) {
  return 1 + 2.5 * Math.min(strength, 1);
}

function asShape(word, frame, colors) {
  const box = word.getBoundingClientRect();
  const style = getComputedStyle(word);
  const y = box.top - frame.top + box.height / 2 + parseFloat(style.fontSize) * 0.34;
  const font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const x = (box.left + box.right) / 2 - frame.left;
  return { kind: "text", x, y, text: word.textContent, fill: colors.ink, font, anchor: "middle" };
}
