// The page that `regard inspect` writes: one explanation, which stands in the page itself.

import { followScheme } from "./colors.js";
import { isContinuation } from "./reading.js";
import { Viewer } from "./viewer.js";
import { showWords } from "./words.js";

const find = (name) => document.getElementById(name);
const explanation = JSON.parse(find("explanation").textContent);

const viewer = new Viewer(find("inspector"), find("target"), {
  read: (units) =>
    showWords(find("source"), units, {
      side: "source",
      focus: viewer.focus,
      press: (at) => viewer.look(viewer.units.source[at].part),
    }),
});
viewer.show(explanation);
find("source").parentElement.hidden = isContinuation(explanation);
find("model").textContent = explanation.model ?? "";
followScheme(find("theme"), () => viewer.redraw());
