// Below the links: the heat map, all heads, the way of the search. Everything lights up together.

import { element, hintAtMore, panel, viewChoice, watched } from "./dom.js";
import { HeatMap } from "./heatmap.js";
import { headsNote, showHeads } from "./heads.js";
import { showPath } from "./path.js";
import { saveButtons } from "./picture.js";
import { axesOf, firstView, isContinuation, layersOf, weightsOf } from "./reading.js";
import { hasMoved, MOVED_NOTE, VIEWS } from "./weights.js";

const KINDS = {
  cross: { name: "Cross-attention", note: "the translation, going down, looks at the text" },
  encoder: { name: "Encoder self-attention", note: "the text, going down, looks at itself" },
  decoder: { name: "Decoder self-attention", note: "what is written, going down, looks at what was written before" },
};

const NEXT = "the likeliest next token";

/**
 * The panels of one part.
 *
 * `focus` is the watched { side, unit } of the words above; `units()` gives the units of both sides. `ask(kind)`, where
 * there is one, fetches a kind of attention that is not there. `view` is a watched { kind, layer, head, shown }.
 */
export class Inspector {
  constructor(focus, units, ask) {
    Object.assign(this, { focus, units, ask });
    this.view = watched({ kind: "cross", layer: 0, head: "mean", shown: "weights" });
    this.pointed = watched(null);
    this.#build();
    this.map = new HeatMap(this.sheet, this.pointed);
    this.view.watch(() => this.#show());
    focus.watch((at) => this.#follow(at));
    this.pointed.watch((cell) => this.#lead(cell));
  }

  /** Show a part of an explanation, in the view that was chosen before where the model is the same. */
  show(explanation, number) {
    const part = explanation.parts[number];
    const sizes = (one) => layersOf(one, "cross").map((layer) => layer.heads.length).join();
    const same = this.part && sizes(this.part) === sizes(part);
    Object.assign(this, { explanation, part, number, stale: true });
    const { kind } = this.view.get();
    const kept = same && (kind === "cross" || layersOf(part, kind).length);
    const view = kept ? this.view.get() : firstView(explanation, part);
    this.view.set(hasMoved(layersOf(part, view.kind)) ? view : { ...view, shown: "weights" });
    this.#show();
  }

  redraw() {
    if (!this.part) return;
    this.stale = true;
    this.map.redraw();
    this.#show();
  }

  #build() {
    this.kind = element("select", { "aria-label": "Kind of attention", onchange: () => this.#chooseKind() });
    this.layer = element("select", { "aria-label": "Layer", onchange: () => this.#choose() });
    this.head = element("select", { "aria-label": "Head", onchange: () => this.#choose() });
    this.shown = viewChoice(VIEWS, (shown) => this.#choose(shown));
    this.sheet = element("div", { class: "heatmap" });
    this.heads = element("div", { class: "heads scrolls" });
    const steps = { class: "path scrolls", tabindex: 0, role: "region", "aria-label": "The way of the search" };
    this.path = element("div", steps);
    for (const host of [this.heads, this.path]) hintAtMore(host);
    const save = saveButtons("the heat map", "heat-map", () => this.map.picture());
    this.mapPanel = panel("Attention", "", this.sheet, this.shown, this.kind, this.layer, this.head, ...save);
    this.note = this.mapPanel.querySelector("header p");
    this.headsPanel = panel("Heads", "", this.heads);
    this.headsNote = this.headsPanel.querySelector("header p");
    const summed = "what each step considered, with sums of log-probabilities";
    this.pathPanel = panel("The way of the search", summed, this.path);
    this.pathPanel.classList.add("wide");
    const none = "This model has no attention over what it reads, so there are no weights to show.";
    this.none = element("p", { class: "none", text: none });
    this.panels = [this.none, this.mapPanel, this.headsPanel, this.pathPanel];
  }

  #chooseKind() {
    const kind = this.kind.value;
    if (layersOf(this.part, kind).length) {
      this.stale = true;
      this.view.set({ kind, layer: layersOf(this.part, kind).length - 1, head: "mean", shown: this.view.get().shown });
    } else {
      this.wanted = kind;
      this.ask?.(kind);
    }
  }

  #choose(shown = this.view.get().shown) {
    const number = (select) => (select.value === "mean" ? "mean" : Number(select.value));
    this.stale ||= shown !== this.view.get().shown; // the small multiples show the same
    this.view.set({ ...this.view.get(), layer: number(this.layer), head: number(this.head), shown });
  }

  #show() {
    if (this.wanted && layersOf(this.part, this.wanted).length) {
      const kind = this.wanted;
      this.wanted = null;
      this.stale = true;
      this.view.set({ kind, layer: layersOf(this.part, kind).length - 1, head: "mean", shown: this.view.get().shown });
      return;
    }
    const view = this.view.get();
    const layers = layersOf(this.part, view.kind);
    const weights = weightsOf(this.part, view);
    this.none.hidden = weights !== null;
    this.mapPanel.hidden = weights === null;
    this.headsPanel.hidden = layers.flatMap((layer) => layer.heads).length < 2;
    this.pathPanel.hidden = !this.part.path.length;
    this.mapPanel.classList.toggle("wide", this.headsPanel.hidden);
    if (this.stale) this.#refill(layers, view);
    [this.kind.value, this.layer.value, this.head.value] = [view.kind, String(view.layer), String(view.head)];
    this.shown.value = view.shown;
    this.multiples?.light(view);
    if (weights) this.#draw(weights, view);
    this.#follow(this.focus.get());
  }

  /** What changes with the part and the kind of attention, not with layer and head. */
  #refill(layers, view) {
    this.stale = false;
    this.#fillChoices(layers);
    this.multiples = this.headsPanel.hidden ? null : showHeads(this.heads, layers, this.view);
    this.note.textContent = view.shown === "moved" ? MOVED_NOTE : KINDS[view.kind].note;
    this.headsNote.textContent = headsNote(layers, isContinuation(this.explanation) ? NEXT : "this translation");
    if (this.part.path.length) showPath(this.path, this.part, (token) => this.focus.set(this.#spot("target", token)));
  }

  #draw(weights, view) {
    const { rows, columns } = axesOf(this.part, view.kind);
    const what = view.shown === "moved" ? ", what is moved" : "";
    const name = `${KINDS[view.kind].name}${what}, layer ${named(view.layer)}, head ${named(view.head)}`;
    this.map.show(weights, rows.tokens, columns.tokens, name);
  }

  #fillChoices(layers) {
    const heads = Math.max(0, ...layers.map((layer) => layer.heads.length));
    const options = (count, name) => [
      ...(count > 1 ? [element("option", { value: "mean", text: `all ${name}s` })] : []),
      ...Array.from({ length: count }, (_, at) => element("option", { value: at, text: `${name} ${at + 1}` })),
    ];
    this.layer.replaceChildren(...options(layers.length, "layer"));
    this.head.replaceChildren(...options(heads, "head"));
    const there = (kind) => this.ask || layersOf(this.part, kind).length;
    const kinds = this.explanation.attention.filter(there);
    this.kind.replaceChildren(...kinds.map((kind) => element("option", { value: kind, text: KINDS[kind].name })));
    this.kind.hidden = kinds.length < 2;
    this.shown.hidden = !hasMoved(layers);
    this.layer.hidden = layers.length < 2;
    this.head.hidden = heads < 2;
  }

  /** A word is pointed at: mark its rows and columns. */
  #follow(at) {
    const unit = at && !at.pair && this.units()[at.side][at.unit];
    const tokens = unit && unit.part === this.number ? unit.tokens : [];
    const { rows, columns } = axesOf(this.part ?? { source: [], target: [] }, this.view.get().kind);
    const places = (axis) => (axis.side === at?.side ? tokens.map((token) => token + axis.shift) : []);
    this.map.mark(places(rows), places(columns));
  }

  /** A cell is pointed at: light the word of its row and that of its column, and no others. */
  #lead(cell) {
    if (!cell) {
      this.focus.set(null);
      return;
    }
    const { rows, columns } = axesOf(this.part, this.view.get().kind);
    const ends = [this.#spot(rows.side, cell.row), this.#spot(columns.side, cell.column - columns.shift)];
    const pair = ends.filter(Boolean);
    this.focus.set(pair.length ? { ...pair[0], pair } : null);
  }

  /** Where the word of a token stands; null for an end, which is no word. */
  #spot(side, token) {
    const unit = this.units()[side].findIndex((one) => one.part === this.number && one.tokens.includes(token));
    return unit < 0 ? null : { side, unit };
  }
}

function named(number) {
  return number === "mean" ? "mean" : number + 1;
}
