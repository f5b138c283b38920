// What models of points, sets and graphs looked at, as drawings.

import { element, panel, vector } from "./dom.js";
import { palette } from "./colors.js";

/** Each step of a pointer network: the darker a point, the likelier it was; the ring is the one that was chosen. */
export function showSteps({ points, steps, answer }) {
  const plane = points[0]?.length === 2;
  const low = [0, 1].map((axis) => Math.min(...points.map((point) => point[axis] ?? 0)));
  const span = Math.max(...[0, 1].map((axis) => Math.max(...points.map((point) => point[axis] ?? 0)) - low[axis])) || 1;
  const place = (point, number) =>
    plane
      ? [8 + (84 * (point[0] - low[0])) / span, 92 - (84 * (point[1] - low[1])) / span]
      : [8 + (84 * number) / Math.max(1, points.length - 1), 50];
  const colors = palette();
  const figures = steps.map((chances, step) => {
    const picked = answer.answer[step];
    const dots = points.flatMap((point, number) => {
      const [cx, cy] = place(point, number);
      const dot = vector("circle", { cx, cy, r: 3.4, fill: colors.weight(chances[number + 1]), stroke: "var(--line)" });
      const ring = vector("circle", { cx, cy, r: 5.6, fill: "none", stroke: "var(--accent)", "stroke-width": 1.2 });
      return number === picked ? [dot, ring] : [dot];
    });
    const told = picked === undefined ? `the end, ${chances[0].toFixed(2)}` : `point ${picked}, ${chances[picked + 1].toFixed(2)}`;
    const drawing = vector("svg", { viewBox: "0 0 100 100", class: "drawn", role: "img", "aria-label": told }, ...dots);
    return element("figure", {}, drawing, element("figcaption", { text: `${step + 1}: ${told}` }));
  });
  return wide(panel("What each step looked at", "darker is likelier", element("div", { class: "steps" }, ...figures)));
}

/** How much each head of the pooling read of each element. */
export function showSet({ elements, heads }) {
  const colors = palette();
  const rows = [];
  const size = Math.min(elements.length, 40);
  const across = 96 / size;
  heads.forEach((weights, head) => {
    const most = Math.max(...weights, 1e-9);
    weights.slice(0, size).forEach((weight, at) => {
      const height = (16 * weight) / most;
      const place = { x: 2 + at * across, y: 20 + head * 24 - height, width: across * 0.86, height };
      rows.push(vector("rect", { ...place, fill: colors.weight(0.25 + 0.75 * (weight / most)) }));
      if (size <= 16) rows.push(vector("text", { x: place.x, y: 23.4 + head * 24, "font-size": 3, text: weight.toFixed(2) }));
    });
  });
  const label = `${size} elements, ${heads.length} heads`;
  const drawing = vector("svg", { viewBox: `0 0 100 ${24 * heads.length + 2}`, class: "drawn", role: "img", "aria-label": label }, ...rows);
  return wide(panel("What was read from each element", "a row for each head, the elements in their order", drawing));
}

/** A node in the middle, its neighbors around it: the wider an edge, the more attention it gets. */
export function showGraph({ node, neighbors, heads, answer }, pick) {
  const labels = new Map(answer.nodes.map((one) => [one.node, one.label]));
  const mean = neighbors.map((_, at) => heads.reduce((sum, head) => sum + head[at], 0) / heads.length);
  const colors = palette();
  const parts = neighbors.flatMap((name, at) => {
    const angle = (2 * Math.PI * at) / neighbors.length - Math.PI / 2;
    const [x, y] = [50 + 36 * Math.cos(angle), 50 + 36 * Math.sin(angle)];
    const line = { x1: 50, y1: 50, x2: x, y2: y, stroke: colors.weight(0.2 + 0.8 * mean[at]), "stroke-width": 0.4 + 6 * mean[at] };
    const text = `${name === node ? "itself" : name}: ${labels.get(name)}, ${mean[at].toFixed(2)}`;
    const dot = vector("circle", { cx: x, cy: y, r: 3, fill: "var(--paper)", stroke: "var(--link)" });
    const word = vector("text", { x: 50 + 44 * Math.cos(angle), y: 50 + 46 * Math.sin(angle), "text-anchor": "middle", text });
    return [vector("line", line), dot, word];
  });
  parts.push(vector("circle", { cx: 50, cy: 50, r: 4, fill: "var(--ink)" }));
  const drawing = vector("svg", { viewBox: "-20 0 140 100", class: "drawn", role: "img", "aria-label": `Node ${node}` }, ...parts);
  const choice = element("select", { "aria-label": "Node", onchange: (event) => pick(event.target.value) });
  choice.append(...[...labels.keys()].slice(0, 500).map((name) => element("option", { value: name, text: name, selected: name === node })));
  const note = neighbors.length ? "the mean of the heads; the wider an edge, the more attention" : "this model has no attention";
  return wide(panel("What a node attends to", note, drawing, choice));
}

function wide(made) {
  made.classList.add("wide");
  return made;
}
