// What might have been written instead of a word: a small sheet that opens beside it.

import { element } from "./dom.js";
import { copying, origin, percent, spelled } from "./reading.js";

let open = null;

/** Open the sheet of a unit of the translation; `choose(prefix)`, where there is one, makes alternatives buttons. */
export function showAlternatives(anchor, part, unit, choose) {
  closeAlternatives();
  const label = `Alternatives to ${unit.text}`;
  const sheet = element("div", { class: "sheet-of-alternatives", role: "dialog", "aria-label": label, tabindex: -1 });
  for (const at of unit.tokens) {
    const copied = copying(part, { tokens: [at] });
    const [title, ...others] = ofToken(part.target[at], choose && pick(choose));
    sheet.append(title, ...(copied ? [element("p", { class: "instead origin", text: origin(copied) })] : []), ...others);
  }
  document.body.append(sheet);
  place(sheet, anchor);
  anchor.setAttribute("aria-expanded", "true");
  open = { sheet, anchor };
  sheet.addEventListener("keydown", walk);
  sheet.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !sheet.contains(event.relatedTarget)) closeAlternatives();
  });
  (sheet.querySelector("button") ?? sheet).focus({ preventScroll: true });
}

/** Close what is open; the keyboard goes back to the word. */
export function closeAlternatives(back = false) {
  if (!open) return;
  const { sheet, anchor } = open;
  open = null;
  sheet.remove();
  anchor.removeAttribute("aria-expanded");
  if (back && anchor.isConnected) anchor.focus({ preventScroll: true });
  else anchor.dispatchEvent(new FocusEvent("blur")); // the word is left for good
}

document.addEventListener("pointerdown", (event) => {
  if (open && !open.sheet.contains(event.target) && !open.anchor.contains(event.target)) closeAlternatives();
});
addEventListener("resize", () => closeAlternatives());

function pick(choose) {
  return (other) => {
    closeAlternatives(true);
    choose(other.prefix);
  };
}

function ofToken(token, choose) {
  const title = element(
    "p",
    { class: "instead" },
    element("span", { text: "instead of " }),
    element("b", { text: spelled(token) }),
    element("span", { class: "share", text: percent(token.log_probability) }),
  );
  const rows = token.alternatives.map((other) => {
    const bar = element("i", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${Math.max(1.5, Math.exp(other.log_probability) * 100)}%`;
    const name = element("span", { class: "token", text: spelled(other) });
    const inside = [bar, name, element("span", { class: "share", text: percent(other.log_probability) })];
    if (!choose) return element("div", { class: "other" }, ...inside);
    return element("button", { type: "button", class: "other", onclick: () => choose(other) }, ...inside);
  });
  return [title, ...rows];
}

function place(sheet, anchor) {
  const box = anchor.getBoundingClientRect();
  const width = sheet.offsetWidth;
  const rightmost = document.documentElement.clientWidth - width - 8;
  const left = Math.min(Math.max(8, box.left + box.width / 2 - width / 2), rightmost);
  const below = box.bottom + sheet.offsetHeight + 12 < innerHeight || box.top < sheet.offsetHeight + 12;
  sheet.style.left = `${left + scrollX}px`;
  sheet.style.top = `${(below ? box.bottom + 8 : box.top - sheet.offsetHeight - 8) + scrollY}px`;
}

function walk(event) {
  if (event.key === "Escape") {
    closeAlternatives(true);
    return;
  }
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  buttons[(next + buttons.length) % buttons.length]?.focus();
}
