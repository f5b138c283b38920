// Colors follow the style sheet; the scale of weights falls evenly in lightness (OKLab) from paper.

const SCALES = {
  light: ["#ffffff", "#c5eaff", "#8fd2fe", "#66b6f7", "#4f99e6", "#447cce", "#3f60ad", "#394887", "#30335c"],
  dark: ["#191b24", "#1f2947", "#263a6b", "#305093", "#3c6abb", "#5088dc", "#6fa9f2", "#9ccbfb", "#d5ecff"],
};

/** The colors of the page as it is now: ink, quiet, line, paper, accent, and `weight(0 … 1)`, or its `channels`. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const named = (name) => style.getPropertyValue(`--${name}`).trim();
  const dark = named("scheme") === "dark";
  const scale = SCALES[dark ? "dark" : "light"].map(channels);
  return {
    ink: named("ink"),
    quiet: named("quiet"),
    line: named("line"),
    paper: named("paper"),
    accent: named("accent"),
    link: named("link"),
    weight: (share) => `rgb(${between(scale, share).join(",")})`,
    channels: (share) => between(scale, share),
  };
}

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function between(scale, share) {
  const place = Math.min(Math.max(share, 0), 1) * (scale.length - 1);
  const low = Math.min(Math.floor(place), scale.length - 2);
  return scale[low].map((channel, at) => Math.round(channel + (scale[low + 1][at] - channel) * (place - low)));
}

/** Light or dark as the reader chose, else as the system says; `onchange` hears of both. */
export function followScheme(button, onchange) {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (chosen) => {
    if (chosen) root.dataset.theme = chosen;
    const dark = chosen ? chosen === "dark" : system.matches;
    button.setAttribute("aria-pressed", String(dark));
    button.setAttribute("aria-label", dark ? "Use light colors" : "Use dark colors");
    onchange();
  };
  system.addEventListener("change", () => apply(remembered("theme")));
  button.addEventListener("click", () => {
    const next = button.getAttribute("aria-pressed") === "true" ? "light" : "dark";
    remember("theme", next);
    apply(next);
  });
  apply(remembered("theme"));
}

function remembered(name) {
  try {
    return localStorage.getItem(`regard.${name}`);
  } catch {
    return document.documentElement.dataset[name] ?? null; // a sandboxed page has no storage
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(`regard.${name}`, value);
  } catch {
    /* for this visit alone */
  }
}
