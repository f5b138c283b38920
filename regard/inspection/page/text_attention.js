// What each token of a text looked at: the heat map of one head, and all heads as small multiples.

import { element, hintAtMore, panel, viewChoice, watched } from "./dom.js";
import { headsNote, showHeads } from "./heads.js";
import { HeatMap } from "./heatmap.js";
import { saveButtons } from "./picture.js";
import { hasMoved, meanWeights, MOVED_NOTE, VIEWS } from "./weights.js";

const NOTE = "each token, going down, looks at the others";

export class TextAttention {
  constructor() {
    this.view = watched({ kind: "self", layer: 0, head: "mean", shown: "weights" });
    this.sheet = element("div", { class: "heatmap" });
    this.heads = element("div", { class: "heads scrolls" });
    hintAtMore(this.heads);
    this.map = new HeatMap(this.sheet, watched(null));
    this.layer = element("select", { "aria-label": "Layer", onchange: () => this.#choose() });
    this.head = element("select", { "aria-label": "Head", onchange: () => this.#choose() });
    this.shown = viewChoice(VIEWS, (shown) => this.view.set({ ...this.view.get(), shown }));
    const save = saveButtons("the heat map", "attention", () => this.map.picture());
    this.mapPanel = panel("Attention", NOTE, this.sheet, this.shown, this.layer, this.head, ...save);
    this.headsPanel = panel("Heads", "", this.heads);
    this.view.watch(() => this.#draw());
    this.drawn = "weights";
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
    if (!same) this.view.set({ kind: "self", layer: layers.length - 1, head: heads > 1 ? "mean" : 0, shown: "weights" });
    this.shown.hidden = !hasMoved(layers);
    this.headsPanel.querySelector("header p").textContent = headsNote(layers, "the likeliest next token");
    this.headsPanel.hidden = heads * layers.length < 2;
    this.mapPanel.classList.toggle("wide", this.headsPanel.hidden);
    this.redraw();
    return [this.mapPanel, this.headsPanel];
  }

  redraw() {
    if (!this.layers) return;
    this.drawn = this.view.get().shown;
    this.multiples = showHeads(this.heads, this.layers, this.view);
    this.#draw();
  }

  #choose() {
    const head = this.head.value === "mean" ? "mean" : Number(this.head.value);
    this.view.set({ ...this.view.get(), layer: Number(this.layer.value), head });
  }

  #draw() {
    const { layer, head, shown } = this.view.get();
    if (shown !== this.drawn) {
      this.redraw(); // the small multiples show the same
      return;
    }
    const weights = meanWeights([this.layers[layer]], head, shown);
    this.shown.value = shown;
    this.mapPanel.querySelector("header p").textContent = shown === "moved" ? MOVED_NOTE : NOTE;
    [this.layer.value, this.head.value] = [String(layer), String(head)];
    this.multiples.light({ layer, head });
    this.map.show(weights, this.tokens, this.tokens, `layer ${layer + 1}, head ${head === "mean" ? "all" : head + 1}`);
  }
}
