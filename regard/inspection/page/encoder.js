// The page of an encoder: a text, and the attention of every layer and head as small multiples.

import { element, soon } from "./dom.js";
import { followScheme, palette } from "./colors.js";
import { effectOf, effectTold, unpacked, VIEWS } from "./weights.js";

const SMALL = 64;

/** The weights of one token in one head, over all tokens. */
function row(packed, read, head, query) {
  const made = new Float32Array(read.tokens.length);
  const first = (head * read.tokens.length + query) * read.kept;
  for (let at = first; at < first + read.kept; at += 1) made[packed.at[at]] = packed.size[at] / 255;
  return made;
}

/** One head, small: what looks goes down, what is looked at across. */
function thumbnail(canvas, packed, read, head, colors) {
  const side = Math.round(SMALL * (window.devicePixelRatio || 1));
  canvas.width = side;
  canvas.height = side;
  const context = canvas.getContext("2d");
  const count = read.tokens.length;
  const cell = side / count;
  const wide = Math.max(cell, 1);
  for (let query = 0; query < count; query += 1) {
    const first = (head * count + query) * read.kept;
    for (let at = first; at < first + read.kept; at += 1) {
      if (packed.size[at] < 6) continue;
      context.fillStyle = colors.weight(packed.size[at] / 255);
      context.fillRect(packed.at[at] * cell, query * cell, wide, wide);
    }
  }
}

function show(read) {
  const find = (id) => document.getElementById(id);
  for (const layer of read.layers) {
    layer.views = { weights: unpacked(layer.weights), moved: unpacked(layer.moved) };
  }
  const state = { layer: 0, head: 0, token: 0, view: "weights" };
  find("model").textContent = read.model ?? "";
  find("answer").textContent = read.answer;

  const pieces = read.tokens.map((token, at) =>
    element("button", {
      type: "button", class: "plain piece", text: token,
      onpointerenter() { state.token = at; color(); },
      onfocus() { state.token = at; color(); },
    }));
  find("text").append(...pieces);

  const panels = read.layers.map((layer, number) => {
    const heads = Array.from({ length: layer.heads }, (_, head) => {
      const effect = layer.effects[head] ?? null;
      const canvas = element("canvas", { role: "img" });
      canvas.style.width = `${SMALL}px`;
      canvas.style.height = `${SMALL}px`;
      const note = element("figcaption", { class: "hint", text: effect === null ? "" : effectOf(effect) });
      const button = element("button", {
        type: "button", class: "plain head",
        title: `Layer ${number + 1}, head ${head + 1}${effectTold(effect)}`,
        onclick() { state.layer = number; state.head = head; draw(); },
      }, canvas);
      return { canvas, head, button, figure: element("figure", {}, button, note) };
    });
    const title = element("h2", { text: `layer ${number + 1}`, title: layer.name });
    return { layer, number, heads, row: element("div", { class: "layer" }, title, element("div", { class: "heads" }, ...heads.map((one) => one.figure))) };
  });
  find("layers").append(...panels.map((panel) => panel.row));

  const color = soon(() => {
    const colors = palette();
    const packed = read.layers[state.layer].views[state.view];
    const found = row(packed, read, state.head, state.token);
    pieces.forEach((piece, at) => {
      piece.style.backgroundColor = found[at] > 0.02 ? colors.weight(found[at]) : "transparent";
      piece.setAttribute("aria-pressed", String(at === state.token));
    });
    const best = [...found.keys()].sort((one, other) => found[other] - found[one]).slice(0, 3).filter((at) => found[at] > 0.02);
    const told = best.map((at) => `${read.tokens[at]} ${found[at].toFixed(2)}`).join(", ");
    find("reading").textContent = `layer ${state.layer + 1}, head ${state.head + 1}: ${read.tokens[state.token]} → ${told}`;
  });
  const draw = soon(() => {
    const colors = palette();
    for (const { layer, number, heads } of panels) {
      for (const { canvas, head, button } of heads) {
        thumbnail(canvas, layer.views[state.view], read, head, colors);
        button.setAttribute("aria-pressed", String(number === state.layer && head === state.head));
      }
    }
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
    color();
  });
  const buttons = Object.entries(VIEWS).map(([view, text]) =>
    element("button", { type: "button", class: "plain", text, data: { view }, onclick() { state.view = view; draw(); } }));
  find("choices").append(...buttons);
  followScheme(find("theme"), draw);
  draw();
}

show(JSON.parse(document.getElementById("explanation").textContent));
