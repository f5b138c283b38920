// Below the pair of sentences: the heat map, all heads, the way of the search. Everything lights up together.

import { element, watched } from "./dom.js";
import { HeatMap } from "./heatmap.js";
import { showHeads } from "./heads.js";
import { showPath } from "./path.js";
import { download } from "./picture.js";
import { firstView, weightsOf } from "./reading.js";

/**
 * The inspector in `host`.
 *
 * `focus` is the watched { side, unit } of the pair above; `units()` gives the units of both sides. `view` is a watched
 * { layer, head, part }, which the pair may follow.
 */
export class Inspector {
  constructor(host, focus, units) {
    this.focus = focus;
    this.units = units;
    this.view = watched({ layer: 0, head: "mean", part: 0 });
    this.pointed = watched(null);
    this.#build(host);
    this.map = new HeatMap(this.sheet, this.pointed);
    this.view.watch(() => this.#show());
    focus.watch((at) => this.#follow(at));
    this.pointed.watch((cell) => this.#lead(cell));
  }

  show(explanation) {
    const layers = (one) => one?.parts[0]?.layers.map((layer) => layer.heads.length).join();
    const same = layers(this.explanation) === layers(explanation);
    this.explanation = explanation;
    this.host.hidden = !explanation.parts.length;
    if (!explanation.parts.length) return;
    const view = same ? { ...this.view.get(), part: 0 } : firstView(explanation);
    this.view.set(view);
    this.shownPart = null;
    this.#show();
  }

  redraw() {
    if (!this.explanation) return;
    this.map.redraw();
    this.multiples?.redraw();
    this.shownPart = null;
    this.#show();
  }

  #build(host) {
    this.host = host;
    this.layer = element("select", { "aria-label": "Layer", onchange: () => this.#choose() });
    this.head = element("select", { "aria-label": "Head", onchange: () => this.#choose() });
    this.sheet = element("div", { class: "heatmap" });
    this.heads = element("div", { class: "heads" });
    this.path = element("div", { class: "path", tabindex: 0, role: "region", "aria-label": "The way of the search" });
    const save = (kind) =>
      element("button", {
        type: "button",
        class: "plain",
        text: `↓ ${kind.toUpperCase()}`,
        "aria-label": `Download the heat map as ${kind.toUpperCase()}`,
        onclick: () => {
          const { shapes, width, height } = this.map.picture();
          download(shapes, width, height, "heat-map", kind);
        },
      });
    const tools = [this.layer, this.head, save("svg"), save("png")];
    this.mapPanel = panel("Attention", "translation down, text across", this.sheet, ...tools);
    this.headsPanel = panel("Heads", "a row for each layer; below each head its entropy in bits", this.heads);
    const summed = "what each step considered, with sums of log-probabilities";
    this.pathPanel = panel("The way of the search", summed, this.path);
    this.pathPanel.classList.add("wide");
    const none = "This model has no attention over its source, so there are no weights to show.";
    this.none = element("p", { class: "none", text: none });
    host.replaceChildren(this.none, this.mapPanel, this.headsPanel, this.pathPanel);
    host.hidden = true;
  }

  #choose() {
    const number = (select) => (select.value === "mean" ? "mean" : Number(select.value));
    this.view.set({ ...this.view.get(), layer: number(this.layer), head: number(this.head) });
  }

  #show() {
    const view = this.view.get();
    const part = this.explanation.parts[view.part];
    const weights = weightsOf(part, view);
    this.none.hidden = weights !== null;
    this.mapPanel.hidden = weights === null;
    this.headsPanel.hidden = part.layers.flatMap((layer) => layer.heads).length < 2;
    this.pathPanel.hidden = !part.path.length;
    this.host.classList.toggle("single", this.headsPanel.hidden && !this.mapPanel.hidden);
    if (this.shownPart !== view.part) {
      this.shownPart = view.part;
      this.#fillChoices(part);
      if (!this.headsPanel.hidden) this.multiples = showHeads(this.heads, part, this.view);
      if (part.path.length) showPath(this.path, part, (token) => this.#pointAtToken("target", token));
    }
    [this.layer.value, this.head.value] = [String(view.layer), String(view.head)];
    this.multiples?.light(view);
    const name = `layer ${named(view.layer)}, head ${named(view.head)}`;
    if (weights) this.map.show(weights, part.target, part.source, name);
    this.#follow(this.focus.get());
  }

  #fillChoices(part) {
    const heads = Math.max(0, ...part.layers.map((layer) => layer.heads.length));
    const options = (count, name) => [
      ...(count > 1 ? [element("option", { value: "mean", text: `all ${name}s` })] : []),
      ...Array.from({ length: count }, (_, at) => element("option", { value: at, text: `${name} ${at + 1}` })),
    ];
    this.layer.replaceChildren(...options(part.layers.length, "layer"));
    this.head.replaceChildren(...options(heads, "head"));
    this.layer.hidden = part.layers.length < 2;
    this.head.hidden = heads < 2;
  }

  /** A word of the pair is pointed at: mark its rows or columns. */
  #follow(at) {
    const unit = at && this.units()[at.side][at.unit];
    if (unit && unit.part !== this.view.get().part) {
      this.view.set({ ...this.view.get(), part: unit.part });
      return;
    }
    const tokens = unit ? unit.tokens : [];
    this.map.mark(at?.side === "target" ? tokens : [], at?.side === "source" ? tokens : []);
  }

  /** A cell is pointed at: light the word of its row. */
  #lead(cell) {
    this.#pointAtToken("target", cell?.row ?? null);
  }

  #pointAtToken(side, token) {
    const { part } = this.view.get();
    const unit = this.units()[side].findIndex((one) => one.part === part && one.tokens.includes(token));
    this.focus.set(unit < 0 ? null : { side, unit });
  }
}

function named(number) {
  return number === "mean" ? "mean" : number + 1;
}

function panel(title, note, body, ...tools) {
  const about = [element("h2", { text: title }), element("p", { text: note })];
  const heading = element("header", {}, ...about, element("div", { class: "tools" }, ...tools));
  return element("section", { class: "panel", "aria-label": title }, heading, body);
}
