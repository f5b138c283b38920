// Every layer and head as small multiples; a click makes one of them large.

import { element } from "./dom.js";
import { palette } from "./colors.js";
import { eachWeight, effectOf, effectTold, sizesOf } from "./weights.js";

const SIDE = 64;
const MOST = 128;

/** What stands below the heads, in words; `answer` is what their effects are about. */
export function headsNote(layers, answer) {
  const entropy = "a row for each layer; below each head its entropy in bits";
  if (!layers.some((layer) => layer.heads.some((head) => head.effect !== undefined))) return entropy;
  return `${entropy}, and what the log-probability of ${answer} loses when it is switched off`;
}

/** Fill `host` with a table of heads: a row for each layer. `view` is the watched { kind, layer, head, shown }. */
export function showHeads(host, layers, view) {
  const most = Math.max(...layers.map((layer) => layer.heads.length));
  host.style.setProperty("--heads", most);
  const rows = layers.map((layer, number) => {
    const name = element("span", { class: "name", text: `${number + 1}`, title: layer.name });
    const heads = layer.heads.map((_, at) => thumbnail(layer, number, at, view));
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

function thumbnail(own, layer, at, view) {
  const head = own.heads[at];
  const canvas = element("canvas", { "aria-hidden": "true" });
  draw(canvas, own, at, view.get().shown ?? "weights");
  const label = `Layer ${layer + 1}, head ${at + 1}: entropy ${head.entropy.toFixed(2)} bits${effectTold(head.effect)}`;
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
    head.effect === undefined ? null : element("small", { class: "effect", text: effectOf(head.effect) }),
  );
}

/** One pixel is one weight, or the largest of several where there are many; the style sheet makes it large enough. */
function draw(canvas, layer, head, view) {
  const [rows, columns] = sizesOf(layer);
  const [height, width] = [Math.min(rows, MOST), Math.min(columns, MOST)];
  const largest = new Float32Array(width * height);
  eachWeight(layer, head, view, (row, column, weight) => {
    const at = Math.floor((row * height) / rows) * width + Math.floor((column * width) / columns);
    if (weight > largest[at]) largest[at] = weight;
  });
  Object.assign(canvas, { width, height });
  const pixels = new ImageData(width, height);
  const { channels } = palette();
  largest.forEach((weight, at) => pixels.data.set([...channels(weight), 255], 4 * at));
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  const ratio = Math.min(Math.max(rows / columns, 0.6), 1.4);
  canvas.style.aspectRatio = `${SIDE} / ${Math.round(SIDE * ratio)}`;
}
