// The languages that a text is translated from and to.

import { element } from "./dom.js";

const AUTO = "auto";

/** Two selects and the button that swaps them; `changed()` hears of another choice. */
export class Languages {
  constructor({ from, to, swap }, changed) {
    Object.assign(this, { fromSelect: from, toSelect: to, swapButton: swap });
    this.served = [];
    from.addEventListener("change", () => (this.#fillTargets(), changed()));
    to.addEventListener("change", () => (this.#fillTargets(), changed()));
  }

  get from() {
    return this.fromSelect.value;
  }

  get to() {
    return this.toSelect.value;
  }

  /** Offer the served languages [{ code, name, targets }], and choose some of them. */
  offer(served, { from = "", to = "" } = {}) {
    this.served = served;
    const sources = served.filter((one) => one.targets.some((code) => code !== one.code));
    const detect = sources.length > 1 ? [{ code: AUTO, name: "Detect language" }] : [];
    fill(this.fromSelect, [...sources, ...detect], from || this.from);
    this.#fillTargets(to);
  }

  choose(from, to) {
    fill(this.fromSelect, null, from);
    this.#fillTargets(to);
  }

  /** Say which language a text was detected to be in; `""` for none. */
  detected(code) {
    const option = [...this.fromSelect.options].find((one) => one.value === AUTO);
    if (option) option.textContent = code ? `${this.name(code)} (detected)` : "Detect language";
  }

  name(code) {
    return this.served.find((one) => one.code === code)?.name ?? code;
  }

  #fillTargets(value = this.to) {
    const all = this.served.flatMap((one) => one.targets.filter((code) => code !== one.code));
    const from = this.served.find((one) => one.code === this.from);
    const codes = from ? from.targets.filter((code) => code !== from.code) : [...new Set(all)];
    fill(this.toSelect, codes.map((code) => ({ code, name: this.name(code) })), value);
    const back = this.served.find((one) => one.code === this.to);
    this.swapButton.disabled = !back?.targets.includes(this.from);
  }
}

function fill(select, options, value) {
  if (options) select.replaceChildren(...options.map((one) => element("option", { value: one.code, text: one.name })));
  if ([...select.options].some((one) => one.value === value)) select.value = value;
  select.classList.toggle("single", select.options.length < 2);
}
