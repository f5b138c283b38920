// The weights of one head: what looks goes down, what is looked at across.

import { element, hintAtMore, soon } from "./dom.js";
import { palette } from "./colors.js";
import { FACE, paint } from "./picture.js";
import { spelled } from "./reading.js";

const SCALE = 120;
const FAINT = 1 / 510;
const MANY = 96;
const SMALLEST = 3;

/**
 * A heat map in `host`.
 *
 * `pointed` is a watched { row, column } or null: the cell under the pointer or the arrow keys. Rows and columns that
 * are lit from elsewhere are set with `mark`.
 */
export class HeatMap {
  constructor(host, pointed) {
    this.host = host;
    this.pointed = pointed;
    this.marked = { rows: [], columns: [] };
    this.canvas = element("canvas", { class: "cells", tabindex: 0, role: "img" });
    this.said = element("p", { class: "reading", "aria-live": "polite" });
    const sheet = element("div", { class: "sheet scrolls" }, this.canvas);
    host.replaceChildren(sheet, this.said);
    hintAtMore(sheet);
    this.redraw = soon(() => this.#draw());
    pointed.watch(() => this.redraw());
    this.canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.#point(event));
    this.canvas.addEventListener("pointerleave", () => pointed.set(null));
    this.canvas.addEventListener("blur", () => pointed.set(null));
    this.canvas.addEventListener("keydown", (event) => this.#walk(event));
    new ResizeObserver(this.redraw).observe(host);
  }

  /** Show weights [row][column] with the tokens of both sides; `name` says which they are. */
  show(weights, rows, columns, name) {
    Object.assign(this, { weights, name });
    this.rows = rows.map(spelled);
    this.columns = columns.map(spelled);
    const size = `${rows.length} rows by ${columns.length} columns`;
    this.canvas.setAttribute("aria-label", `Heat map, ${name}: ${size}. Arrow keys read the cells.`);
    this.redraw();
  }

  mark(rows, columns) {
    this.marked = { rows, columns };
    this.redraw();
  }

  #layout() {
    const context = this.canvas.getContext("2d");
    const longest = Math.max(this.rows.length, this.columns.length);
    const room = Math.max(this.host.clientWidth, 160);
    const size = longest > 40 ? 10 : longest > 24 ? 11.5 : 13;
    context.font = `600 ${size}px ${FACE}`;
    const widest = (labels) => Math.max(...labels.map((label) => context.measureText(short(label)).width));
    const left = Math.ceil(widest(this.rows)) + 12;
    const top = Math.ceil(widest(this.columns) * 0.78 + size) + 8;
    const slant = Math.ceil(context.measureText(short(this.columns.at(-1))).width * 0.64);
    const least = longest > MANY ? SMALLEST : size;
    const cell = Math.max(least, Math.min(38, (room - left - Math.min(slant, 40)) / this.columns.length));
    const width = Math.max(left + cell * this.columns.length + slant, left + SCALE + 24);
    const height = top + cell * this.rows.length + 34;
    return { left, top, cell, size, width, height };
  }

  /** The picture as shapes, with its width and height. */
  picture() {
    const colors = palette();
    const { left, top, cell, size, width, height } = (this.place = this.#layout());
    const gap = cell > 14 ? 1.5 : 0.5;
    const shapes = [];
    const lit = this.pointed.get() ?? { row: null, column: null };
    const inRow = (row) => lit.row === row || this.marked.rows.includes(row);
    const inColumn = (column) => lit.column === column || this.marked.columns.includes(column);
    const [across, down] = [cell * this.columns.length - gap, cell * this.rows.length - gap];
    shapes.push({ kind: "rect", x: left, y: top, width: across, height: down, fill: colors.weight(0) });
    this.weights.forEach((row, at) => {
      row.forEach((weight, column) => {
        if (weight < FAINT) return;
        const box = { x: left + column * cell, y: top + at * cell, width: cell - gap, height: cell - gap };
        shapes.push({ kind: "rect", ...box, fill: colors.weight(weight), radius: cell > 14 ? 2 : 0 });
      });
    });
    const look = (on) => ({ fill: on ? colors.accent : colors.quiet, font: `${on ? "600 " : ""}${size}px ${FACE}` });
    const every = Math.ceil((size + 1) / cell); // where cells are smaller than letters, not all are named
    const named = (at, on) => on || at % every === 0;
    this.rows.forEach((text, at) => {
      if (!named(at, inRow(at))) return;
      const y = top + (at + 0.5) * cell + size * 0.34;
      shapes.push({ kind: "text", x: left - 8, y, text: short(text), ...look(inRow(at)), anchor: "end" });
    });
    this.columns.forEach((text, at) => {
      if (!named(at, inColumn(at))) return;
      const x = left + (at + 0.5) * cell + size * 0.2;
      shapes.push({ kind: "text", x, y: top - 6, text: short(text), ...look(inColumn(at)), turn: -52 });
    });
    shapes.push(...scale(colors, left, height - 24));
    if (lit.row !== null) {
      const [x, y] = [left + lit.column * cell - gap / 2, top + lit.row * cell - gap / 2];
      shapes.push({ kind: "rect", x, y, width: cell, height: cell, stroke: colors.accent, radius: 3 });
    }
    return { shapes, width, height };
  }

  #draw() {
    if (!this.weights) return;
    const { shapes, width, height } = this.picture();
    paint(this.canvas, shapes, width, height);
    const at = this.pointed.get();
    const weight = this.weights[at?.row]?.[at?.column];
    const read = () => `${this.rows[at.row]} ← ${this.columns[at.column]}  ${weight.toFixed(3)}`;
    this.said.textContent = weight === undefined ? "" : read();
  }

  #point(event) {
    if (!this.place) return;
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - this.place.left) / this.place.cell);
    const row = Math.floor((event.clientY - box.top - this.place.top) / this.place.cell);
    const inside = row >= 0 && column >= 0 && row < this.rows.length && column < this.columns.length;
    this.pointed.set(inside ? { row, column } : null);
  }

  #walk(event) {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const from = this.pointed.get() ?? { row: -move[0], column: -move[1] };
    const within = (place, most) => Math.min(Math.max(place, 0), most - 1);
    this.pointed.set({
      row: within(from.row + move[0], this.rows.length),
      column: within(from.column + move[1], this.columns.length),
    });
  }
}

/** The colors of weights from 0 to 1, with their numbers. */
function scale(colors, x, y) {
  const steps = Array.from({ length: SCALE / 2 }, (_, at) => ({
    kind: "rect",
    x: x + at * 2,
    y,
    width: 2,
    height: 8,
    fill: colors.weight((2 * at) / SCALE),
  }));
  const frame = { kind: "rect", x: x - 0.5, y: y - 0.5, width: SCALE + 1, height: 9, stroke: colors.line };
  const look = { kind: "text", y: y + 20, fill: colors.quiet, font: `10px ${FACE}`, anchor: "middle" };
  const numbers = [0, 0.5, 1].map((share) => ({ ...look, x: x + share * SCALE, text: String(share) }));
  return [...steps, frame, ...numbers];
}

function short(label) {
  return label.length > 16 ? `${label.slice(0, 15)}…` : label;
}
