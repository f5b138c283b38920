// What each token of a text looked at: the heat map of one head, and all heads as small multiples.

import { element, hintAtMore, panel, watched } from "./dom.js";
import { showHeads } from "./heads.js";
import { HeatMap } from "./heatmap.js";
import { saveButtons } from "./picture.js";

export class TextAttention {
  constructor() {
    this.view = watched({ kind: "self", layer: 0, head: "mean" });
    this.sheet = element("div", { class: "heatmap" });
    this.heads = element("div", { class: "heads scrolls" });
    hintAtMore(this.heads);
    this.map = new HeatMap(this.sheet, watched(null));
    this.layer = element("select", { "aria-label": "Layer", onchange: () => this.#choose() });
    this.head = element("select", { "aria-label": "Head", onchange: () => this.#choose() });
    const note = "each token, going down, looks at the others";
    const save = saveButtons("the heat map", "attention", () => this.map.picture());
    this.mapPanel = panel("Attention", note, this.sheet, this.layer, this.head, ...save);
    this.headsPanel = panel("Heads", "a row for each layer; below each head its entropy in bits", this.heads);
    this.view.watch(() => this.#draw());
  }

  /** Show { tokens, layers }; gives the panels. */
  show({ tokens, layers }) {
    const shape = (some) => some?.map((layer) => layer.heads.length).join();
    const same = shape(this.layers) === shape(layers);
    Object.assign(this, { tokens, layers });
    const heads = Math.max(...layers.map((layer) => layer.heads.length));
    const options = (count, name, all) => [
      ...(all ? [element("option", { value: "mean", text: `all ${name}s` })] : []),
      ...Array.from({ length: count }, (_, at) => element("option", { value: at, text: `${name} ${at + 1}` })),
    ];
    this.layer.replaceChildren(...options(layers.length, "layer", false));
    this.head.replaceChildren(...options(heads, "head", heads > 1));
    this.layer.hidden = layers.length < 2;
    this.head.hidden = heads < 2;
    if (!same) this.view.set({ kind: "self", layer: layers.length - 1, head: heads > 1 ? "mean" : 0 });
    this.headsPanel.hidden = heads * layers.length < 2;
    this.mapPanel.classList.toggle("wide", this.headsPanel.hidden);
    this.redraw();
    return [this.mapPanel, this.headsPanel];
  }

  redraw() {
    if (!this.layers) return;
    this.multiples = showHeads(this.heads, this.layers, this.view);
    this.#draw();
  }

  #choose() {
    const head = this.head.value === "mean" ? "mean" : Number(this.head.value);
    this.view.set({ ...this.view.get(), layer: Number(this.layer.value), head });
  }

  #draw() {
    const { layer, head } = this.view.get();
    const { heads } = this.layers[layer];
    const weights = head === "mean" ? mean(heads.map((one) => one.weights)) : heads[head].weights;
    [this.layer.value, this.head.value] = [String(layer), String(head)];
    this.multiples.light({ layer, head });
    this.map.show(weights, this.tokens, this.tokens, `layer ${layer + 1}, head ${head === "mean" ? "all" : head + 1}`);
  }
}

function mean(several) {
  return several[0].map((row, y) => row.map((_, x) => several.reduce((sum, one) => sum + one[y][x], 0) / several.length));
}
