// Two lines of text and the curves between them: which words made which.

import { soon, vector } from "./dom.js";
import { palette } from "./colors.js";
import { curvePath } from "./picture.js";

/**
 * Draws curves over `stage` between the elements of both sides and lights what belongs to the focus.
 *
 * `focus` is a watched { side, unit } or null. `show(sides, links)` gets the elements of each side, one for each unit,
 * and the links { source, target, strength } between them.
 */
export class Links {
  constructor(stage, focus) {
    this.stage = stage;
    this.focus = focus;
    this.sides = { source: [], target: [] };
    this.links = [];
    this.canvas = vector("svg", { class: "links", "aria-hidden": "true" });
    stage.prepend(this.canvas);
    this.redraw = soon(() => this.#draw());
    focus.watch(() => this.#light());
    new ResizeObserver(this.redraw).observe(stage);
    document.fonts?.ready.then(this.redraw);
  }

  show(sides, links) {
    this.sides = sides;
    this.links = links.filter((link) => sides.source[link.source] && sides.target[link.target]);
    this.#draw();
  }

  /** The units on the other side that belong to a unit, the strongest first. */
  partners({ side, unit }) {
    const other = side === "source" ? "target" : "source";
    const found = this.links.filter((link) => link[side] === unit).sort((one, two) => two.strength - one.strength);
    return found.map((link) => ({ side: other, unit: link[other] }));
  }

  #draw() {
    const frame = this.stage.getBoundingClientRect();
    this.stage.classList.toggle("wrapped", Object.values(this.sides).some(severalLines));
    this.canvas.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    this.curves = this.links.map((link) => {
      const points = this.#ends(link, frame);
      const curve = vector("path", { d: curvePath(points), class: "link" });
      curve.style.strokeWidth = `${thickness(link.strength)}px`;
      curve.style.setProperty("--strength", opacity(link.strength).toFixed(2));
      return curve;
    });
    this.canvas.replaceChildren(...this.curves);
    this.#light();
  }

  #ends(link, frame) {
    const above = boxOf(this.sides.source[link.source]);
    const below = boxOf(this.sides.target[link.target]);
    const middle = (box) => (box.left + box.right) / 2 - frame.left;
    return [middle(above), above.bottom - frame.top + 2, middle(below), below.top - frame.top - 2];
  }

  #light() {
    const focus = this.focus.get();
    const other = focus?.side === "source" ? "target" : "source";
    const lit = { source: new Set(), target: new Set() };
    if (focus) lit[focus.side].add(focus.unit);
    this.links.forEach((link, at) => {
      const on = focus !== null && link[focus.side] === focus.unit;
      this.curves?.[at]?.classList.toggle("lit", on);
      if (on) lit[other].add(link[other]);
    });
    for (const side of ["source", "target"]) {
      this.sides[side].forEach((word, unit) => {
        word?.classList.toggle("lit", lit[side].has(unit));
        word?.classList.toggle("pointed", focus?.side === side && focus.unit === unit);
      });
    }
    this.stage.classList.toggle("focused", focus !== null && this.sides[focus.side].length > focus.unit);
  }

  /** The stage as shapes, for a picture. */
  picture() {
    const frame = this.stage.getBoundingClientRect();
    const colors = palette();
    const shapes = [{ kind: "rect", x: 0, y: 0, width: frame.width, height: frame.height, fill: colors.paper }];
    for (const link of this.links) {
      const look = { width: thickness(link.strength), opacity: opacity(link.strength), stroke: colors.link };
      shapes.push({ kind: "curve", points: this.#ends(link, frame), ...look });
    }
    const words = [...this.sides.source, ...this.sides.target].filter(Boolean);
    shapes.push(...words.map((word) => asShape(word, frame, colors)));
    return { shapes, width: frame.width, height: frame.height };
  }
}

function thickness(strength) {
  return 1.25 + 1.75 * strength;
}

function opacity(strength) {
  return 0.25 + 0.7 * Math.min(strength, 1);
}

/** Whether curves have to cross lines of text, where they should not be in the way. */
function severalLines(words) {
  const shown = words.filter(Boolean);
  return shown.length > 1 && boxOf(shown.at(-1)).top > boxOf(shown[0]).bottom;
}

/** Where a word stands; of one that is broken over lines, the first of them. */
function boxOf(word) {
  return word.getClientRects()[0] ?? word.getBoundingClientRect();
}

function asShape(word, frame, colors) {
  const box = boxOf(word);
  const style = getComputedStyle(word);
  const y = box.top - frame.top + box.height / 2 + parseFloat(style.fontSize) * 0.34;
  const font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const x = (box.left + box.right) / 2 - frame.left;
  return { kind: "text", x, y, text: word.textContent, fill: colors.ink, font, anchor: "middle" };
}
