// A square into which points are set by pressing; the way of an answer is drawn through them.

import { vector } from "./dom.js";

export class Board {
  #points = [];
  #low = [0, 0];
  #span = 1;

  constructor(svg, changed) {
    Object.assign(this, { svg, changed });
    svg.addEventListener("click", (event) => this.#press(event));
  }

  /** The box that the model was trained in; y goes up. */
  frame({ low, span }) {
    if (low?.length !== 2) return;
    [this.#low, this.#span] = [low, span];
    this.show([], []);
  }

  show(points, answer) {
    this.#points = points;
    const at = (point) => this.#place(point);
    const way = answer.length ? [...answer, answer[0]].map((number) => at(points[number]).join(",")).join(" ") : "";
    this.svg.replaceChildren(
      vector("polygon", { points: way, fill: "var(--bar)", "fill-opacity": 0.5, stroke: "var(--accent)", "stroke-width": 0.8 }),
      ...points.flatMap((point, number) => {
        const [cx, cy] = at(point);
        const label = vector("text", { x: cx + 2.5, y: cy - 2, "font-size": 4, fill: "var(--quiet)", text: String(number) });
        return [vector("circle", { cx, cy, r: 1.8, fill: "var(--ink)" }), label];
      }),
    );
  }

  #place([x, y]) {
    return [6 + (88 * (x - this.#low[0])) / this.#span, 94 - (88 * (y - this.#low[1])) / this.#span];
  }

  #press(event) {
    const box = this.svg.getBoundingClientRect();
    const spot = [((event.clientX - box.left) / box.width) * 100, ((event.clientY - box.top) / box.height) * 100];
    const near = this.#points.findIndex((point) => Math.hypot(...this.#place(point).map((own, at) => own - spot[at])) < 3);
    const value = [this.#low[0] + ((spot[0] - 6) / 88) * this.#span, this.#low[1] + ((94 - spot[1]) / 88) * this.#span];
    const added = value.map((number) => Number(number.toFixed(3)));
    const points = near >= 0 ? this.#points.filter((_, at) => at !== near) : [...this.#points, added];
    if (points.length) this.changed(points);
  }
}
