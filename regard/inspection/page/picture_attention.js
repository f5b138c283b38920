// A picture and what a model sees in it: the attention of the chosen place in every layer and head.

import { element, soon } from "./dom.js";
import { palette } from "./colors.js";

const LARGE = 320;
const SMALL = 84;

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** The picture as a small canvas, a pixel a pixel, in gray so that colors are free for weights. */
function gray([channels, height, width], pixels) {
  const canvas = element("canvas", { width, height });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let at = 0; at < height * width; at += 1) {
    const color = [0, 1, 2].map((channel) => pixels[at * channels + (channels === 3 ? channel : 0)]);
    const light = 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2];
    image.data.set([light, light, light, 255], 4 * at);
  }
  context.putImageData(image, 0, 0);
  const colored = element("canvas", { width, height });
  const other = colored.getContext("2d").createImageData(width, height);
  for (let at = 0; at < height * width; at += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      other.data[4 * at + channel] = pixels[at * channels + (channels === 3 ? channel : 0)];
    }
    other.data[4 * at + 3] = 255;
  }
  colored.getContext("2d").putImageData(other, 0, 0);
  return { gray: canvas, colored };
}

/** The weights of a place in one head of a layer, or what they move, cell by cell, and the largest of them. */
function reading(layer, place, head, view = "weights") {
  const made = new Float32Array(layer.rows * layer.columns);
  const cell = place === null ? -1 : Math.floor(place.y * layer.rows) * layer.columns + Math.floor(place.x * layer.columns);
  const tile = layer.cells.findIndex((cells) => cells.includes(cell));
  if (tile < 0) return { made, high: 0, cell };
  const cells = layer.cells[tile];
  const slot = cells.indexOf(cell);
  const row = (tile * layer.heads + head) * cells.length + slot;
  cells.forEach((other, key) => {
    if (other >= 0) made[other] = layer.views[view].bytes[row * cells.length + key] / 255;
  });
  return { made, high: layer.views[view].high[row], cell };
}

function heat(canvas, picture, rows, columns, values, cell, colors) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.scale(scale, scale);
  context.drawImage(values === null ? picture.colored : picture.gray, 0, 0, width, height);
  const across = width / columns;
  const down = height / rows;
  if (values !== null) {
    context.fillStyle = "rgb(255 255 255 / 45%)";
    context.fillRect(0, 0, width, height);
    values.forEach((value, at) => {
      if (value <= 0) return;
      context.globalAlpha = 0.15 + 0.75 * value;
      context.fillStyle = colors.heat(value);
      context.fillRect((at % columns) * across, Math.floor(at / columns) * down, across + 0.5, down + 0.5);
    });
    context.globalAlpha = 1;
  }
  if (cell >= 0) {
    context.strokeStyle = colors.accent;
    context.lineWidth = 2;
    context.strokeRect((cell % columns) * across + 1, Math.floor(cell / columns) * down + 1, across - 2, down - 2);
  }
}

/**
 * Show what was seen in the elements picture, answers, choices and layers of the page; gives a function that draws it
 * again, in other colors.
 */
