// The explorer: a map of rows, what is behind each point of it, and the controls of the model.
// `render({ model, el })` draws it into an element; `model` is a link with `ask(kind, body)`, or a notebook's widget.

const PALETTE = ["#2f7ed8", "#ec6a1f", "#16a085", "#a45fd6", "#d8a013", "#e0507f", "#6f8299", "#12a9c4", "#93653f", "#74a832"];
const RAMP = ["#3b4cc0", "#2f7ed8", "#12a9c4", "#74a832", "#d8a013", "#ec6a1f"];
const MISSING = "#9aa3b2";
const GLIDE = 450; // milliseconds of a move from one map to the next
const MANY = 40000; // points from which their edges are hard: that is five times faster
const NEAR = 14; // pixels within which a row is pointed at
const PAUSE = 120; // milliseconds of rest before the causes of a row are asked for
const AGAIN = 150; // milliseconds after which a request that another tab has replaced is sent again
const THUMBNAIL = 26; // pixels of a picture on the map
const SHOWN = 40; // variables in the table of a row
const FRAME = 70; // milliseconds of one step of a walk
const [WIDE, HIGH] = [260, 92]; // of a chart
const LABELS = { kpca: "Kernel PCA", sparse: "Sparse", probabilistic: "Probabilistic", mixture: "Mixture", classifier: "Classifier",
  monitor: "Monitor", rbf: "RBF", laplacian: "Laplacian", matern: "Matérn", poly: "Polynomial", cosine: "Cosine", linear: "Linear" };
const SLIDERS = { // name, and what is written beside it
  width: ["Width of the kernel, as a multiple of the median rule", (value) => `γ ${figure(10 ** value, 3)} ×`],
  degree: ["Degree of the polynomial", (value) => `Degree ${value}`],
  components: ["Number of components", (value) => `${value} comp.`],
  clusters: ["Number of clusters", (value) => `${value} clusters`],
};
const HELP = "Arrow keys move to the next row, Enter pins it, plus and minus zoom, Shift with arrows pans, 0 shows all. Key 2: lasso; arrows "
  + "move the cross, Space sets a corner, Enter closes. Key 3: back to data; arrows move the point. W: walk between two pinned rows. "
  + "L: linear PCA beside it. I: pictures. Escape clears.";
const FAILURES = { open: "The table cannot be shown. ", table: "This file cannot be opened. ", fit: "The fit failed. ",
  back: "There is no way back here. ", walk: "There is no walk here. " };

// An answer is the length of its header, the header as JSON, and arrays.
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let at = 4 + length;
  const kinds = { f4: Float32Array, u4: Uint32Array, u1: Uint8Array };
  header.arrays = header.arrays.map(([kind, size]) => {
    const array = new kinds[kind](buffer, at, size);
    at += Math.ceil(array.byteLength / 4) * 4;
    return array;
  });
  return header;
}

// Elements: text is always text.
function make(tag, attributes = {}, ...children) {
  const svg = tag.startsWith("svg:");
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  return fill(node, ...children);
}
function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}
const button = (label, onclick, attributes = {}) => make("button", { onclick, ...attributes }, label);
const press = (node, on) => node.setAttribute("aria-pressed", String(on));
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const sum = (values) => values.reduce((total, value) => total + value, 0);

function figure(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  const size = Math.abs(value);
  const small = size !== 0 && (size >= 1e6 || size < 1e-4);
  const text = small ? value.toExponential(digits - 2).replace("e+", "e") : String(Number(value.toPrecision(digits)));
  return text.replaceAll("-", "−");
}
const percent = (share) => `${figure(100 * share, 3)} %`;
const count = (n, noun, many = `${noun}s`) => `${n.toLocaleString("en")} ${n === 1 ? noun : many}`;

