// What the views ask of an explanation (the JSON of `regard.inspection.explanation.explain`).

import { meanWeights } from "./weights.js";

/** Tokens that got less weight than this are not linked, however little the others got. */
const LEAST = 0.12;
const START = { text: "▸", starts: true, word: null };

/** Whether a language model read a text: what was read is what was written. */
export function isContinuation(explanation) {
  return Boolean(explanation.next);
}

/** Words, or tokens where a word is made of many: texts without spaces, characters, dates. */
export function fittingGrain(explanation) {
  if (isContinuation(explanation)) return "tokens"; // linked by weights, which are those of tokens
  const read = explanation.parts.filter((part) => part.target.length);
  const wide = (side) => {
    const tokens = read.reduce((sum, part) => sum + part[side].length - 1, 0);
    const words = new Set(read.flatMap((part) => part[side].map((token) => token.word)));
    return tokens > 3 * Math.max(1, words.size - 1);
  };
  return read.length && (wide("source") || wide("target")) ? "tokens" : "words";
}

/**
 * What is shown one by one on a side: { text, before, word, part, tokens }; `before` is the white space before it. A
 * part that was not looked into is one unit without tokens.
 */
export function unitsOf(explanation, side, grain) {
  return explanation.parts.flatMap((part, number) => {
    const units = part.target.length
      ? unitsOfPart(part[side], explanation[side], grain)
      : [{ text: part.texts[side], before: "", word: null, tokens: [] }];
    if (units.length) units[0].before = part.gaps[side];
    return units.map((unit) => ({ ...unit, part: number }));
  });
}

function unitsOfPart(tokens, { words, spaced }, grain) {
  const units = [];
  const last = { word: null, gap: false };
  tokens.forEach((token, number) => {
    if (token.word === null) return;
    const same = token.word === last.word;
    const gap = last.gap || (!same && spaced[token.word]);
    Object.assign(last, { word: token.word, gap: false });
    if (same && grain === "words") {
      units.at(-1).tokens.push(number);
      return;
    }
    const text = grain === "words" ? words[token.word] : token.text;
    if (grain === "tokens" && text === "␣") {
      last.gap = gap; // a space that is a token of its own stands before what comes next
      return;
    }
    units.push({ text, before: gap ? " " : "", word: token.word, tokens: [number] });
  });
  return units;
}

/** Which units belong together: { source, target, strength }. Tokens are linked by the weights of the view. */
export function linksOf(explanation, units, grain, view) {
  const whole = wholeParts(units);
  if (grain === "words") {
    const at = { source: byWord(units.source), target: byWord(units.target) };
    const links = explanation.links.map((link) => ({
      source: at.source.get(link.source),
      target: at.target.get(link.target),
      strength: link.confidence,
    }));
    return [...whole, ...links.filter((link) => link.source !== undefined && link.target !== undefined)];
  }
  return [...whole, ...explanation.parts.flatMap((part, number) => tokenLinks(part, number, units, view))];
}

function tokenLinks(part, number, units, view) {
  const weights = weightsOf(part, view);
  if (!weights) return [];
  const { shift } = axesOf(part, view.kind).columns;
  const at = { source: byToken(units.source, number), target: byToken(units.target, number) };
  return part.target.flatMap((_, row) => {
    const most = Math.max(...weights[row]);
    return weights[row].flatMap((strength, column) => {
      const [source, target] = [at.source.get(column - shift), at.target.get(row)];
      const strong = strength >= LEAST && strength >= most / 2;
      return strong && source !== undefined && target !== undefined ? [{ source, target, strength }] : [];
    });
  });
}

/** A part that was only translated is linked as a whole. */
function wholeParts(units) {
  const places = (side) => units[side].flatMap((unit, at) => (unit.tokens.length ? [] : [[unit.part, at]]));
  const targets = new Map(places("target"));
  return places("source").map(([part, source]) => ({ source, target: targets.get(part), strength: 1 }));
}

function byWord(units) {
  return new Map(units.flatMap((unit, at) => (unit.word === null ? [] : [[unit.word, at]])));
}

function byToken(units, part) {
  return new Map(units.flatMap((unit, at) => (unit.part === part ? unit.tokens.map((token) => [token, at]) : [])));
}

/** How sure the model was of a word: the product of its tokens' probabilities. */
export function sureness(part, unit) {
  return Math.exp(unit.tokens.reduce((sum, at) => sum + part.target[at].log_probability, 0));
}

/**
 * Whether a word was copied from the source, for a model that can: { share, gate, from }. `share` is the mean probability
 * that its tokens were copied, `gate` that of writing a word of the vocabulary, `from` the source tokens it came from.
 */
export function copying(part, unit) {
  const found = unit.tokens.map((at) => part.target[at].copied).filter(Boolean);
  if (!found.length) return null;
  const mean = (name) => found.reduce((sum, one) => sum + one[name], 0) / found.length;
  const first = found.map((one) => one.sources[0]?.token).filter((at) => at !== undefined);
  const from = [...new Set(first)].map((at) => part.source[at].text).join("");
  return { share: mean("share"), gate: mean("gate"), from };
}

/** How a word came about, in words. */
export function origin({ share, gate, from }) {
  const writes = `g ${gate.toFixed(2)}`;
  const sure = Math.round(share * 100);
  return share >= 0.5 ? `copied from ${from}, ${sure} % (${writes})` : `written, ${100 - sure} % (${writes})`;
}

/** The share of a log-probability as people read it. */
export function percent(logProbability) {
  const share = Math.exp(logProbability) * 100;
  if (share >= 99.95) return "100 %";
  if (share >= 10) return `${share.toFixed(0)} %`;
  return share >= 0.1 ? `${share.toFixed(1)} %` : "< 0.1 %";
}

/** A token with a hyphen before it where its letters go on with a word. */
export function spelled(token) {
  return !token.starts && /^\p{L}{2,}/u.test(token.text) ? `‑${token.text}` : token.text;
}

/* The attention that a view { kind, layer, head, shown } shows */

/** The rows and columns of a kind of attention: { side, tokens, shift }; unit token = column - shift. */
export function axesOf(part, kind) {
  const [source, target] = ["source", "target"].map((side) => ({ side, tokens: part[side], shift: 0 }));
  if (kind === "encoder") return { rows: source, columns: source };
  if (kind === "cross") return { rows: target, columns: source };
  return { rows: target, columns: { side: "target", tokens: [START, ...part.target.slice(0, -1)], shift: 1 } };
}

/** The layers of a kind of attention. */
export function layersOf(part, kind) {
  return (kind === "cross" ? part.layers : part[kind]) ?? [];
}

/** The weights of a layer and head, or what they move, [row][column]; "mean" stands for all of them together. */
export function weightsOf(part, { kind, layer, head, shown }) {
  const all = layersOf(part, kind);
  return meanWeights(layer === "mean" ? all : all.slice(layer, layer + 1), head, shown ?? "weights");
}

/** What is shown first: the heads that made the links, if they are of one layer; else the last layer's. */
export function firstView(explanation, part) {
  const kind = explanation.attention.includes("cross") ? "cross" : (explanation.attention[0] ?? "cross");
  const layers = layersOf(part, kind);
  const heads = explanation.heads?.heads ?? [];
  const names = [...new Set(heads.map(([name]) => name))];
  const layer = names.length === 1 ? layers.findIndex((one) => one.name === names[0]) : layers.length - 1;
  const single = heads.length === 1 ? heads[0][1] : "mean";
  const head = (layers[layer]?.heads.length ?? 1) === 1 ? 0 : single;
  return { kind, layer: Math.max(layer, 0), head, shown: "weights" };
}
