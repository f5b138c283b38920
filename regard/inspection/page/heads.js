// Every layer and head as small multiples; a click makes one of them large.

import { element } from "./dom.js";
import { palette } from "./colors.js";

const SIDE = 64;

/** Fill `host` with a table of heads: a row for each layer. `view` is the watched { kind, layer, head }. */
export function showHeads(host, layers, view) {
  const most = Math.max(...layers.map((layer) => layer.heads.length));
  host.style.setProperty("--heads", most);
  const rows = layers.map((layer, number) => {
    const name = element("span", { class: "name", text: `${number + 1}`, title: layer.name });
    const heads = layer.heads.map((head, at) => thumbnail(head, number, at, view));
    const label = `Layer ${number + 1}, ${layer.name}`;
    return element("div", { class: "row", role: "group", "aria-label": label }, name, ...heads);
  });
  host.replaceChildren(...rows);
  const light = ({ layer, head }) => {
    for (const button of host.querySelectorAll("button")) {
      const { layer: ownLayer, head: ownHead } = button.dataset;
      const on = (layer === "mean" || Number(ownLayer) === layer) && (head === "mean" || Number(ownHead) === head);
      button.setAttribute("aria-pressed", String(on));
    }
  };
  host.onkeydown = (event) => walk(event, [...host.querySelectorAll("button")], most);
  host.querySelectorAll("button").forEach((button, at) => (button.tabIndex = at ? -1 : 0));
  light(view.get());
  return { light };
}

/** The arrow keys go from head to head; all heads together are one stop of the Tab key. */
function walk(event, buttons, columns) {
  const at = buttons.indexOf(event.target);
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  const next = buttons[at + moves[event.key]];
  if (!next) return;
  event.preventDefault();
  for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
  next.focus();
}

function thumbnail(head, layer, at, view) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  draw(canvas, head.weights);
  const label = `Layer ${layer + 1}, head ${at + 1}: entropy ${head.entropy.toFixed(2)} bits`;
  return element(
    "button",
    {
      type: "button",
      class: "head",
      title: label,
      "aria-label": label,
      data: { layer, head: at },
      onclick: () => view.set({ ...view.get(), layer, head: at }),
    },
    canvas,
    element("small", { text: `${head.entropy.toFixed(1)}` }),
  );
}

/** One pixel of the canvas is one weight; the style sheet makes it as large as it should be. */
function draw(canvas, weights) {
  const colors = palette();
  canvas.width = weights[0].length;
  canvas.height = weights.length;
  const context = canvas.getContext("2d");
  weights.forEach((row, y) => {
    row.forEach((weight, x) => {
      context.fillStyle = colors.weight(weight);
      context.fillRect(x, y, 1, 1);
    });
  });
  const ratio = Math.min(Math.max(weights.length / weights[0].length, 0.6), 1.4);
  canvas.style.aspectRatio = `${SIDE} / ${Math.round(SIDE * ratio)}`;
}