// Colours: three numbers, or one of 32 bits as the canvas has it.
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const abgr = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
const parts = (colour) => [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
const cssOf = (colour) => `rgb(${parts(colour).join(" ")})`;
const mixed = (a, b, share) => a.map((value, i) => Math.round(value + (b[i] - value) * share));
function ramp(t) {
  const at = clamp(t, 0, 1) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  return mixed(rgb(RAMP[low]), rgb(RAMP[low + 1]), at - low);
}
const RAMP_SHADES = Uint32Array.from({ length: 256 }, (_, i) => abgr(ramp(i / 255)));

function ends(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
const blend = (a, b, s) => b.map((value, i) => a[i] + (value - a[i]) * s);

// Requests of one kind: one under way, and of those that wait only the newest.
class Line {
  constructor(ask, kind, failed) {
    Object.assign(this, { ask, kind, failed, busy: false, next: null });
  }
  async send(...request) {
    this.next = request;
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const [body, done] = this.next;
      this.next = null;
      try {
        done(await this.ask(this.kind, body));
      } catch (error) {
        if (!error.replaced) this.failed(error, this.kind);
        else if (await new Promise((rested) => setTimeout(() => rested(!this.next), AGAIN))) this.next = [body, done];
      }
    }
    this.busy = false;
  }
}

// A scatter plot on two canvases: points below, marks above.
class Plot {
  constructor(app, name) {
    this.app = app;
    this.base = make("canvas", { "aria-hidden": "true" });
    this.over = make("canvas", { class: "over", tabindex: "0", role: "application", "aria-label": name, "aria-roledescription": "map",
      "aria-describedby": app.helpId });
    this.name = make("div", { class: "name" });
    this.node = make("div", { class: "plot" }, this.base, this.over, this.name);
    for (const canvas of [this.base, this.over]) canvas.style.position = "absolute"; // else it would size what it is sized by, until there is style
    Object.assign(this, { x: new Float32Array(0), y: new Float32Array(0), view: { x: 0, y: 0, scale: 1 }, moved: false });
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.node);
  }

  resize() {
    const [width, height, ratio, before] = [this.node.clientWidth, this.node.clientHeight, window.devicePixelRatio || 1, this.width];
    if (!width || !height) return;
    Object.assign(this, { width, height, ratio });
    for (const canvas of [this.base, this.over]) Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    this.image = this.base.getContext("2d").createImageData(this.base.width, this.base.height);
    if (!before || !this.moved) this.showAll();
    if (!before) this.app.retheme();
    this.draw();
  }

  setPoints(x, y, glide) {
    const [oldX, oldY, old] = [this.x, this.y, { ...this.view }];
    const same = oldX.length === x.length && x.length > 0;
    Object.assign(this, { x, y, drawn: null });
    if (!this.moved || !same) this.showAll();
    cancelAnimationFrame(this.gliding);
    if (!same || !glide || this.app.still.matches || !this.width) {
      this.draw();
      return;
    }
    const begin = performance.now();
    this.target = { ...this.view }; // until the user moves the map
    const step = (now) => {
      const t = clamp((now - begin) / GLIDE, 0, 1);
      const s = t * t * (3 - 2 * t);
      this.drawn = t < 1 ? [blend(oldX, x, s), blend(oldY, y, s)] : null;
      for (const [key, end] of Object.entries(this.target || {})) this.view[key] = old[key] + (end - old[key]) * s;
      this.draw();
      if (t < 1) this.gliding = requestAnimationFrame(step);
    };
    this.gliding = requestAnimationFrame(step);
  }

  showAll() {
    Object.assign(this, { moved: false, target: null });
    if (!this.x.length || !this.width) return;
    const [[x0, x1], [y0, y1]] = [ends(this.x), ends(this.y)];
    const room = Math.min((this.width - 50) / (x1 - x0 || 1e-9), (this.height - 70) / (y1 - y0 || 1e-9));
    this.view = { x: (x0 + x1) / 2, y: (y0 + y1) / 2, scale: Math.min(room, 1e12) };
  }

  toScreen(x, y) {
    return [this.width / 2 + (x - this.view.x) * this.view.scale, this.height / 2 - (y - this.view.y) * this.view.scale];
  }
  toData(px, py) {
    return [this.view.x + (px - this.width / 2) / this.view.scale, this.view.y - (py - this.height / 2) / this.view.scale];
  }
  place(i) {
    return this.toScreen(this.x[i], this.y[i]);
  }
  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.toData(px, py);
    this.view.scale *= factor;
    this.view.x = x - (px - this.width / 2) / this.view.scale;
    this.view.y = y + (py - this.height / 2) / this.view.scale;
    this.later();
  }
  pan(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    this.later();
  }
  later() {
    Object.assign(this, { moved: true, target: null });
    this.asked ||= requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  // The point that is nearest to a place on the screen, or −1.
  nearest(px, py, within = NEAR) {
    const [x, y] = this.toData(px, py);
    let [best, found] = [(within / this.view.scale) ** 2, -1];
    for (let i = 0; i < this.x.length; i++) {
      const d = (this.x[i] - x) ** 2 + (this.y[i] - y) ** 2;
      if (d < best) [best, found] = [d, i];
    }
    return found;
  }
  // The nearest point in a direction, within a right angle around it.
  toward(from, dx, dy) {
    if (from < 0) return this.nearest(this.width / 2, this.height / 2, Infinity);
    let [best, found] = [Infinity, from];
    for (let i = 0; i < this.x.length; i++) {
      const [ax, ay] = [this.x[i] - this.x[from], this.y[i] - this.y[from]];
      const [along, aside] = [ax * dx + ay * dy, Math.abs(ax * dy - ay * dx)];
      if (along > 0 && aside <= along && along + 2 * aside < best) [best, found] = [along + 2 * aside, i];
    }
    return found;
  }
  inside(polygon) {
    const corners = polygon.map(([px, py]) => this.toData(px, py));
    const found = [];
    for (let i = 0; i < this.x.length; i++) {
      const [x, y] = [this.x[i], this.y[i]];
      let odd = false;
      for (let a = 0, b = corners.length - 1; a < corners.length; b = a++) {
        const [[ax, ay], [bx, by]] = [corners[a], corners[b]];
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
      }
      if (odd) found.push(i);
    }
    return found;
  }

  draw() {
    if (!this.image) return;
    const { colours, dimmed, chosen, theme, thumbnails } = this.app;
    const [x, y] = this.drawn || [this.x, this.y];
    const pixels = new Uint32Array(this.image.data.buffer).fill(abgr(theme.paper));
    if (colours.length === x.length) {
      const disc = stamp(clamp(4.2 - Math.log10(Math.max(1, x.length)) * 0.62, 1, 3.2) * this.ratio, x.length < MANY);
      if (chosen) this.raster(pixels, x, y, dimmed, disc, chosen, 0);
      this.raster(pixels, x, y, colours, disc, chosen, 1);
    }
    const paint = this.base.getContext("2d");
    paint.putImageData(this.image, 0, 0);
    if (thumbnails && this === this.app.map) for (const [i, picture] of thumbnails) this.thumbnail(paint, i, picture);
    this.mark();
  }

  raster(pixels, x, y, colours, { reach, offsets, cover }, chosen, wanted) {
    const [w, h] = [this.base.width, this.base.height];
    const k = this.view.scale * this.ratio;
    const [ox, oy] = [w / 2 - this.view.x * k, h / 2 + this.view.y * k];
    const bytes = this.image.data;
    for (let i = 0; i < x.length; i++) {
      if (chosen && chosen[i] !== wanted) continue;
      const px = Math.round(ox + x[i] * k);
      const py = Math.round(oy - y[i] * k);
      if (!(px >= reach && py >= reach && px < w - reach && py < h - reach)) continue;
      const colour = colours[i];
      const centre = py * w + px;
      for (let j = 0; j < cover.length; j++) {
        const at = centre + offsets[2 * j] + offsets[2 * j + 1] * w;
        const a = cover[j];
        if (a === 1) pixels[at] = colour;
        else for (let c = 0; c < 3; c++) bytes[4 * at + c] += (((colour >> (8 * c)) & 255) - bytes[4 * at + c]) * a;
      }
    }
  }

  thumbnail(paint, i, picture) {
    const [size, [px, py]] = [THUMBNAIL * this.ratio, this.place(i)];
    framed(paint, picture, px * this.ratio - size / 2, py * this.ratio - size / 2, size, cssOf(this.app.colours[i]), 1.5 * this.ratio);
  }

  // Pins, the row in focus, lasso, walk, and the point whose pre-image is shown.
  mark() {
    const { app } = this;
    const paint = this.over.getContext("2d");
    const ink = cssOf(abgr(app.theme.ink));
    const known = (i) => i >= 0 && i < this.x.length;
    paint.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    paint.clearRect(0, 0, this.width, this.height);
    if (known(app.focus)) stroke(paint, ink, 2, () => paint.arc(...this.place(app.focus), 6, 0, 7));
    app.pins.filter(known).forEach((i, k) => {
      const [[px, py], colour] = [this.place(i), app.theme["AB"[k]]];
      stroke(paint, colour, 3, () => paint.arc(px, py, 9, 0, 7));
      Object.assign(paint, { font: "600 13px system-ui, sans-serif", fillStyle: colour });
      paint.fillText("AB"[k], px + 12, py - 8);
    });
    if (this === app.map) {
      this.markLasso(paint, ink);
      this.markWalk(paint, ink);
      if (app.probe) this.markPoint(paint, ink, this.toScreen(...app.probe.at), app.probe.picture);
    }
    if (known(app.hovered) && app.tool !== "back") this.markHover(paint, ink);
  }

  markLasso(paint, ink) {
    const { lasso, cross, tracing } = this.app;
    if (lasso.length) {
      stroke(paint, ink, 1.5, () => {
        [...lasso, ...(cross && !tracing ? [cross] : [])].forEach(([px, py]) => paint.lineTo(px, py));
        paint.closePath();
      });
      Object.assign(paint, { globalAlpha: 0.1, fillStyle: ink }).fill();
      paint.globalAlpha = 1;
    }
    if (cross) this.markPoint(paint, ink, cross);
  }

  markWalk(paint, ink) {
    const { steps, path, walkSlider } = this.app;
    if (!steps) return;
    paint.setLineDash([4, 4]);
    stroke(paint, ink, 1.5, () => path.x.forEach((x, i) => paint.lineTo(...this.toScreen(x, path.y[i]))));
    paint.setLineDash([]);
    const i = Number(walkSlider.value);
    this.markPoint(paint, ink, this.toScreen(path.x[i], path.y[i]), this.app.pictureOf(steps[i].values));
  }

  markPoint(paint, ink, [px, py], picture) {
    stroke(paint, ink, 2, () => {
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        paint.moveTo(px + 4 * dx, py + 4 * dy);
        paint.lineTo(px + 12 * dx, py + 12 * dy);
      }
    });
    if (picture) this.markPicture(paint, picture, px, py, this.app.theme.A);
  }

  markHover(paint, ink) {
    const { app } = this;
    const [[px, py], told, text] = [this.place(app.hovered), app.told.get(app.rowOf(app.hovered)), app.wordOf(app.hovered)];
    const picture = told && !app.steps && this === app.map ? app.pictureOf(told.cells) : null;
    if (picture) this.markPicture(paint, picture, px, py, cssOf(app.colours[app.hovered]));
    paint.font = "12.5px system-ui, sans-serif";
    const wide = paint.measureText(text).width;
    const [left, top] = [clamp(px - wide / 2, 4, this.width - wide - 4), py > 30 ? py - 14 : py + 24];
    Object.assign(paint, { fillStyle: cssOf(abgr(app.theme.paper)), globalAlpha: 0.85 }).fillRect(left - 3, top - 13, wide + 6, 17);
    Object.assign(paint, { fillStyle: ink, globalAlpha: 1 }).fillText(text, left, top);
  }

  markPicture(paint, picture, px, py, colour) {
    const size = 84;
    const left = px + size + 30 < this.width ? px + 16 : px - size - 16;
    framed(paint, picture, left, clamp(py - size / 2, 4, this.height - size - 4), size, colour, 2);
  }
}

