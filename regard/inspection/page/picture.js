// Pictures as lists of shapes, painted on a canvas or written as SVG: { rect | text | curve }.

import { element } from "./dom.js";

/** What labels are written in, as in the style sheet. */
export const FACE = '"Segoe UI", Inter, Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif';

/** Paint shapes on a canvas that is `width` × `height` on the page. */
export function paint(canvas, shapes, width, height, scale = window.devicePixelRatio || 1) {
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  for (const shape of shapes) PAINTERS[shape.kind](context, shape);
}

const PAINTERS = {
  rect(context, { x, y, width, height, fill, stroke, radius = 0 }) {
    context.beginPath();
    if (radius) context.roundRect(x, y, width, height, radius);
    else context.rect(x, y, width, height);
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = 1.5;
      context.stroke();
    }
  },
  text(context, { x, y, text, fill, font, anchor = "start", turn = 0 }) {
    context.save();
    context.translate(x, y);
    context.rotate((turn * Math.PI) / 180);
    context.font = font;
    context.fillStyle = fill;
    context.textAlign = anchor === "middle" ? "center" : anchor;
    context.textBaseline = "alphabetic";
    context.fillText(text, 0, 0);
    context.restore();
  },
  curve(context, { points, stroke, width, opacity = 1 }) {
    context.save();
    context.globalAlpha = opacity;
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.lineCap = "round";
    context.stroke(new Path2D(curvePath(points)));
    context.restore();
  },
};

/** From one word down to another: upright where it leaves and where it arrives. */
export function curvePath([x, y, toX, toY]) {
  const bend = (toY - y) * 0.5;
  const [start, leaving, arriving, end] = [[x, y], [x, y + bend], [toX, toY - bend], [toX, toY]].map(
    (point) => point.map(round).join(" "),
  );
  return `M${start}C${leaving} ${arriving} ${end}`;
}

function round(number) {
  return Math.round(number * 10) / 10;
}

/** The shapes as the text of an SVG file. */
export function asSvg(shapes, width, height) {
  const written = shapes.map((shape) => WRITERS[shape.kind](shape));
  const [across, down] = [Math.ceil(width), Math.ceil(height)];
  const size = attributes({ width: across, height: down, viewBox: `0 0 ${across} ${down}` });
  return `<svg xmlns="http://www.w3.org/2000/svg"${size}>\n${written.join("\n")}\n</svg>\n`;
}

const WRITERS = {
  rect: ({ x, y, width, height, fill = "none", stroke = "none", radius = 0 }) =>
    `<rect${attributes({ x, y, width, height, rx: radius, fill, stroke })}/>`,
  text: ({ x, y, text, fill, font, anchor = "start", turn = 0 }) => {
    const transform = turn ? `rotate(${turn} ${round(x)} ${round(y)})` : null;
    const own = attributes({ x, y, fill, style: `font:${font}`, "text-anchor": anchor, transform });
    return `<text${own}>${escaped(text)}</text>`;
  },
  curve: ({ points, stroke, width, opacity = 1 }) => {
    const line = { stroke, "stroke-width": width, "stroke-linecap": "round", opacity: opacity.toFixed(2) };
    return `<path${attributes({ d: curvePath(points), fill: "none", ...line })}/>`;
  },
};

function attributes(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null);
  const short = (value) => escaped(typeof value === "number" ? round(value) : value);
  return given.map(([name, value]) => ` ${name}="${short(value)}"`).join("");
}

function escaped(text) {
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return String(text).replace(/[&<>"']/g, (character) => entities[character]);
}

/** Buttons that hand the reader what `picture()` draws as a file, `name.svg` or `name.png`. */
export function saveButtons(what, name, picture) {
  return ["svg", "png"].map((kind) => {
    const label = kind.toUpperCase();
    const onclick = () => {
      const { shapes, width, height } = picture();
      download(shapes, width, height, name, kind);
    };
    const told = { text: `↓ ${label}`, "aria-label": `Download ${what} as ${label}` };
    return element("button", { type: "button", class: "plain", ...told, onclick });
  });
}

function download(shapes, width, height, name, kind) {
  if (kind === "svg") {
    save(new Blob([asSvg(shapes, width, height)], { type: "image/svg+xml" }), `${name}.svg`);
    return;
  }
  const canvas = document.createElement("canvas");
  paint(canvas, shapes, width, height, 3);
  canvas.toBlob((blob) => save(blob, `${name}.png`), "image/png");
}

function save(blob, name) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}
