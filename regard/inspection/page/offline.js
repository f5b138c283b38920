// The page that `regard inspect` writes: one explanation, which stands in the page itself.

import { closeAlternatives, showAlternatives } from "./alternatives.js";
import { followScheme } from "./colors.js";
import { watched } from "./dom.js";
import { Inspector } from "./inspector.js";
import { Links } from "./links.js";
import { download } from "./picture.js";
import { fittingGrain, linksOf, unitsOf } from "./reading.js";
import { showWords, step } from "./words.js";

const explanation = JSON.parse(document.getElementById("explanation").textContent);
const find = (name) => document.getElementById(name);
const grains = document.querySelectorAll("[data-grain]");
const focus = watched(null);
const grain = watched(fittingGrain(explanation));
const shown = { units: { source: [], target: [] }, words: { source: [], target: [] } };
const links = new Links(find("stage"), focus);
const inspector = new Inspector(find("inspector"), focus, () => shown.units);

function show() {
  closeAlternatives();
  focus.set(null);
  for (const side of ["source", "target"]) {
    shown.units[side] = unitsOf(explanation, side, grain.get());
    shown.words[side] = showWords(find(side), shown.units[side], {
      side,
      focus,
      across: (unit) => cross(side, unit),
      press: (unit, word) => press(side, unit, word),
    });
  }
  link();
  for (const button of grains) button.setAttribute("aria-pressed", String(button.dataset.grain === grain.get()));
}

function link() {
  links.show(shown.words, linksOf(explanation, grain.get(), inspector.view.get()));
}

function cross(side, unit) {
  const [partner] = links.partners({ side, unit });
  if (partner) step(shown.words[partner.side], partner.unit);
}

function press(side, at, word) {
  const unit = shown.units[side][at];
  if (side === "target") showAlternatives(word, explanation.parts[unit.part], unit, null);
}

grain.watch(show);
inspector.view.watch(() => grain.get() === "tokens" && link());
for (const button of grains) button.addEventListener("click", () => grain.set(button.dataset.grain));
for (const button of document.querySelectorAll("[data-picture]")) {
  button.addEventListener("click", () => {
    const { shapes, width, height } = links.picture();
    download(shapes, width, height, "links", button.dataset.picture);
  });
}
show();
inspector.show(explanation);
followScheme(find("theme"), () => inspector.redraw());