function stroke(paint, colour, width, trace) {
  paint.beginPath();
  trace();
  Object.assign(paint, { strokeStyle: colour, lineWidth: width }).stroke();
}
function framed(paint, picture, left, top, size, colour, width) {
  const box = [left, top, size, (size * picture.height) / picture.width];
  paint.imageSmoothingEnabled = false;
  paint.drawImage(picture, ...box);
  stroke(paint, colour, width, () => paint.rect(...box));
}
const STAMPS = new Map();
function stamp(radius, soft) {
  const key = `${Math.round(4 * radius)} ${soft}`;
  if (STAMPS.has(key)) return STAMPS.get(key);
  const reach = Math.ceil(radius);
  const [offsets, cover] = [[], []];
  for (let dy = -reach; dy <= reach; dy++)
    for (let dx = -reach; dx <= reach; dx++) {
      const inside = clamp(radius + 0.5 - Math.hypot(dx, dy), 0, 1);
      const a = soft ? inside : Math.round(inside);
      if (a > 0.02) {
        offsets.push(dx, dy);
        cover.push(a);
      }
    }
  STAMPS.set(key, { reach, offsets: Int32Array.from(offsets), cover: Float32Array.from(cover) });
  return STAMPS.get(key);
}

// Numbers as a picture: `low` is the paper, `high` the ink.
function drawPicture(values, [height, width], [low, high], paper, ink) {
  const canvas = make("canvas", { width, height, role: "img", "aria-label": "picture" });
  const paint = canvas.getContext("2d");
  const image = paint.createImageData(width, height);
  const shade = (value) => abgr(mixed(paper, ink, clamp((value - low) / (high - low || 1), 0, 1)));
  new Uint32Array(image.data.buffer).set(Array.from(values, shade));
  paint.putImageData(image, 0, 0);
  return canvas;
}

class App {
  constructor(link, el) {
    this.link = link;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.helpId = `mx-help-${Math.random().toString(36).slice(2)}`;
    Object.assign(this, { colours: new Uint32Array(0), dimmed: new Uint32Array(0), theme: { paper: [255, 255, 255], ink: [0, 0, 0] } });
    Object.assign(this, { pictures: new Map(), told: new Map(), tool: "look", recipeKind: "python", picked: [] });
    this.reset();
    const kinds = ["fit", "map", "novelty", "colour", "linear", "scree", "row", "pictures", "back", "walk"];
    const failed = (error, kind) => this.failed(error, kind);
    this.lines = Object.fromEntries(kinds.map((kind) => [kind, new Line((...args) => link.ask(...args), kind, failed)]));
    this.build(el);
    this.retheme();
    this.dark.addEventListener("change", (this.onTheme = () => this.retheme()));
    if (link.watch) link.watch((busy) => this.showBusy(busy), () => this.ended());
    this.attempt((info) => this.opened(info), "open", {});
  }

  // What belongs to one table.
  reset() {
    Object.assign(this, { pins: [], focus: -1, hovered: -1, lasso: [], tracing: false, cross: null, probe: null, steps: null, path: null,
      chosen: null, thumbnails: null, axes: [0, 1], numbers: null, straightShares: null });
  }

  // The parts of the page

  build(el) {
    this.title = make("h1", {}, "mercer explore");
    this.about = make("span", { class: "soft small" });
    this.errorText = make("span", { class: "grow" });
    this.error = make("div", { class: "error", role: "alert", hidden: true }, this.errorText, button("Close", () => (this.error.hidden = true)));
    this.file = make("input", { type: "file", accept: ".csv,text/csv", hidden: true, "aria-label": "A CSV file",
      onchange: () => this.openFile(this.file.files[0]) });
    this.map = new Plot(this, "Map of the rows");
    this.straight = new Plot(this, "Linear PCA of the same rows");
    this.straight.node.hidden = true;
    [this.legend, this.notes] = [make("div", { class: "legend", "aria-hidden": "true" }), make("div", { class: "notes", role: "note" })];
    this.map.node.append(this.legend, this.notes);
    this.plots = make("div", { class: "plots" }, this.map.node, this.straight.node);
    this.status = make("span", { role: "status" }, "Reading the table …");
    this.progress = make("progress", { max: 1, value: 0, hidden: true, "aria-label": "How far the computation is" });
    this.stopButton = button("Stop", () => this.link.ask("stop", {}).catch(() => {}), { hidden: true });
    this.live = make("div", { class: "hidden", "aria-live": "polite" });
    const side = (name, label, ...cards) => make("div", { class: `side ${name}`, role: "region", "aria-label": label }, cards);
    const stage = make("main", { class: "stage" }, this.buildBar(), this.plots, make("div", { class: "under" }, this.status, this.progress, this.stopButton));
    this.unready = [this.buildScree(), this.buildAlarm(), this.buildOut(), this.plots]; // they need a model
    this.body = make("div", { class: "body" }, side("fit", "Model", this.buildFit(), this.unready.slice(0, 3)), stage, side("row", "Row", this.buildRow()));
    for (const part of [this.body, ...this.unready]) part.inert = true;
    const open = button("Open CSV …", () => this.file.click(), { hidden: !this.link.watch });
    this.root = make("div", { class: `mx ${this.link.watch ? "" : "widget"}` }, make("div", { class: "inner" },
      make("header", {}, this.title, this.about, make("span", { class: "grow" }), open, this.file), this.error,
      this.body,
      make("div", { class: "hidden", id: this.helpId }, HELP), this.live));
    for (const plot of [this.map, this.straight]) this.listenTo(plot);
    this.keys = this.link.watch ? document : this.root; // in a notebook, only what is typed inside
    this.keys.addEventListener("keydown", (this.onKey = (event) => this.key(event)));
    if (this.link.watch) this.listenForFiles();
    el.append(this.root);
  }

  buildBar() {
    const tool = (name, label, key) => button(label, () => this.setTool(name), { "aria-pressed": String(name === this.tool), title: `${label} (key ${key})`, "data-tool": name });
    const toggle = (label, title, onclick) => button(label, onclick, { "aria-pressed": "false", title });
    this.tools = make("div", { class: "tools", role: "group", "aria-label": "What dragging does" }, tool("look", "Look", 1), tool("lasso", "Lasso", 2), tool("back", "Back to data", 3));
    this.axisSelects = ["Horizontal component", "Vertical component"].map((label) => make("select", { "aria-label": label, onchange: () => this.setAxes() }));
    this.colourBy = make("select", { "aria-label": "Colour by", onchange: () => this.recolour() });
    this.linearButton = toggle("Linear PCA", "Linear PCA of the same rows beside it (key L)", () => this.toggleLinear());
    this.pictureButton = toggle("Pictures", "Pictures on the map (key I)", () => this.toggleThumbnails());
    const all = button("All", () => this.showAll(), { title: "Show all rows (key 0)", "aria-label": "Show all rows" });
    return make("div", { class: "bar" }, this.tools, all, this.axisSelects, make("label", { class: "small soft" }, "colour ", this.colourBy), this.linearButton, this.pictureButton);
  }

