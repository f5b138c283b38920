// The words that a language model expects next, with their probabilities as bars.

import { element } from "./dom.js";
import { percent } from "./reading.js";

/** Fill a panel with words [{ text, log_probability }]; it is hidden where there are none. */
export function showNext(panel, words) {
  panel.hidden = !words;
  panel.classList.add("wide");
  if (!words) return;
  const most = Math.max(...words.map((word) => word.log_probability));
  const rows = words.map((word) => {
    const bar = element("i", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${Math.max(0.5, Math.exp(word.log_probability - most) * 100)}%`;
    const share = element("span", { class: "share", text: percent(word.log_probability) });
    return element("li", { class: "other" }, bar, element("span", { class: "token", text: word.text }), share);
  });
  panel.lastElementChild.replaceChildren(element("ol", { class: "nexts" }, ...rows));
}
