// The attention weights of a layer's heads, and what they move; those of a long text come packed.

/** What can be shown of a head, by the name it has in the data. */
export const VIEWS = { weights: "attention weights", moved: "what is moved" };

export const MOVED_NOTE = "each weight times the length of the value that it fetches: weights alone mislead";

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** The largest weights of all rows: places as 16-bit numbers, sizes as bytes. */
export function unpacked({ at, size }) {
  return { at: new Uint16Array(bytes(at).buffer), size: bytes(size) };
}

/** Whether the layers tell what their heads move. */
export function hasMoved(layers) {
  return layers.length > 0 && layers.every((layer) => layer.packed?.moved ?? layer.heads[0]?.moved);
}

/** Call `tell(row, column, weight)` for every weight of a head that is there; of long rows these are the largest. */
export function eachWeight(layer, head, view, tell) {
  if (!layer.packed) {
    const own = layer.heads[head][view] ?? layer.heads[head].weights;
    own.forEach((row, at) => row.forEach((weight, column) => tell(at, column, weight)));
    return;
  }
  const { rows, kept } = layer.packed;
  layer.opened ??= {};
  const { at, size } = (layer.opened[view] ??= unpacked(layer.packed[view] ?? layer.packed.weights));
  for (let row = 0; row < rows; row += 1) {
    const first = (head * rows + row) * kept;
    for (let place = first; place < first + kept; place += 1) tell(row, at[place], size[place] / 255);
  }
}

/** The number of rows and columns of a layer's weights. */
export function sizesOf(layer) {
  if (layer.packed) return [layer.packed.rows, layer.packed.columns];
  return [layer.heads[0].weights.length, layer.heads[0].weights[0].length];
}

/** The mean of a head over some layers, or of all their heads ("mean"), [row][column]; null if there is none. */
export function meanWeights(layers, head, view) {
  const chosen = layers.flatMap((layer) =>
    layer.heads.flatMap((_, at) => (head === "mean" || head === at ? [[layer, at]] : [])),
  );
  if (!chosen.length) return null;
  const [rows, columns] = sizesOf(chosen[0][0]);
  const sums = Array.from({ length: rows }, () => new Array(columns).fill(0));
  for (const [layer, at] of chosen) {
    eachWeight(layer, at, view, (row, column, weight) => (sums[row][column] += weight / chosen.length));
  }
  return sums;
}

/** The effect of a head as a short number with its sign. */
export function effectOf(effect) {
  const short = effect.toFixed(Math.abs(effect) < 10 ? 2 : 1);
  if (Number(short) === 0) return "0";
  return effect > 0 ? `+${short}` : short.replace("-", "−");
}

/** The same in words, after the name of a head; nothing where it was not measured. */
export function effectTold(effect) {
  if (effect === null || effect === undefined) return "";
  const way = effect >= 0 ? "lower" : "higher";
  return `: without it, the log-probability of the answer is ${Math.abs(effect).toFixed(3)} ${way}`;
}