  buildFit() {
    const refit = () => this.refit();
    const line = (text, input) => make("label", { class: "line" }, text, input);
    const select = (label) => make("select", { "aria-label": label, onchange: refit });
    [this.modelSelect, this.kernelSelect] = [select("Model"), select("Kernel")];
    for (const [name, [label]] of Object.entries(SLIDERS)) {
      this[name] = make("input", { type: "range", "aria-label": label, oninput: refit });
      this[`${name}Text`] = make("span");
      this[`${name}Line`] = line(this[`${name}Text`], this[name]);
    }
    this.degreeLine.hidden = this.clustersLine.hidden = true;
    this.widthLine = make("div", {}, this.widthLine, make("div", { class: "mark", "aria-hidden": "true" }, make("span", {}, "│ median")));
    this.scale = make("input", { type: "checkbox", "aria-label": "Scale columns to mean 0 and variance 1", onchange: refit });
    [this.facts, this.warnings] = [make("dl"), make("div", { class: "warn" })];
    return make("section", {}, make("h2", {}, "Fit"), line(make("span", {}, "Model"), this.modelSelect), line(make("span", {}, "Kernel"), this.kernelSelect),
      this.widthLine, this.degreeLine, this.componentsLine, this.clustersLine, line(make("span", {}, "Scale"), this.scale), this.facts, this.warnings);
  }

  buildScree() {
    this.screeBox = make("div", { class: "chart", onclick: (event) => this.clickScree(event) });
    return make("section", {}, make("h2", {}, "Variance"), this.screeBox,
      make("p", { class: "small soft" }, "Bars: shares of the variance in feature space. Line: linear PCA, of the data's. A click sets the number."));
  }

