// A line of words that can be pointed at, touched, and walked through with the arrow keys.

import { element } from "./dom.js";

/**
 * Fill `line` with one button for each unit.
 *
 * `focus` is a watched { side, unit } or null; `across(unit)` goes to the other side, as up and down ask for;
 * `press(unit, button)` is called for a click, Enter or Space; `decorate(button, unit)` may add to each.
 */
export function showWords(line, units, { side, focus, across, press, decorate }) {
  const buttons = units.map((unit, at) => {
    const button = element("button", {
      type: "button",
      class: units[at - 1]?.word === unit.word || units[at + 1]?.word === unit.word ? "word piece" : "word",
      text: unit.text,
      tabindex: at ? -1 : 0,
      data: { unit: at },
      onfocus: () => focus.set({ side, unit: at }),
      onblur: (event) => event.relatedTarget?.closest(".sheet-of-alternatives") || focus.set(null),
    });
    decorate?.(button, unit);
    return button;
  });
  line.replaceChildren(...units.flatMap((unit, at) => (at && unit.gap ? [" ", buttons[at]] : [buttons[at]])));
  line.onpointerover = (event) => number(event.target) !== null && focus.set({ side, unit: number(event.target) });
  line.onpointerleave = (event) => {
    if (event.pointerType === "mouse" && !line.contains(document.activeElement)) focus.set(null);
  };
  line.onclick = (event) => {
    const at = number(event.target);
    if (at === null) return;
    focus.set({ side, unit: at });
    press?.(at, buttons[at]);
  };
  line.onkeydown = (event) => {
    const at = number(event.target);
    if (at === null) return;
    const ahead = getComputedStyle(line).direction === "rtl" ? -1 : 1;
    const next = { ArrowLeft: at - ahead, ArrowRight: at + ahead, Home: 0, End: buttons.length - 1 }[event.key];
    if (next !== undefined && buttons[next]) {
      event.preventDefault();
      step(buttons, next);
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      across?.(at);
    } else if (event.key === "Escape") {
      focus.set(null);
    }
  };
  const number = (node) => (node.classList?.contains("word") ? Number(node.dataset.unit) : null);
  return buttons;
}

/** Move the keyboard's place within a line. */
export function step(buttons, next) {
  buttons.forEach((button, at) => (button.tabIndex = at === next ? 0 : -1));
  buttons[next].focus();
}