export function showSeen(seen) {
  const find = (id) => document.getElementById(id);
  const [, height, width] = seen.shape;
  const picture = gray(seen.shape, bytes(seen.pixels));
  for (const view of seen.layers.flatMap((layer) => Object.values(layer.views))) view.bytes = bytes(view.bytes);
  const hasClass = seen.layers.some((layer) => layer.cells.length === 1 && layer.cells[0][0] < 0);
  const state = { view: hasClass ? "class" : "place", weighed: "weights", place: { x: 0.5, y: 0.5 }, kept: false };
  const large = find("picture").cloneNode(); // without the listeners of an earlier picture
  find("picture").replaceWith(large);
  const side = Math.max(height, width);
  large.style.width = `${(LARGE * width) / side}px`;
  large.style.height = `${(LARGE * height) / side}px`;

  const ranked = Object.entries(seen.probabilities).sort((one, other) => other[1] - one[1]).slice(0, 5);
  find("answers").replaceChildren(
    ...ranked.map(([label, chance]) =>
      element("div", { class: "answer" },
        element("span", { class: "label", text: label }),
        element("meter", { min: 0, max: 1, value: chance }),
        element("span", { class: "hint", text: chance.toFixed(3) }))),
  );

  const panels = seen.layers.map((layer, number) => {
    const heads = Array.from({ length: layer.heads }, (_, head) => {
      const canvas = element("canvas", { role: "img" });
      canvas.style.width = `${(SMALL * width) / side}px`;
      canvas.style.height = `${(SMALL * height) / side}px`;
      const note = element("figcaption", { class: "hint" });
      return { canvas, note, head, figure: element("figure", {}, canvas, note) };
    });
    const title = element("h2", { text: `layer ${number + 1}`, title: layer.name });
    return { layer, heads, row: element("div", { class: "layer" }, title, element("div", { class: "heads" }, ...heads.map((one) => one.figure))) };
  });
  find("layers").replaceChildren(...panels.map((panel) => panel.row));

  const draw = soon(() => {
    const scale = palette();
    const colors = { accent: scale.accent, heat: (value) => scale.weight(0.25 + 0.75 * value) };
    const place = state.view === "class" ? null : state.place;
    const first = seen.layers[0];
    if (state.view === "rollout") {
      const flat = seen.rollout.flat();
      const high = Math.max(...flat);
      heat(large, picture, first.rows, first.columns, flat.map((value) => value / high), -1, colors);
    } else {
      heat(large, picture, first.rows, first.columns, null, place === null ? -1 : reading(first, place, 0).cell, colors);
    }
    for (const { layer, heads } of panels) {
      for (const { canvas, note, head } of heads) {
        const read = reading(layer, place, head, state.weighed);
        heat(canvas, picture, layer.rows, layer.columns, read.made, read.cell, colors);
        const effect = layer.effects[head];
        note.textContent = `head ${head + 1}, to ${read.high.toFixed(2)}`;
        if (effect === undefined) continue;
        note.append(element("br"), `effect ${effect.toFixed(2)}`);
        note.title = `without head ${head + 1} the answer's log-probability is ${effect.toFixed(3)} lower`;
      }
    }
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
    for (const button of weighing) button.setAttribute("aria-pressed", String(button.dataset.weighed === state.weighed));
  });
  const views = [["class", "class token"], ["place", "chosen place"], ["rollout", "rollout over layers"]];
  const buttons = views.filter(([view]) => view !== "class" || hasClass).map(([view, text]) =>
    element("button", { type: "button", class: "plain", text, data: { view }, onclick() { state.view = view; draw(); } }));
  const weighing = [["weights", "attention weights"], ["moved", "what is moved"]].map(([weighed, text]) =>
    element("button", { type: "button", class: "plain", text, data: { weighed }, onclick() { state.weighed = weighed; draw(); } }));
  const weighed = element("div", { class: "choices", role: "group", "aria-label": "Weights, or what they move" }, ...weighing);
  find("choices").replaceChildren(...buttons, weighed);

  const point = (event) => {
    const box = large.getBoundingClientRect();
    const within = (value) => Math.min(Math.max(value, 0), 0.9999);
    state.place = { x: within((event.clientX - box.left) / box.width), y: within((event.clientY - box.top) / box.height) };
    state.view = "place";
    draw();
  };
  large.addEventListener("pointermove", (event) => state.kept || point(event));
  large.addEventListener("click", (event) => { state.kept = !state.kept; point(event); });
  large.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const { rows, columns } = seen.layers[0];
    const moved = (value, by, count) => (Math.min(Math.max(Math.floor(value * count) + by, 0), count - 1) + 0.5) / count;
    state.place = { x: moved(state.place.x, step[0], columns), y: moved(state.place.y, step[1], rows) };
    state.view = "place";
    draw();
  });
  draw();
  return draw;
}
