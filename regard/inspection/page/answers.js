// An answer as it is read: bars of probabilities, tagged words, filled masks, likenesses of texts.

import { element } from "./dom.js";

const MOST = 8;

/** Rows [[name, share]] with bars, the largest first. */
function bars(rows) {
  const sorted = [...rows].sort((one, other) => other[1] - one[1]).slice(0, MOST);
  const most = Math.max(1e-9, ...sorted.map(([, share]) => share));
  const items = sorted.map(([name, share]) => {
    const bar = element("i", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${Math.max(0.5, (share / most) * 100)}%`;
    const number = element("span", { class: "share", text: share.toFixed(3) });
    return element("li", { class: "other" }, bar, element("span", { class: "token", text: name }), number);
  });
  return element("ol", { class: "nexts" }, ...items);
}

function tagged({ words, tags }) {
  return words.map((word, at) =>
    element("span", { class: "tagged" }, element("span", { text: word }), element("small", { text: tags[at] })));
}

function filled({ text, guesses }) {
  const lists = guesses.map((options) => bars(options.map(({ token, probability }) => [token, probability])));
  return [element("p", { class: "fills", text }), ...lists];
}

function alike({ text, lines, cosines }) {
  if (lines.length < 2) return [element("span", { text: `A vector of ${text}; write a second line to compare.` })];
  const pairs = lines.flatMap((line, at) => lines.slice(at + 1).map((other, next) => [at, at + 1 + next, line, other]));
  return [bars(pairs.map(([one, other, line, next]) => [`${line} · ${next}`, cosines[one][other]]))];
}

const SHOWN = {
  classify: ({ probabilities }) => [bars(Object.entries(probabilities))],
  pictures: ({ probabilities }) => [bars(Object.entries(probabilities))],
  tag: tagged,
  fill: filled,
  embed: alike,
  generate: ({ next }) => [bars(next.map((word) => [word.text, Math.exp(word.log_probability)]))],
  points: ({ answer }) => [element("span", { text: answer.join(" → ") || "no point" })],
  sets: ({ answer, text }) => [element("span", { text: typeof answer === "object" ? JSON.stringify(answer) : text })],
  nodes: ({ nodes }) => nodes.slice(0, 60).map(({ node, label }) =>
    element("span", { class: "tagged" }, element("span", { text: node }), element("small", { text: label }))),
};

/** Show an answer of a task in `host`. */
export function showAnswer(host, task, answer) {
  host.replaceChildren(...SHOWN[task](answer));
}
