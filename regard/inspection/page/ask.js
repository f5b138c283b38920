// The page of models that do not translate: ask one, read its answer, and see what it looked at.

import { showAnswer } from "./answers.js";
import { followScheme } from "./colors.js";
import { look, models, Trouble, useKey, write } from "./api.js";
import { Board } from "./board.js";
import { element } from "./dom.js";
import { showSeen } from "./picture_attention.js";
import { TextAttention } from "./text_attention.js";
import { showGraph, showSet, showSteps } from "./structures.js";

const PAUSE = 350;
const TASKS = {
  classify: ["classifies texts", "The answer appears as you type."],
  tag: ["tags words", "The tags appear as you type; words stand between spaces."],
  fill: ["fills masks", "Write <mask> where a word is missing."],
  embed: ["gives vectors of texts", "Write a text in each line: the answer is how alike they are."],
  generate: ["goes on with texts", "What may come next appears as you type."],
  points: ["points at places of its input", "Press into the square to set points, or write them below."],
  sets: ["answers about sets", "An object with the elements of a set; their order means nothing."],
  nodes: ["classifies nodes of a graph", "An object with features, edges and, to look into it, a node."],
  pictures: ["classifies pictures", "A PNG or JPEG file; it is not kept."],
};
const EXAMPLES = {
  classify: "", tag: "", generate: "", fill: "", embed: "",
  points: '{"points": [[0.1, 0.2], [0.8, 0.1], [0.5, 0.5], [0.9, 0.8], [0.2, 0.9]]}',
};
const find = (name) => document.getElementById(name);
const state = { models: [], asked: 0, picture: "", redraw: () => {} };
const attention = new TextAttention();
const board = new Board(find("board"), (points) => {
  find("text").value = JSON.stringify({ points });
  ask();
});
let waiting = 0;

const chosen = () => state.models.find((model) => model.name === find("model").value);

function given() {
  return chosen().reads === "picture" ? state.picture : find("text").value;
}

async function ask() {
  const model = chosen();
  const q = given();
  const number = ++state.asked;
  find("write").hidden = model.task !== "generate";
  if (!q.trim()) {
    find("answer").replaceChildren();
    find("inspector").hidden = find("seen").hidden = true;
    return;
  }
  find("answer").classList.add("stale");
  try {
    const found = await look({ q, model: model.name });
    if (number === state.asked) show(model, found);
  } catch (error) {
    if (number === state.asked && error.name !== "AbortError") fail(error);
  } finally {
    if (number === state.asked) find("answer").classList.remove("stale");
  }
}

function show(model, found) {
  find("trouble").hidden = find("unlock").hidden = true;
  showAnswer(find("answer"), model.task, found.answer);
  const panels = [];
  if (found.attention?.layers.length) panels.push(...attention.show(found.attention));
  if (found.steps) panels.push(showSteps(found));
  if (found.heads?.length && found.elements) panels.push(showSet(found));
  if (found.neighbors) panels.push(showGraph(found, (node) => lookAt(node)));
  if (found.points) board.show(found.points, found.answer.answer);
  find("inspector").replaceChildren(...panels);
  find("inspector").hidden = !panels.length;
  find("seen").hidden = !found.seen;
  state.redraw = found.seen ? showSeen(found.seen) : () => attention.redraw();
  const blind = found.attention && !found.attention.layers.length;
  say(blind ? "This model has no attention, so there are no weights to show." : "");
}

/** Another node of the graph is to be looked into. */
function lookAt(node) {
  find("text").value = JSON.stringify({ ...JSON.parse(find("text").value), node });
  ask();
}

function choose() {
  const model = chosen();
  const [does, hint] = TASKS[model.task] ?? [model.task, ""];
  find("task").textContent = does;
  find("help").textContent = hint;
  const structured = ["points", "set", "graph"].includes(model.reads);
  find("text").hidden = model.reads === "picture";
  find("text").classList.toggle("data", structured);
  find("choose").hidden = model.reads !== "picture";
  find("board").toggleAttribute("hidden", !(model.reads === "points" && model.about.width === 2));
  board.frame(model.about);
  find("text").value = EXAMPLES[model.task] ?? example(model);
  find("text").placeholder = structured ? "" : "Type a text";
  find("answer").replaceChildren();
  find("inspector").hidden = find("seen").hidden = true;
  ask();
}

/** Something that the model can be asked, of the width that it was trained for. */
function example(model) {
  const row = (at) => Array.from({ length: model.about.width }, (_, column) => (at * 7 + column * 3) % 10 / 10);
  if (model.reads === "set") return JSON.stringify({ elements: [0, 1, 2, 3].map(row) });
  if (model.reads !== "graph") return "";
  const named = model.about.features;
  const features = named.length ? { a: named[0], b: named.at(-1), c: named[0] } : { a: row(1), b: row(2), c: row(3) };
  return JSON.stringify({ features, edges: [["a", "b"], ["b", "c"]], node: "a" });
}

/** Let a language model write on, piece by piece. */
async function writeOn() {
  const field = find("text");
  find("write").disabled = true;
  try {
    const question = { model: chosen().name, prompt: field.value, max_tokens: 40, temperature: 0.8, stream: true };
    await write(question, (piece) => (field.value += piece));
    ask();
  } catch (error) {
    fail(error);
  } finally {
    find("write").disabled = false;
  }
}

function say(text) {
  find("status").textContent = text;
}

function fail(error) {
  const trouble = find("trouble");
  trouble.textContent = error instanceof Trouble ? error.message : `This page failed: ${error.message}`;
  trouble.hidden = false;
  find("unlock").hidden = !error.locked;
}

function readPicture() {
  const reader = new FileReader();
  reader.onload = () => {
    state.picture = String(reader.result);
    ask();
  };
  if (find("file").files[0]) reader.readAsDataURL(find("file").files[0]);
}

/** Points that were typed are on the board at once, so that a press adds to them. */
function showTyped() {
  try {
    const { points } = JSON.parse(find("text").value);
    if (points.every((point) => point.length === 2 && point.every(Number.isFinite))) board.show(points, []);
  } catch {
    return; // half typed
  }
}

find("text").addEventListener("input", () => {
  state.asked++; // an answer to what stood there before comes too late
  if (chosen().reads === "points") showTyped();
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE);
});
find("model").addEventListener("change", choose);
find("file").addEventListener("change", readPicture);
find("write").addEventListener("click", writeOn);
find("unlock").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(find("key").value);
  ask();
});
followScheme(find("theme"), () => state.redraw());
try {
  state.models = await models();
  find("model").replaceChildren(...state.models.map(({ name }) => element("option", { value: name, text: name })));
  find("model").classList.toggle("single", state.models.length < 2);
  choose();
} catch (error) {
  fail(error);
}
