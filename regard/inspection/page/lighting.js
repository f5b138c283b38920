// Which words are lit: what is pointed at, and what belongs to it.

/**
 * The units lit by a focus { side, unit }: it, and the units that it is linked with. A focus that has `pair`, as that
 * of a cell of a heat map, lights these units and no others.
 */
export function litUnits(focus, links) {
  const lit = { source: new Set(), target: new Set() };
  if (!focus) return lit;
  lit[focus.side].add(focus.unit);
  if (focus.pair) {
    for (const { side, unit } of focus.pair) lit[side].add(unit);
    return lit;
  }
  const other = focus.side === "source" ? "target" : "source";
  for (const link of links) if (link[focus.side] === focus.unit) lit[other].add(link[other]);
  return lit;
}

/** Whether both ends of a link are lit, and it is one that the focus is about. */
export function isLit(link, focus, lit) {
  if (!focus || !lit.source.has(link.source) || !lit.target.has(link.target)) return false;
  return Boolean(focus.pair) || link[focus.side] === focus.unit;
}

/** Light the elements of both sides, one for each unit. */
export function lightWords(sides, focus, lit) {
  for (const side of ["source", "target"]) {
    const on = new Set([...lit[side]].map((unit) => sides[side][unit]));
    const pointed = focus?.side === side ? sides[side][focus.unit] : null;
    for (const word of new Set(sides[side])) {
      word?.classList.toggle("lit", on.has(word));
      word?.classList.toggle("pointed", word === pointed);
    }
  }
}
