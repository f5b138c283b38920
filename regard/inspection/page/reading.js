// What the views ask of an explanation (the JSON of `regard.inspection.explanation.explain`).

/** Tokens that got less weight than this are not linked, however little the others got. */
const LEAST = 0.12;

/** Words, or tokens where a word is made of many: texts without spaces, characters, dates. */
export function fittingGrain(explanation) {
  const wide = (side) => {
    const tokens = explanation.parts.reduce((sum, part) => sum + part[side].length - 1, 0);
    return tokens > 3 * explanation[side].words.length;
  };
  return explanation.parts.length && (wide("source") || wide("target")) ? "tokens" : "words";
}

/** What is shown one by one on a side: { text, gap, word, part, tokens }; `gap` where a space stands before. */
export function unitsOf(explanation, side, grain) {
  const units = [];
  const last = { word: null, gap: false };
  explanation.parts.forEach((part, partNumber) => {
    part[side].forEach((token, number) => {
      if (token.word === null) return;
      const same = token.word === last.word;
      const gap = last.gap || !same;
      Object.assign(last, { word: token.word, gap: false });
      if (same && grain === "words") {
        units.at(-1).tokens.push(number);
      } else {
        const text = grain === "words" ? explanation[side].words[token.word] : token.text;
        if (grain === "tokens" && text === "␣") {
          last.gap = gap; // a space that is a token of its own stands before what comes next
          return;
        }
        units.push({ text, gap, word: token.word, part: partNumber, tokens: [number] });
      }
    });
  });
  return units;
}

/** Which units belong together: { source, target, strength }. Tokens are linked by the weights of the view. */
export function linksOf(explanation, grain, view) {
  if (grain === "words") {
    return explanation.links.map((link) => ({ source: link.source, target: link.target, strength: link.confidence }));
  }
  const places = { source: placesOf(explanation, "source"), target: placesOf(explanation, "target") };
  const links = [];
  explanation.parts.forEach((part, number) => {
    const weights = weightsOf(part, view);
    if (!weights) return;
    part.target.forEach((token, row) => {
      const target = places.target.get(`${number}:${row}`);
      if (target === undefined) return;
      const most = Math.max(...weights[row]);
      weights[row].forEach((weight, column) => {
        const source = places.source.get(`${number}:${column}`);
        const strong = weight >= LEAST && weight >= most / 2;
        if (source !== undefined && strong) links.push({ source, target, strength: weight });
      });
    });
  });
  return links;
}

function placesOf(explanation, side) {
  const units = unitsOf(explanation, side, "tokens");
  return new Map(units.map((unit, at) => [`${unit.part}:${unit.tokens[0]}`, at]));
}

/** The weights of a layer and head, [target][source]; "mean" stands for all of them together. */
export function weightsOf(part, { layer, head }) {
  const layers = layer === "mean" ? part.layers : part.layers.slice(layer, layer + 1);
  const heads = layers.flatMap((one) => (head === "mean" ? one.heads : one.heads.slice(head, head + 1)));
  if (!heads.length) return null;
  if (heads.length === 1) return heads[0].weights;
  return heads[0].weights.map((row, at) =>
    row.map((_, column) => heads.reduce((sum, one) => sum + one.weights[at][column], 0) / heads.length),
  );
}

/** What the page shows first: the heads that made the links, if they are of one layer; else the last layer's. */
export function firstView(explanation) {
  const layers = explanation.parts[0]?.layers ?? [];
  const heads = explanation.heads?.heads ?? [];
  const names = [...new Set(heads.map(([name]) => name))];
  const layer = names.length === 1 ? layers.findIndex((one) => one.name === names[0]) : layers.length - 1;
  const single = heads.length === 1 ? heads[0][1] : "mean";
  return { layer: Math.max(layer, 0), head: (layers[layer]?.heads.length ?? 1) === 1 ? 0 : single, part: 0 };
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
