// A line of words that can be pointed at, touched, and walked through with the arrow keys.

import { element } from "./dom.js";

/**
 * Fill `line` with one element for each unit; a unit's number is its `at`, or its place in the line.
 *
 * `focus` is a watched { side, unit } or null; `across(number)` goes to the other side, as up and down ask for;
 * `press(number, word)`, where there is one, is called for a click, Enter or Space; `decorate(word, unit, number)` may
 * add to each. Words are spans, since a line breaks inside of these as it should.
 */
export function showWords(line, units, { side, focus, across, press, decorate }) {
  const numbers = units.map((unit, at) => unit.at ?? at);
  const spot = (at) => ({ side, unit: numbers[at] });
  const words = units.map((unit, at) => {
    const word = element("span", {
      role: press ? "button" : null,
      class: kindOf(unit, units[at - 1], units[at + 1]),
      text: unit.text,
      tabindex: at ? -1 : 0,
      data: { unit: at },
      onfocus: () => focus.set(spot(at)),
      onblur: (event) => event.relatedTarget?.closest(".sheet-of-alternatives") || focus.set(null),
    });
    decorate?.(word, unit, numbers[at]);
    return word;
  });
  line.replaceChildren(...units.flatMap((unit, at) => (at ? [unit.before, words[at]] : [words[at]])));
  line.onpointerover = (event) => number(event.target) !== null && focus.set(spot(number(event.target)));
  line.onpointerleave = (event) => {
    if (event.pointerType === "mouse" && !line.contains(document.activeElement)) focus.set(null);
  };
  line.onclick = (event) => {
    const at = number(event.target);
    if (at === null) return;
    focus.set(spot(at));
    press?.(numbers[at], words[at]);
  };
  line.onkeydown = (event) => {
    const at = number(event.target);
    if (at === null) return;
    const ahead = getComputedStyle(line).direction === "rtl" ? -1 : 1;
    const next = { ArrowLeft: at - ahead, ArrowRight: at + ahead, Home: 0, End: words.length - 1 }[event.key];
    if (next !== undefined && words[next]) {
      event.preventDefault();
      step(words, next);
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      across?.(numbers[at]);
    } else if (press && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      press(numbers[at], words[at]);
    } else if (event.key === "Escape") {
      focus.set(null);
    }
  };
  const number = (node) => (node.classList?.contains("word") ? Number(node.dataset.unit) : null);
  return words;
}

function kindOf(unit, before, after) {
  if (!unit.tokens.length) return "word whole";
  const shares = (other) => other && other.part === unit.part && other.word === unit.word;
  return shares(before) || shares(after) ? "word piece" : "word";
}

/** Move the keyboard's place within a line. */
export function step(words, next) {
  words.forEach((word, at) => (word.tabIndex = at === next ? 0 : -1));
  words[next].focus();
}
