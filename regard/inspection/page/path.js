// The way of the search: for each step what it considered, what went on, and what became the translation.

import { element, vector } from "./dom.js";
import { palette } from "./colors.js";
import { FACE } from "./picture.js";
import { percent, spelled } from "./reading.js";

const LINE = 30;
const GAP = 34;
const DROPPED_SHOWN = 3;

/** Draw the steps of a part into `host`; `point(target token)` hears which step is pointed at. */
export function showPath(host, part, point) {
  const goesOn = (branch, at) => branch.finished || (branch.becomes !== null && at < part.path.length - 1);
  const steps = part.path.map((step, at) => step.map((branch) => ({ ...branch, kept: goesOn(branch, at) })));
  const columns = layOut(steps.map(shown));
  const width = columns.length ? columns.at(-1).x + columns.at(-1).width + 8 : 0;
  const height = Math.max(0, ...columns.map((column) => column.nodes.length)) * LINE + 12;
  const label = "What the search considered at each step";
  const box = `0 0 ${width} ${height}`;
  const picture = vector("svg", { width, height, viewBox: box, role: "img", "aria-label": label });
  picture.append(...columns.flatMap((column, at) => (at ? edges(columns[at - 1], column) : [])));
  columns.forEach((column, at) => picture.append(group(column, at, point)));
  host.replaceChildren(picture, spokenPath(part));
}

/** What went on or ended, then a few of what was dropped. */
function shown(step) {
  const alive = step.filter((branch) => branch.kept || branch.chosen);
  const dropped = step.filter((branch) => !alive.includes(branch)).slice(0, DROPPED_SHOWN);
  return [...alive, ...dropped];
}

function layOut(steps) {
  const context = document.createElement("canvas").getContext("2d");
  let x = 4;
  return steps.map((branches) => {
    context.font = `600 13px ${FACE}`;
    const widthOf = (branch) => context.measureText(spelled(branch)).width;
    const nodes = branches.map((branch, row) => ({ branch, y: row * LINE + 20, width: widthOf(branch) }));
    const column = { x, nodes, width: Math.max(28, ...nodes.map((node) => node.width)) };
    x += column.width + GAP;
    return column;
  });
}

function edges(before, column) {
  const colors = palette();
  const drawn = column.nodes.flatMap(({ branch, y }) => {
    const parent = before.nodes.find((node) => node.branch.becomes === branch.parent);
    if (!parent) return [];
    const [x1, x2, middle] = [before.x + parent.width + 5, column.x - 5, GAP / 2];
    const d = `M${x1} ${parent.y - 4}C${x2 - middle} ${parent.y - 4} ${x2 - middle} ${y - 4} ${x2} ${y - 4}`;
    const curve = vector("path", { d, fill: "none", class: branch.chosen ? "way chosen" : "way" });
    curve.style.stroke = branch.chosen ? colors.accent : colors.link;
    curve.style.strokeWidth = branch.chosen ? "2px" : "1px";
    curve.style.opacity = branch.chosen ? "1" : branch.kept ? "0.55" : "0.2";
    return [[branch.chosen, curve]];
  });
  return drawn.sort(([one], [two]) => one - two).map(([, curve]) => curve);
}

function group(column, at, point) {
  const nodes = column.nodes.map(({ branch, y }) => {
    const state = branch.chosen ? "chosen" : branch.kept ? "kept" : "dropped";
    const node = vector("g", { class: `branch ${state}` });
    const score = (Math.round(branch.score * 100) / 100 + 0).toFixed(2).replace("-", "−"); // 0, not −0
    const note = branch.finished ? "ends here" : branch.kept || branch.chosen ? "goes on" : "dropped";
    node.append(
      vector("title", { text: `${spelled(branch)}: ${percent(branch.log_probability)}, sum ${score}, ${note}` }),
      vector("text", { x: column.x, y, class: "token", text: spelled(branch) }),
      vector("text", { x: column.x, y: y + 10, class: "score", text: score }),
    );
    return node;
  });
  return vector("g", { onpointerenter: () => point(at), onpointerleave: () => point(null) }, ...nodes);
}

/** The same for people who listen. */
function spokenPath(part) {
  const steps = part.path.map((step) => {
    const chosen = step.find((branch) => branch.chosen);
    const others = step.filter((branch) => branch !== chosen).slice(0, 4);
    const said = others.map((branch) => `${branch.text} ${branch.score.toFixed(2)}`).join(", ");
    const taken = chosen ? `${chosen.text}, score ${chosen.score.toFixed(2)}; ` : "";
    return element("li", { text: `${taken}also considered: ${said || "nothing"}` });
  });
  return element("ol", { class: "unseen" }, ...steps);
}