  buildAlarm() {
    const drag = (event) => (event.type === "pointerdown" || event.buttons) && this.dragLimit(event);
    this.alarmBox = make("div", { class: "chart", onpointerdown: drag, onpointermove: drag });
    this.limit = make("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": "Limit of the novelty", oninput: () => this.showAlarm() });
    this.alarmText = make("p", { class: "small" });
    this.flagButton = button("Show these", () => this.showFlagged());
    return make("section", {}, make("h2", {}, "Alarm"), this.alarmBox, this.limit, this.alarmText, this.flagButton);
  }

  buildOut() {
    this.selectedText = make("p", { class: "small soft" });
    this.rowsButton = button("Rows (CSV)", () => this.export("rows", { rows: this.picked }));
    this.modelButton = button("Model (.mercer)", () => this.export("save", {}));
    this.recipe = make("pre", { tabindex: "0", "aria-label": "Lines that make the same model" });
    const tab = (kind, label) => button(label, () => this.showRecipe(kind), { "data-kind": kind });
    this.recipeTabs = make("div", { class: "tools", role: "group", "aria-label": "Recipe as" }, tab("python", "Python"), tab("command", "Command"));
    const copy = button("Copy", () => navigator.clipboard.writeText(this.recipe.textContent).then(() => this.say("Copied."), () => this.say("The browser does not allow copying: select the lines.")));
    return make("section", {}, make("h2", {}, "Out"), this.selectedText, make("div", { class: "buttons" }, this.rowsButton, this.modelButton),
      make("div", { class: "buttons" }, this.recipeTabs, copy), this.recipe);
  }

  buildRow() {
    this.details = make("div", { class: "details" });
    this.walkSlider = make("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": "Where on the walk from A to B", oninput: () => this.pause() });
    this.walkButton = button("Walk from A to B", () => this.play(), { title: "Walk from A to B (key W)" });
    this.walkBox = make("div", { class: "walk", hidden: true }, make("div", { class: "buttons" }, this.walkButton, button("Unpin", () => this.unpin())), this.walkSlider);
    return make("section", {}, this.walkBox, this.details);
  }

  // Events

  listenForFiles() {
    const drop = (over) => (event) => {
      event.preventDefault();
      this.root.classList.toggle("dropping", over);
      if (event.type === "drop") this.openFile(event.dataTransfer.files[0]);
    };
    for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) this.root.addEventListener(name, drop(over));
  }

  listenTo(plot) {
    const { over } = plot;
    const touching = new Map(); // fingers, or the mouse
    let [begun, before, moved, pinch] = [null, null, false, null];
    const place = (event) => {
      const box = over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const down = (event) => {
      over.setPointerCapture(event.pointerId);
      over.focus({ preventScroll: true });
      touching.set(event.pointerId, place(event));
      pinch = null;
      if (touching.size > 1) {
        Object.assign(this, { lasso: [], tracing: false }); // two fingers zoom, whatever the tool is
        return;
      }
      [begun, before, moved] = [place(event), place(event), false];
      if (this.tool === "lasso" && plot === this.map) Object.assign(this, { lasso: [begun], tracing: true, cross: null });
      if (this.tool === "back" && plot === this.map) this.beginBack(begun);
    };
    const two = () => {
      const [[ax, ay], [bx, by]] = touching.values();
      const now = [Math.hypot(ax - bx, ay - by), (ax + bx) / 2, (ay + by) / 2];
      if (pinch) {
        plot.zoom(now[0] / pinch[0], now[1], now[2]);
        plot.pan(now[1] - pinch[1], now[2] - pinch[2]);
      }
      [pinch, moved] = [now, true];
    };
    const move = (event) => {
      const now = place(event);
      if (touching.has(event.pointerId)) touching.set(event.pointerId, now);
      if (touching.size === 2) two();
      else if (!begun) this.hover(plot.nearest(...now));
      else if (this.tracing) {
        this.lasso.push(now);
        plot.mark();
      } else if (this.tool === "back" && plot === this.map) this.backTo(plot.toData(...now));
      else {
        moved ||= Math.hypot(now[0] - begun[0], now[1] - begun[1]) > 3; // pixels of an unsteady hand
        if (moved) plot.pan(now[0] - before[0], now[1] - before[1]);
        before = now;
      }
    };
    const end = (event) => {
      touching.delete(event.pointerId);
      if (!begun || touching.size) return;
      if (this.tracing) this.closeLasso();
      else if (!moved && this.tool === "look") this.pin(plot.nearest(...place(event), 2 * NEAR));
      begun = null;
    };
    const wheel = (event) => {
      event.preventDefault();
      plot.zoom(Math.exp(-event.deltaY * 0.0016), ...place(event)); // a usual step of the wheel is a fifth
    };
    const leave = () => this.hover(-1);
    const back = () => this.tool === "look" && this.showAll();
    const handlers = { pointerdown: down, pointermove: move, pointerup: end, pointercancel: end, pointerleave: leave, wheel, dblclick: back };
    for (const [name, handler] of Object.entries(handlers)) over.addEventListener(name, handler, { passive: false });
  }

  key(event) {
    if (!this.model || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const plot = [this.straight, this.map].find((item) => item.over === event.target);
    const [larger, smaller] = [() => (plot || this.map).zoom(1.25), () => (plot || this.map).zoom(0.8)];
    const anywhere = { 1: () => this.setTool("look"), 2: () => this.setTool("lasso"), 3: () => this.setTool("back"), 0: () => this.showAll(),
      l: () => this.toggleLinear(), i: () => this.pictureButton.disabled || this.toggleThumbnails(), w: () => this.pins.length === 2 && this.play(),
      escape: () => this.clear(), "+": larger, "=": larger, "-": smaller };
    const onMap = { enter: () => (this.tool === "lasso" ? this.closeLasso() : this.tool === "look" && this.pin(this.focus)),
      " ": () => this.tool === "lasso" && this.cross && this.lasso.push([...this.cross]) };
    const name = event.key.toLowerCase();
    if (anywhere[name]) anywhere[name]();
    else if (plot && arrows[event.key]) this.arrow(plot, arrows[event.key], event.shiftKey);
    else if (plot && onMap[name]) onMap[name]();
    else return;
    event.preventDefault();
    this.map.mark();
  }

  arrow(plot, [dx, dy], shift) {
    const step = shift ? 32 : 8; // pixels
    if (this.tool === "look" && shift) plot.pan(-step * dx, step * dy);
    else if (this.tool === "look") {
      this.focus = plot.toward(this.focus, dx, dy);
      this.hover(this.focus);
    } else if (this.tool === "lasso") {
      const [px, py] = this.cross || [plot.width / 2, plot.height / 2];
      this.cross = [clamp(px + dx * step, 0, plot.width), clamp(py - dy * step, 0, plot.height)];
    } else {
      if (!this.probe) this.beginBack([this.map.width / 2, this.map.height / 2]);
      const [px, py] = this.map.toScreen(...this.probe.at);
      this.backTo(this.map.toData(px + dx * step, py - dy * step));
    }
  }

  // The session

  opened(info) {
    this.info = info;
    this.body.inert = false;
    this.reset();
    this.pictures.clear();
    this.choose([]);
    Object.assign(this.title, { textContent: info.name.split(/[\\/]/).pop(), title: info.name });
    this.about.textContent = `${count(info.rows, "row")} × ${count(info.columns.length, "column")}`;
    fill(this.notes, info.notes.map((text) => make("p", {}, text)));
    const options = (select, names) => fill(select, names.map((name) => make("option", { value: name }, LABELS[name] || name)));
    options(this.modelSelect, info.models);
    options(this.kernelSelect, info.kernels);
    for (const [name, [min, max, step]] of Object.entries(info.ranges)) Object.assign(this[name], { min, max, step });
    this.showSettings(info.settings);
    fill(this.colourBy, make("option", { value: "none" }, "nothing"), make("option", { value: "novelty" }, "novelty"),
      make("option", { value: "prediction", hidden: true }, "prediction"), info.colours.map((name, i) => make("option", { value: `column ${i}` }, name)));
    this.colourBy.value = info.colours.includes(info.target) ? `column ${info.colours.indexOf(info.target)}` : "none";
    this.pictureButton.disabled = !info.image;
    press(this.pictureButton, false);
    this.showDetails();
    if (info.drawn < info.rows) this.attempt((answer) => (this.numbers = answer.arrays[0]), "drawn", {});
    if (info.model) this.lines.map.send({ model: info.model, axes: this.axes }, (answer) => this.fitted(answer));
    else this.refit();
  }

  showSettings(settings) {
    [this.modelSelect.value, this.kernelSelect.value, this.scale.checked] = [settings.model, settings.kernel, settings.scale];
    for (const name of Object.keys(SLIDERS)) this[name].value = name === "width" ? Math.log10(settings.width) : settings[name];
    this.labelSettings();
  }
  settings() {
    const numbers = Object.fromEntries(Object.keys(SLIDERS).map((name) => [name, Number(this[name].value)]));
    return { model: this.modelSelect.value, kernel: this.kernelSelect.value, ...numbers, width: 10 ** numbers.width, scale: this.scale.checked };
  }
  labelSettings() {
    for (const [name, [label, text]] of Object.entries(SLIDERS)) {
      this[`${name}Text`].textContent = text(this[name].value);
      this[name].setAttribute("aria-valuetext", `${label}: ${name === "width" ? figure(10 ** this.width.value, 3) : this[name].value}`);
    }
    this.widthLine.hidden = !this.info.wide.includes(this.kernelSelect.value);
    this.degreeLine.hidden = this.kernelSelect.value !== "poly";
    this.clustersLine.hidden = this.modelSelect.value !== "mixture";
  }

  refit() {
    this.labelSettings();
    this.status.textContent = "Fitting …";
    this.lines.fit.send({ settings: this.settings(), axes: this.axes }, (answer) => this.fitted(answer));
  }

  fitted(answer) {
    const [x, y] = answer.arrays;
    const { model, shares, axes } = answer;
    this.error.hidden = true;
    for (const part of this.unready) part.inert = false;
    for (const kind of ["row", "back", "walk"]) this.lines[kind].next = null;
    Object.assign(this, { model: answer, axes, path: null, steps: null });
    this.told.clear();
    this.fillAxes();
    const prediction = this.colourBy.querySelector("option[value=prediction]");
    Object.assign(prediction, { hidden: !answer.predicts, textContent: answer.predicts || "prediction" });
    if (!answer.predicts && this.colourBy.value === "prediction") this.colourBy.value = "none";
    if (this.colours.length !== x.length) this.plain(x.length);
    this.map.setPoints(x, y, true);
    this.map.name.textContent = axes.map((j) => `component ${j + 1} (${percent(shares[j] || 0)})`).join(" × ");
    this.showFacts(answer);
    this.recolour();
    this.drawScree(shares);
    this.lines.novelty.send({ model }, (found) => this.gotNovelty(found));
    this.lines.linear.send({ model }, (found) => this.gotLinear(found));
    this.lines.scree.send({ model }, (found) => answer === this.model && this.drawScree(found.shares));
    for (const i of this.pins) this.askRow(i);
    if (this.probe) this.backTo(this.probe.at);
    this.showPins();
    this.showRecipe();
    this.showSelected();
  }

  showFacts(model) {
    const facts = { Kernel: model.kernel.replace(/(\d\.\d{4})\d+/g, "$1…"), Holds: `${percent(sum(model.shares))} of the variance in feature space` };
    if (!model.settings) facts.Model = `${model.kind}, as it was given; a control refits it`;
    if (this.straightShares) facts["Linear PCA"] = `${percent(sum(this.straightShares))} of the data's variance, ${count(this.straightShares.length, "component")}`;
    facts["Found by"] = `${model.solver}, ${count(model.passes || 0, "pass", "passes")}, ${count(model.anchors, "anchor")}`;
    if (model.outside > 0) facts.Outside = `${percent(model.outside)} of the variance lies outside the landmarks`;
    if (model.standIn) facts.Map = "the kernel PCA of the rows with the model's kernel";
    fill(this.facts, Object.entries(facts).map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
    fill(this.warnings, model.warnings.map((text) => make("p", {}, text)));
    this.status.textContent = `${model.settings ? "Fitted" : "Mapped"} in ${figure(model.seconds, 2)} s`;
    if (model.components === 0) this.fail("The rows are all alike: no component holds any variance. Choose other columns.");
  }

  fillAxes() {
    this.axisSelects.forEach((select, k) => {
      fill(select, Array.from({ length: Math.max(2, this.model.components) }, (_, j) => make("option", { value: j }, `${"xy"[k]}: ${j + 1}`)));
      select.value = this.axes[k];
    });
  }
  setAxes() {
    this.axes = this.axisSelects.map((select) => Number(select.value));
    this.probe = null;
    this.lines.map.send({ model: this.model.model, axes: this.axes }, (answer) => this.fitted(answer));
  }
  rowOf(i) {
    return this.numbers ? this.numbers[i] : i;
  }

  // Colours

  plain(n) {
    Object.assign(this, { values: null, words: null });
    this.paint(new Uint32Array(n).fill(abgr(rgb(PALETTE[0]))));
  }
  paint(colours) {
    this.colours = colours;
    this.dimmed = colours.map((colour) => abgr(mixed(parts(colour), this.theme.paper, 0.84)));
  }

  recolour() {
    if (!this.model) return;
    const by = this.colourBy.value;
    if (by === "none") {
      this.plain(this.map.x.length);
      fill(this.legend);
      this.redraw();
      return;
    }
    const wanted = by.startsWith("column") ? { column: this.info.colours[Number(by.slice(7))] } : by;
    this.lines.colour.send({ model: this.model.model, by: wanted }, ({ words, ends: [low, high], arrays: [values] }) => {
      if (values.length !== this.map.x.length) return;
      Object.assign(this, { values, words });
      const kinds = PALETTE.map((hex) => abgr(rgb(hex)));
      const shade = (v) => (words ? kinds[v % kinds.length] : RAMP_SHADES[Math.round(255 * clamp((v - low) / (high - low || 1), 0, 1))]);
      this.paint(Uint32Array.from(values, (v) => (Number.isNaN(v) ? abgr(rgb(MISSING)) : shade(v))));
      this.drawLegend(low, high);
      this.redraw();
    });
  }

  drawLegend(low, high) {
    if (this.words) {
      const some = this.words.slice(0, 12); // more would cover the map
      const chips = some.map((word) => make("span", {}, make("i"), word));
      chips.forEach((chip, i) => (chip.firstChild.style.background = PALETTE[i % PALETTE.length]));
      fill(this.legend, chips, this.words.length > some.length ? `and ${this.words.length - some.length} more` : null);
      return;
    }
    const scale = make("canvas", { width: RAMP_SHADES.length, height: 1 });
    const image = new ImageData(new Uint8ClampedArray(RAMP_SHADES.buffer.slice(0)), RAMP_SHADES.length, 1);
    scale.getContext("2d").putImageData(image, 0, 0);
    fill(this.legend, make("span", {}, figure(low, 3), scale, figure(high, 3)));
  }

  retheme() {
    if (!this.root?.isConnected) return; // a notebook's cell is filled before it is shown
    const numbers = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
    const style = (name) => getComputedStyle(this.root.appendChild(make("i", { class: name })));
    this.theme = { paper: numbers(style("paper").backgroundColor), ink: numbers(style("paper").color), A: style("A").color, B: style("B").color };
    for (const probe of this.root.querySelectorAll(":scope > i")) probe.remove();
    this.paint(this.colours);
    this.pictures.clear();
    if (this.thumbnails) this.makeThumbnails();
    this.redraw();
    this.showDetails();
  }
  redraw() {
    this.map.draw();
    if (!this.straight.node.hidden) this.straight.draw();
  }
  wordOf(i) {
    const value = this.values ? this.values[i] : NaN;
    const word = this.words ? this.words[value] : Number.isNaN(value) ? "" : figure(value);
    return `row ${this.rowOf(i)}${word ? ` · ${word}` : ""}`;
  }

  // Rows

  hover(i) {
    if (i === this.hovered || !this.model) return;
    this.hovered = i;
    if (i >= 0 && this.tool !== "back") {
      this.askRow(i);
      clearTimeout(this.speaking);
      this.speaking = setTimeout(() => (this.live.textContent = this.wordOf(i)), 300);
    }
    for (const plot of [this.map, this.straight]) if (!plot.node.hidden) plot.mark();
    if (i < 0) this.showDetails();
  }

  askRow(i) {
    const [row, { model }] = [this.rowOf(i), this.model];
    const got = (answer) => {
      if (model !== this.model.model) return;
      this.told.set(answer.row, answer);
      this.showDetails();
      this.map.mark();
    };
    const ask = () => this.lines.row.send({ model, row, causes: true }, got);
    clearTimeout(this.resting);
    if (!this.told.has(row)) this.lines.row.send({ model, row }, got);
    if (!this.told.get(row)?.causes)
      if (this.pins.includes(i)) ask();
      else this.resting = setTimeout(() => (this.hovered === i || this.focus === i) && ask(), PAUSE);
    this.showDetails();
  }

  pin(i) {
    if (i < 0) return;
    this.pins = this.pins.includes(i) ? this.pins.filter((k) => k !== i) : [...this.pins.slice(-1), i];
    this.focus = i;
    this.showPins();
    this.live.textContent = `Row ${this.rowOf(i)} is ${this.pins.includes(i) ? "pinned" : "not pinned any more"}`;
    this.askRow(i);
    this.redraw();
  }
  unpin() {
    this.pins = [];
    this.showPins();
    this.showDetails();
    this.redraw();
  }
  showPins() {
    clearInterval(this.playing);
    Object.assign(this, { path: null, steps: null });
    this.walkBox.hidden = this.pins.length < 1;
    this.walkButton.disabled = this.pins.length < 2;
    this.walkSlider.hidden = true;
  }

  // A canvas for values, or null where rows are not pictures; kept, since the same row is drawn at every move.
  pictureOf(values, range = this.info.range, ink = this.theme.ink) {
    if (!this.info.image) return null;
    if (this.pictures.size > 300) this.pictures.clear();
    if (!this.pictures.has(values)) this.pictures.set(values, drawPicture(values, this.info.image, range, this.theme.paper, ink));
    return this.pictures.get(values);
  }
  figureOf(values, caption, ...more) {
    const [picture, copy] = [this.pictureOf(values, ...more), make("canvas", { role: "img", "aria-label": caption })];
    Object.assign(copy, { width: picture.width, height: picture.height }).getContext("2d").drawImage(picture, 0, 0);
    return make("figure", {}, copy, caption);
  }
  figures(...nodes) {
    return this.info.image ? make("div", { class: "pictures" }, nodes.map((node) => node())) : null;
  }

  showDetails() {
    if (!this.info) return;
    const rows = this.pins.map((i, k) => ({ told: this.told.get(this.rowOf(i)), mark: "AB"[k] })).filter((item) => item.told);
    const at = this.hovered >= 0 ? this.hovered : rows.length ? -1 : this.focus;
    const pointed = at >= 0 && !this.pins.includes(at) ? this.told.get(this.rowOf(at)) : null;
    const shown = pointed && rows.length < 2 ? [...rows, { told: pointed, mark: "" }] : rows;
    if (this.probe?.cells) fill(this.details, this.backNodes(this.probe));
    else if (this.steps) fill(this.details, this.stepNodes(rows));
    else if (shown.length) fill(this.details, shown.map((item) => this.rowNodes(item)), this.picturesOf(shown), this.tableOf(shown));
    else fill(this.details, make("h2", {}, "Row"), make("p", { class: "soft" }, "Point at a row, or move to one with the arrow keys. Click, tap or Enter pins it; pin two to compare them and to walk between them."));
  }

  rowNodes({ told, mark }) {
    const text = [`Novelty ${figure(told.novelty)}, above ${percent(told.below)} of the rows`, `p ${figure(told.p, 3)} (${told.law})`];
    if (told.prediction !== null) text.push(`${this.model.predicts} ${told.prediction}`);
    if (told.target !== null) text.push(`${this.info.target} ${told.target}`);
    return [make("h2", {}, `Row ${told.row} `, mark ? make("span", { class: mark }, mark) : ""), make("p", { class: "small", "data-novelty": told.novelty }, text.join(" · ")),
      told.reason ? make("p", { class: "small soft" }, `No contributions: ${told.reason}`) : null];
  }
  picturesOf(shown) {
    const { causes } = shown[0].told;
    const nodes = shown.map(({ told, mark }) => () => this.figureOf(told.cells, `row ${told.row} ${mark}`));
    if (causes) nodes.push(() => this.figureOf(causes, "contributions", [0, Math.max(...causes, 1e-300)], rgb(PALETTE[1])));
    return this.figures(...nodes);
  }

  tableOf(shown) {
    const { columns, typical } = this.info;
    const { causes } = (shown.find(({ told }) => told.causes) || shown[0]).told;
    const far = (j) => {
      if (causes) return Math.abs(causes[j]);
      const [low, middle, high] = typical[j] || [0, 0, 1];
      return Math.max(...shown.map(({ told }) => (typeof told.cells[j] === "number" ? Math.abs(told.cells[j] - middle) / (high - low || 1) : 0)));
    };
    const order = columns.map((_, j) => j).sort((a, b) => far(b) - far(a)).slice(0, SHOWN);
    const most = causes ? Math.max(...causes.map(Math.abs), 1e-300) : 1;
    const adds = shown.length > 1 ? `adds, ${shown.find(({ told }) => told.causes)?.mark}` : "contribution";
    const head = [make("th", {}, "column"), shown.map(({ mark }) => make("th", {}, make("span", { class: mark || false }, mark || "value"))),
      make("th", { class: "chart" }, "typical"), causes ? make("th", { class: "chart" }, adds) : null];
    const line = (j) => make("tr", {}, make("td", { title: columns[j] }, columns[j]), shown.map(({ told }) => make("td", {}, figure(told.cells[j], shown.length > 1 ? 3 : 4))),
      make("td", { class: "chart" }, typical[j] ? rangeChart(typical[j], shown.map(({ told }) => told.cells[j])) : "words"),
      causes ? make("td", { class: "chart" }, causeChart(causes[j], most)) : null);
    const more = columns.length > order.length ? make("p", { class: "small soft" }, `The ${order.length} that stand out most, of ${columns.length} columns.`) : null;
    return [make("table", { class: shown.length > 1 ? "two" : false }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, order.map(line))), more];
  }

  // Back to the data

  beginBack(place) {
    const i = this.map.nearest(...place);
    this.probe = { row: i >= 0 ? this.rowOf(i) : null };
    this.backTo(this.map.toData(...place));
  }
  backTo(at) {
    this.probe.at = at;
    this.map.mark();
    this.lines.back.send({ model: this.model.model, axes: this.axes, at, row: this.probe.row }, ({ cells, error, share, arrays: [values] }) => {
      if (!this.probe) return;
      Object.assign(this.probe, { cells, error, share, values, found: at, picture: this.pictureOf(values) });
      this.live.textContent = `Pre-image found, error ${figure(error, 3)}`;
      this.showDetails();
      this.map.mark();
    });
  }
  backNodes({ row, cells, found, error, share, values }) {
    const rest = row === null ? "as in the 10 nearest rows" : `as in row ${row}`;
    const text = `Pre-image at (${found.map((v) => figure(v, 3)).join(", ")}): squared error ${figure(error)}, ${percent(share)} of the variance. Other components ${rest}.`;
    return [make("h2", {}, "Back to data"), make("p", { class: "small", "data-error": error }, text), this.figures(() => this.figureOf(values, "pre-image")), this.tableOf([{ told: { cells }, mark: "" }])];
  }

  play() {
    clearInterval(this.playing);
    if (this.steps) {
      this.begin();
      return;
    }
    this.lines.walk.send({ model: this.model.model, axes: this.axes, rows: this.pins.map((i) => this.rowOf(i)) }, ({ cells, arrays: [values, x, y] }) => {
      const d = values.length / x.length;
      this.steps = cells.map((row, i) => ({ cells: row, values: values.subarray(i * d, (i + 1) * d) }));
      this.path = { x, y };
      this.begin();
    });
  }
  begin() {
    const last = this.steps.length - 1;
    Object.assign(this.walkSlider, { hidden: false, max: last, value: this.still.matches ? Math.round(last / 2) : 0 });
    this.showStep();
    if (this.still.matches) return;
    this.playing = setInterval(() => {
      if (!this.steps || Number(this.walkSlider.value) >= last) clearInterval(this.playing);
      else this.showStep((this.walkSlider.value = Number(this.walkSlider.value) + 1));
    }, FRAME);
  }
  pause() {
    clearInterval(this.playing);
    this.showStep();
  }
  showStep() {
    this.showDetails();
    this.map.mark();
  }
  stepNodes([a, b]) {
    const [i, n] = [Number(this.walkSlider.value), this.steps.length];
    const end = ({ told, mark }) => () => this.figureOf(told.cells, `row ${told.row} ${mark}`);
    const pictures = a && b ? this.figures(end(a), () => this.figureOf(this.steps[i].values, `step ${i + 1} of ${n}`), end(b)) : null;
    return [make("h2", {}, "Walk"), make("p", { class: "small" }, `Step ${i + 1} of ${n} from A to B: the pre-images of the straight line between them.`),
      pictures, this.tableOf([{ told: { cells: this.steps[i].cells }, mark: "" }])];
  }

  // Selection

  setTool(tool) {
    for (const item of this.tools.children) press(item, item.dataset.tool === tool);
    Object.assign(this, { tool, lasso: [], tracing: false, cross: null, probe: null });
    this.showDetails();
    this.map.mark();
  }
  closeLasso() {
    const corners = this.lasso;
    Object.assign(this, { lasso: [], tracing: false });
    if (corners.length > 2) this.choose(this.map.inside(corners));
    this.map.mark();
  }
  choose(points, rows = points.map((i) => this.rowOf(i))) {
    this.chosen = points.length ? new Uint8Array(this.map.x.length) : null;
    for (const i of points) this.chosen[i] = 1;
    this.picked = rows;
    this.live.textContent = `${count(rows.length, "row")} selected`;
    this.showSelected();
    this.redraw();
  }
  showSelected() {
    const n = this.picked.length;
    this.selectedText.textContent = n ? `${count(n, "row")} selected.` : "No rows selected: use the lasso, or the alarm.";
    this.rowsButton.disabled = !n;
  }
  clear() {
    Object.assign(this, { lasso: [], tracing: false, cross: null, probe: null, focus: -1 });
    this.unpin();
    this.choose([]);
  }
  showAll() {
    this.map.showAll();
    this.straight.showAll();
    this.redraw();
  }

  // Linear PCA beside the map, pictures on it

  gotLinear({ shares, arrays: [x, y] }) {
    this.straightShares = shares;
    this.straight.setPoints(x, y, false);
    this.straight.name.textContent = `linear PCA: component 1 (${percent(shares[0] || 0)}) × component 2 (${percent(shares[1] || 0)})`;
    this.showFacts(this.model);
    this.drawScree(this.screeShares);
  }
  toggleLinear() {
    const shown = this.straight.node.hidden;
    this.straight.node.hidden = !shown;
    this.plots.classList.toggle("two", shown);
    press(this.linearButton, shown);
    for (const plot of [this.map, this.straight]) plot.resize();
  }

  toggleThumbnails() {
    const shown = !this.thumbnails;
    this.thumbnails = null;
    press(this.pictureButton, shown);
    if (shown) this.makeThumbnails();
    else this.redraw();
  }
  makeThumbnails() {
    const cells = new Map(); // at most one picture for each square of the screen
    for (let i = 0; i < this.map.x.length && cells.size < 400; i++) {
      const cell = this.map.place(i).map((value) => Math.round(value / THUMBNAIL / 1.25)).join(" ");
      if (!cells.has(cell)) cells.set(cell, i);
    }
    const [points, { image, range, columns }] = [[...cells.values()], this.info];
    this.lines.pictures.send({ model: this.model.model, rows: points.map((i) => this.rowOf(i)) }, ({ arrays: [values] }) => {
      const part = (k) => values.subarray(k * columns.length, (k + 1) * columns.length);
      this.thumbnails = points.map((i, k) => [i, drawPicture(part(k), image, range, this.theme.paper, this.theme.ink)]);
      this.redraw();
    });
  }

  // Charts

  drawScree(shares) {
    if (!shares) return;
    this.screeShares = shares;
    const [q, straight] = [this.model.components, (this.straightShares || []).slice(0, shares.length)];
    const top = Math.max(...shares, ...straight, 1e-9);
    const step = (WIDE - 4) / shares.length;
    const up = (share) => (share / top) * (HIGH - 22);
    const bars = shares.map((share, j) => make("svg:rect", { x: 2 + j * step, y: HIGH - 14 - Math.max(1, up(share)), width: Math.max(1, step - 1.5), height: Math.max(1, up(share)),
      class: j < q ? "held" : "free" }, make("svg:title", {}, `component ${j + 1}: ${percent(share)}`)));
    const line = straight.map((share, j) => `${2 + (j + 0.5) * step},${HIGH - 14 - up(share)}`).join(" ");
    fill(this.screeBox, chart(`Shares of ${count(shares.length, "component")}; the model has ${q}`, bars, make("svg:polyline", { points: line, class: "straight" }),
      label(2, HIGH - 2, "1"), label(WIDE - 2, HIGH - 2, String(shares.length), "end"), label(WIDE - 2, 10, percent(top), "end")));
  }
  clickScree(event) {
    const box = this.screeBox.getBoundingClientRect();
    const j = Math.floor((((event.clientX - box.left) / box.width) * WIDE - 2) / ((WIDE - 4) / this.screeShares.length));
    this.components.value = clamp(j + 1, 1, this.screeShares.length);
    this.refit();
  }

  gotNovelty(answer) {
    this.alarm = answer;
    Object.assign(this.limit, { max: answer.limits.length - 1, value: answer.start });
    this.showAlarm();
  }
  showAlarm() {
    const { limits, flagged, expected, name, law } = this.alarm;
    const [k, n, low, high] = [Number(this.limit.value), flagged.at(-1) || 1, limits.at(-1), limits[0]];
    const at = (m) => 2 + (Math.log1p(m) / Math.log1p(n)) * (WIDE - 4);
    const up = (v) => HIGH - 14 - ((v - low) / (high - low || 1)) * (HIGH - 22);
    const line = (x1, x2, y1, y2) => make("svg:line", { class: "limit", x1, x2, y1, y2 });
    fill(this.alarmBox, chart("Novelty of all rows, largest first", make("svg:polyline", { class: "curve", points: limits.map((v, j) => `${at(flagged[j])},${up(v)}`).join(" ") }),
      line(0, WIDE, up(limits[k]), up(limits[k])), line(at(flagged[k]), at(flagged[k]), 4, HIGH - 14), label(2, HIGH - 2, "most unusual"), label(WIDE - 2, HIGH - 2, "most usual", "end")));
    this.alarmText.textContent = `Limit ${figure(limits[k])} (${name}) flags ${count(flagged[k], "row")}; ${figure(expected[k], 3)} expected by chance, by ${law}.`;
    this.limit.setAttribute("aria-valuetext", this.alarmText.textContent);
    this.flagButton.disabled = !flagged[k];
  }
  dragLimit(event) {
    const { flagged } = this.alarm;
    const box = this.alarmBox.getBoundingClientRect();
    this.alarmBox.setPointerCapture(event.pointerId); // the chart is drawn anew while it is dragged
    const m = Math.expm1(clamp((event.clientX - box.left) / box.width, 0, 1) * Math.log1p(flagged.at(-1) || 1));
    this.limit.value = flagged.reduce((best, f, j) => (Math.abs(f - m) < Math.abs(flagged[best] - m) ? j : best), 0);
    this.showAlarm();
  }
  showFlagged() {
    const rows = Array.from(this.alarm.arrays[1].subarray(0, this.alarm.flagged[Number(this.limit.value)]));
    const places = this.numbers && new Map(Array.from(this.numbers, (row, i) => [row, i]));
    this.choose(places ? rows.map((row) => places.get(row)).filter((i) => i !== undefined) : rows, rows);
  }

  // Out

  async attempt(done, kind, ...request) {
    try {
      done(await this.link.ask(kind, ...request));
    } catch (error) {
      this.failed(error, kind);
    }
  }
  export(kind, body) {
    this.attempt(({ name, arrays: [bytes] }) => {
      const address = URL.createObjectURL(new Blob([bytes]));
      make("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
      this.say(`${name} is among your downloads.`);
    }, kind, { model: this.model.model, ...body });
  }
  showRecipe(kind = this.recipeKind) {
    this.recipeKind = kind;
    for (const tab of this.recipeTabs.children) press(tab, tab.dataset.kind === kind);
    this.recipe.textContent = this.model.recipe[kind];
  }
  openFile(file) {
    if (!file) return;
    this.status.textContent = "Reading the table …";
    this.file.value = "";
    this.attempt((info) => {
      this.opened(info);
      this.say(`${file.name} is open.`);
    }, "table", file, "text/csv");
  }

  // What is said

  say(text) {
    this.status.textContent = this.live.textContent = text;
  }
  fail(text) {
    this.errorText.textContent = text;
    this.error.hidden = false;
  }
  failed(error, kind) {
    if (error.gone) {
      this.ended();
      return;
    }
    this.fail((error.stopped ? "" : FAILURES[kind] || "") + error.message);
    if (!this.info) this.status.textContent = "";
    this.over ||= error.over;
    if (this.model) this.status.textContent = "The model before is still shown.";
    if (kind === "fit" && this.model?.settings) this.showSettings(this.model.settings);
  }
  ended() {
    if (this.closed) return;
    if (!this.over) this.fail("The server has stopped. Start mercer explore again, and open the address that it prints; this page cannot be used any more.");
    this.progress.hidden = this.stopButton.hidden = true;
    this.status.textContent = "Not connected";
  }
  showBusy(busy) {
    clearTimeout(this.showing);
    const on = busy.kind === "fit" || busy.kind === "table";
    const show = () => (this.progress.hidden = this.stopButton.hidden = !on);
    if (on && this.stopButton.hidden) this.showing = setTimeout(show, 300); // a quick fit shows no progress
    else show();
    this.progress.value = busy.done || 0;
  }

  close() {
    this.closed = true;
    clearInterval(this.playing);
    this.dark.removeEventListener("change", this.onTheme);
    this.keys.removeEventListener("keydown", this.onKey);
    for (const plot of [this.map, this.straight]) plot.sizes.disconnect();
    this.root.remove();
  }
}

const chart = (name, ...parts) => make("svg:svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": name }, parts);
const label = (x, y, text, anchor = "start") => make("svg:text", { x, y, "text-anchor": anchor }, text);

// A value beside the range of 90 % of the rows and their median.
function rangeChart([low, middle, high], values) {
  const numbers = values.filter((value) => typeof value === "number");
  const [from, to] = [Math.min(low, ...numbers), Math.max(high, ...numbers)];
  const at = (value) => 4 + ((value - from) / (to - from || 1)) * 62;
  const name = `90 % of the rows lie from ${figure(low)} to ${figure(high)}, the median is ${figure(middle)}`;
  const dots = values.map((value, k) => (typeof value === "number" ? make("svg:circle", { class: "ab"[k], cx: at(value), cy: 7, r: 3 }) : null));
  return make("svg:svg", { viewBox: "0 0 70 14", role: "img", "aria-label": name }, make("svg:rect", { class: "range", x: at(low), y: 5, width: Math.max(1, at(high) - at(low)), height: 4, rx: 2 }),
    make("svg:line", { class: "middle", x1: at(middle), x2: at(middle), y1: 3, y2: 11 }), dots);
}
function causeChart(value, most) {
  const bar = { class: value < 0 ? "cause less" : "cause", x: 2, y: 4, width: Math.max(0.5, (Math.abs(value) / most) * 66), height: 6, rx: 1 };
  return make("svg:svg", { viewBox: "0 0 70 14", role: "img", "aria-label": figure(value) }, make("svg:rect", bar));
}

// A notebook's widget as a link: questions and answers are its custom messages.
function overWidget(model) {
  const waiting = new Map();
  let number = 0;
  model.on("msg:custom", (message, buffers) => {
    const [done, failed] = waiting.get(message.id) || [];
    waiting.delete(message.id);
    if (!done) return;
    if (message.error) failed(new Error(message.error));
    else done(unpack(buffers[0].buffer.slice(buffers[0].byteOffset, buffers[0].byteOffset + buffers[0].byteLength)));
  });
  return {
    ask: (kind, body) => new Promise((done, failed) => {
      number += 1;
      waiting.set(number, [done, failed]);
      model.send({ id: number, kind, body });
    }),
  };
}

export function render({ model, el }) {
  const app = new App(model.ask ? model : overWidget(model), el);
  el.explorer = app; // for the tests
  return () => app.close();
}

export default { render };
