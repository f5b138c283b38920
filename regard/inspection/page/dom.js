// Elements without markup: texts are only ever set as text.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element with properties (`class`, `text`, `data`, handlers by `on…`, attributes) and children. */
export function element(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function vector(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** A value that can be watched: `set` tells every watcher, unless nothing changed. */
export function watched(value) {
  const watchers = new Set();
  return {
    get: () => value,
    set(next) {
      if (JSON.stringify(next) === JSON.stringify(value)) return;
      value = next;
      for (const watcher of watchers) watcher(value);
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

/** Call once for many changes within a frame. */
export function soon(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}

/** A choice of what is shown of a head, by `views` { name: text }; `choose(name)` hears of it. */
export function viewChoice(views, choose) {
  const options = Object.entries(views).map(([value, text]) => element("option", { value, text }));
  return element("select", { "aria-label": "What is shown", onchange: (event) => choose(event.target.value) }, ...options);
}

/** A titled section with tools in its header. */
export function panel(title, note, body, ...tools) {
  const about = element("div", {}, element("h2", { text: title }), element("p", { text: note }));
  const heading = element("header", {}, about, element("div", { class: "tools" }, ...tools));
  return element("section", { class: "panel", "aria-label": title }, heading, body);
}

/** Fade the edges of what scrolls sideways where there is more of it; the keyboard can then scroll it. */
export function hintAtMore(host) {
  const look = soon(() => {
    const hidden = host.scrollWidth - host.clientWidth;
    const place = Math.abs(host.scrollLeft);
    host.classList.toggle("more-before", hidden > 1 && place > 1);
    host.classList.toggle("more-after", hidden > 1 && place < hidden - 1);
  });
  host.addEventListener("scroll", look, { passive: true });
  const sizes = new ResizeObserver(look);
  new MutationObserver(() => {
    sizes.disconnect();
    for (const node of [host, ...host.children]) sizes.observe(node);
  }).observe(host, { childList: true });
  for (const node of [host, ...host.children]) sizes.observe(node);
}
