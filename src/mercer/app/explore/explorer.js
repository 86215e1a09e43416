// The explorer: a map of rows, what is behind each point of it, and the controls of the model.
// `render({ model, el })` draws it into an element; `model` is a link with `ask(kind, body)`, or a notebook's widget.

const PALETTE = ["#2f7ed8", "#ec6a1f", "#16a085", "#a45fd6", "#d8a013", "#e0507f", "#6f8299", "#12a9c4", "#93653f", "#74a832"];
const RAMP = ["#3b4cc0", "#2f7ed8", "#12a9c4", "#74a832", "#d8a013", "#ec6a1f"];
const MISSING = "#9aa3b2";
const GLIDE = 450; // milliseconds of a move from one map to the next
const MANY = 40000; // points from which their edges are hard: that is five times faster
const NEAR = 14; // pixels within which a row is pointed at
const PAUSE = 120; // milliseconds of rest before the causes of a row are asked for
const THUMBNAIL = 26; // pixels of a picture on the map
const SHOWN = 40; // variables in the table of a row
const FRAME = 70; // milliseconds of one step of a walk
const LABELS = { kpca: "Kernel PCA", sparse: "Sparse", probabilistic: "Probabilistic", mixture: "Mixture", classifier: "Classifier", monitor: "Monitor",
  rbf: "RBF", laplacian: "Laplacian", matern: "Matérn", poly: "Polynomial", cosine: "Cosine", linear: "Linear" };
const HELP = "Arrow keys move to the next row, Enter pins it, plus and minus zoom, 0 shows all. Key 2: lasso; arrows move the "
  + "cross, Space sets a corner, Enter closes. Key 3: back to data; arrows move the point. L: linear PCA beside it. Escape clears.";

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
  const node = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...listed(children));
  return node;
}
const listed = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined);
const fill = (node, ...children) => node.replaceChildren(...listed(children));
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

export function figure(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(digits - 2).replace("-", "−").replace("e+", "e").replace("e-", "e−");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}
const percent = (share) => `${figure(100 * share, 3)} %`;
const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}
function parsed(colour) {
  const text = colour.trim();
  if (text.startsWith("#")) return rgb(text.length === 4 ? `#${[...text.slice(1)].map((c) => c + c).join("")}` : text);
  return text.match(/[\d.]+/g).slice(0, 3).map(Number);
}
const abgr = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
const mixed = (a, b, share) => a.map((value, i) => Math.round(value + (b[i] - value) * share));
const RAMP_RGB = RAMP.map(rgb);
function ramp(t) {
  const at = clamp(t, 0, 1) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  return mixed(RAMP_RGB[low], RAMP_RGB[low + 1], at - low);
}

// Requests of one kind: one under way, and of those that wait only the newest.
class Line {
  constructor(ask, kind, failed) {
    Object.assign(this, { ask, kind, failed, busy: false, next: null });
  }
  send(body, done) {
    if (this.busy) {
      this.next = [body, done];
      return;
    }
    this.busy = true;
    this.ask(this.kind, body)
      .then(done, (error) => error.replaced || this.failed(error))
      .finally(() => {
        this.busy = false;
        const waiting = this.next;
        this.next = null;
        if (waiting) this.send(...waiting);
      });
  }
  forget() {
    this.next = null;
  }
}

// A scatter plot on two canvases: points below, marks above.
class Plot {
  constructor(app, name) {
    this.app = app;
    this.base = make("canvas", { "aria-hidden": "true" });
    this.over = make("canvas", { class: "over", tabindex: "0", role: "application", "aria-label": name, "aria-roledescription": "map", "aria-describedby": app.helpId });
    this.name = make("div", { class: "name" });
    this.node = make("div", { class: "plot" }, this.base, this.over, this.name);
    for (const canvas of [this.base, this.over]) canvas.style.position = "absolute"; // else it would size what it is sized by, until the style sheet is there
    this.x = this.y = new Float32Array(0);
    this.view = { x: 0, y: 0, scale: 1 };
    this.moved = false;
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.node);
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [this.node.clientWidth, this.node.clientHeight];
    if (!w || !h) return;
    const before = this.width;
    Object.assign(this, { width: w, height: h, ratio });
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    this.image = this.base.getContext("2d").createImageData(this.base.width, this.base.height);
    if (!before || !this.moved) this.showAll();
    this.draw();
  }

  setPoints(x, y, glide) {
    const old = [this.x, this.y, { ...this.view }];
    const same = old[0].length === x.length && x.length > 0;
    Object.assign(this, { x, y });
    if (!this.moved || !same) this.showAll();
    cancelAnimationFrame(this.gliding);
    if (!same || !glide || this.app.still.matches || !this.width) {
      this.draw();
      return;
    }
    const target = { ...this.view };
    const begin = performance.now();
    const step = (now) => {
      const t = clamp((now - begin) / GLIDE, 0, 1);
      const s = t * t * (3 - 2 * t);
      this.drawn = t < 1 ? [blend(old[0], x, s), blend(old[1], y, s)] : null;
      for (const key of ["x", "y", "scale"]) this.view[key] = old[2][key] + (target[key] - old[2][key]) * s;
      this.draw();
      if (t < 1) this.gliding = requestAnimationFrame(step);
    };
    this.gliding = requestAnimationFrame(step);
  }

  showAll() {
    this.moved = false;
    if (!this.x.length || !this.width) return;
    const [x0, x1] = ends(this.x);
    const [y0, y1] = ends(this.y);
    const room = Math.min((this.width - 50) / (x1 - x0 || 1e-9), (this.height - 70) / (y1 - y0 || 1e-9));
    this.view = { x: (x0 + x1) / 2, y: (y0 + y1) / 2, scale: Math.min(room, 1e12) };
  }

  toScreen(x, y) {
    return [this.width / 2 + (x - this.view.x) * this.view.scale, this.height / 2 - (y - this.view.y) * this.view.scale];
  }
  toData(px, py) {
    return [this.view.x + (px - this.width / 2) / this.view.scale, this.view.y - (py - this.height / 2) / this.view.scale];
  }

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.toData(px, py);
    this.view.scale *= factor;
    this.view.x = x - (px - this.width / 2) / this.view.scale;
    this.view.y = y + (py - this.height / 2) / this.view.scale;
    this.moved = true;
    this.later();
  }
  pan(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    this.moved = true;
    this.later();
  }
  later() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
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
      const d = along + 2 * aside;
      if (along > 0 && aside <= along && d < best) [best, found] = [d, i];
    }
    return found;
  }
  inside(polygon) {
    const corners = polygon.map(([px, py]) => this.toData(px, py));
    const [x0, x1] = ends(corners.map((c) => c[0]));
    const [y0, y1] = ends(corners.map((c) => c[1]));
    const found = [];
    for (let i = 0; i < this.x.length; i++) {
      const [x, y] = [this.x[i], this.y[i]];
      if (x < x0 || x > x1 || y < y0 || y > y1) continue;
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
    const { colours, dimmed, chosen, theme } = this.app;
    const [x, y] = this.drawn || [this.x, this.y];
    const pixels = new Uint32Array(this.image.data.buffer);
    pixels.fill(abgr(theme.paper));
    if (colours.length === x.length) {
      const disc = stamp(clamp(4.2 - Math.log10(Math.max(1, x.length)) * 0.62, 1, 3.2) * this.ratio, x.length < MANY);
      if (chosen) {
        this.raster(pixels, x, y, dimmed, disc, chosen, 0);
        this.raster(pixels, x, y, colours, disc, chosen, 1);
      } else this.raster(pixels, x, y, colours, disc, null, 0);
    }
    const paint = this.base.getContext("2d");
    paint.putImageData(this.image, 0, 0);
    if (this.app.thumbnails && this === this.app.map) this.thumbnails(paint);
    this.mark();
  }

  raster(pixels, x, y, colours, disc, chosen, wanted) {
    const [w, h] = [this.base.width, this.base.height];
    const k = this.view.scale * this.ratio;
    const [ox, oy] = [w / 2 - this.view.x * k, h / 2 + this.view.y * k];
    const { reach, offsets, cover } = disc;
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
        else {
          const byte = 4 * at;
          bytes[byte] += ((colour & 255) - bytes[byte]) * a;
          bytes[byte + 1] += (((colour >> 8) & 255) - bytes[byte + 1]) * a;
          bytes[byte + 2] += (((colour >> 16) & 255) - bytes[byte + 2]) * a;
        }
      }
    }
  }

  thumbnails(paint) {
    const size = THUMBNAIL * this.ratio;
    for (const [i, picture] of this.app.thumbnails) {
      const [px, py] = this.toScreen(this.x[i], this.y[i]);
      paint.imageSmoothingEnabled = false;
      paint.drawImage(picture, px * this.ratio - size / 2, py * this.ratio - size / 2, size, size);
      paint.strokeStyle = cssOf(this.app.colours[i]);
      paint.lineWidth = 1.5 * this.ratio;
      paint.strokeRect(px * this.ratio - size / 2, py * this.ratio - size / 2, size, size);
    }
  }

  // Pins, the row in focus, lasso, walk, and the point whose pre-image is shown.
  mark() {
    const { app } = this;
    const paint = this.over.getContext("2d");
    paint.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    paint.clearRect(0, 0, this.width, this.height);
    const ink = cssOf(abgr(app.theme.ink));
    const place = (i) => this.toScreen(this.x[i], this.y[i]);
    const ring = (i, colour, radius, width) => {
      const [px, py] = place(i);
      paint.beginPath();
      paint.arc(px, py, radius, 0, 7);
      paint.strokeStyle = colour;
      paint.lineWidth = width;
      paint.stroke();
    };
    if (this === app.map && app.path) {
      paint.beginPath();
      app.path.x.forEach((x, i) => paint.lineTo(...this.toScreen(x, app.path.y[i])));
      paint.strokeStyle = ink;
      paint.setLineDash([4, 4]);
      paint.lineWidth = 1.5;
      paint.stroke();
      paint.setLineDash([]);
    }
    if (app.focus >= 0 && app.focus < this.x.length) ring(app.focus, ink, 6, 2);
    app.pins.forEach((i, k) => {
      if (i >= this.x.length) return;
      const colour = k ? app.theme.warm : app.theme.accent;
      ring(i, colour, 9, 3);
      const [px, py] = place(i);
      paint.font = "600 13px system-ui, sans-serif";
      paint.fillStyle = colour;
      paint.fillText("AB"[k], px + 12, py - 8);
    });
    if (this === app.map) {
      this.markLasso(paint, ink);
      this.markProbe(paint, ink);
    }
    if (app.hovered >= 0 && app.tool !== "back") this.markHover(paint, ink);
  }

  markLasso(paint, ink) {
    const { lasso, cross, tool } = this.app;
    if (lasso.length) {
      paint.beginPath();
      lasso.forEach(([px, py]) => paint.lineTo(px, py));
      if (!this.app.tracing && cross) paint.lineTo(...cross);
      paint.closePath();
      paint.strokeStyle = ink;
      paint.lineWidth = 1.5;
      paint.stroke();
      paint.globalAlpha = 0.1;
      paint.fillStyle = ink;
      paint.fill();
      paint.globalAlpha = 1;
    }
    if (cross && tool === "lasso") crosshair(paint, cross, ink);
  }

  markProbe(paint, ink) {
    const { probe, app } = { probe: this.app.probe, app: this.app };
    if (!probe) return;
    const [px, py] = this.toScreen(...probe.at);
    crosshair(paint, [px, py], ink);
    if (probe.picture) this.markPicture(paint, probe.picture, px, py, app.theme.accent);
  }

  markHover(paint, ink) {
    const { app } = this;
    const [px, py] = this.toScreen(this.x[app.hovered], this.y[app.hovered]);
    const picture = app.pictureOf(app.hovered);
    if (picture && this === app.map && !app.steps) this.markPicture(paint, picture, px, py, cssOf(app.colours[app.hovered]));
    const text = app.wordOf(app.hovered);
    paint.font = "12.5px system-ui, sans-serif";
    const wide = paint.measureText(text).width;
    const left = clamp(px - wide / 2, 4, this.width - wide - 4);
    const top = py > 30 ? py - 14 : py + 24;
    paint.fillStyle = cssOf(abgr(app.theme.paper));
    paint.globalAlpha = 0.85;
    paint.fillRect(left - 3, top - 13, wide + 6, 17);
    paint.globalAlpha = 1;
    paint.fillStyle = ink;
    paint.fillText(text, left, top);
  }

  markPicture(paint, picture, px, py, colour) {
    const size = 84;
    const left = px + size + 30 < this.width ? px + 16 : px - size - 16;
    const top = clamp(py - size / 2, 4, this.height - size - 4);
    paint.imageSmoothingEnabled = false;
    paint.drawImage(picture, left, top, size, (size * picture.height) / picture.width);
    paint.strokeStyle = colour;
    paint.lineWidth = 2;
    paint.strokeRect(left, top, size, (size * picture.height) / picture.width);
  }
}

function blend(a, b, s) {
  const out = new Float32Array(b.length);
  for (let i = 0; i < out.length; i++) out[i] = a[i] + (b[i] - a[i]) * s;
  return out;
}
function ends(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
const cssOf = (colour) => `rgb(${colour & 255} ${(colour >> 8) & 255} ${(colour >> 16) & 255})`;
function crosshair(paint, [px, py], ink) {
  paint.beginPath();
  for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
    paint.moveTo(px + 4 * dx, py + 4 * dy);
    paint.lineTo(px + 12 * dx, py + 12 * dy);
  }
  paint.strokeStyle = ink;
  paint.lineWidth = 2;
  paint.stroke();
}
const STAMPS = new Map();
function stamp(radius, soft) {
  const key = `${Math.round(4 * radius)} ${soft}`;
  if (!STAMPS.has(key)) {
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
  }
  return STAMPS.get(key);
}

// Numbers as a picture: `low` is the paper, `high` the ink.
function picture(values, [height, width], [low, high], paper, ink) {
  const canvas = make("canvas", { width, height });
  const paint = canvas.getContext("2d");
  const image = paint.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++) pixels[i] = abgr(mixed(paper, ink, clamp((values[i] - low) / (high - low || 1), 0, 1)));
  paint.putImageData(image, 0, 0);
  return canvas;
}

class App {
  constructor(link, el) {
    this.link = link;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.helpId = `mx-help-${Math.random().toString(36).slice(2)}`;
    Object.assign(this, { colours: new Uint32Array(0), dimmed: new Uint32Array(0), chosen: null, thumbnails: null, theme: { paper: [255, 255, 255], ink: [0, 0, 0] } });
    Object.assign(this, { pins: [], focus: -1, hovered: -1, lasso: [], tracing: false, cross: null, probe: null, path: null, tool: "look", axes: [0, 1], pictures: new Map(), told: new Map() });
    this.lines = Object.fromEntries(["fit", "map", "novelty", "colour", "linear", "scree", "row", "pictures", "back", "walk"].map(
      (kind) => [kind, new Line((...args) => link.ask(...args), kind, (error) => this.failed(error, kind))]));
    this.build(el);
    this.retheme();
    this.dark.addEventListener("change", (this.onTheme = () => this.retheme()));
    this.start();
  }

  // The parts of the page

  build(el) {
    this.title = make("h1", {}, "mercer explore");
    this.about = make("span", { class: "soft small" }, "Reading the table …");
    this.errorText = make("span", { class: "grow" });
    this.error = make("div", { class: "error", role: "alert", hidden: true }, this.errorText, make("button", { onclick: () => (this.error.hidden = true) }, "Close"));
    this.file = make("input", { type: "file", accept: ".csv,text/csv", hidden: true, "aria-label": "A CSV file", onchange: () => this.openFile(this.file.files[0]) });
    this.openButton = make("button", { onclick: () => this.file.click() }, "Open CSV …");
    this.map = new Plot(this, "Map of the rows");
    this.straight = new Plot(this, "Linear PCA of the same rows");
    this.straight.node.hidden = true;
    this.legend = make("div", { class: "legend", "aria-hidden": "true" });
    this.map.node.append(this.legend);
    this.plots = make("div", { class: "plots" }, this.map.node, this.straight.node);
    this.status = make("span", { role: "status" });
    this.progress = make("progress", { max: 1, value: 0, hidden: true, "aria-label": "How far the computation is" });
    this.stopButton = make("button", { hidden: true, onclick: () => link_stop(this.link) }, "Stop");
    this.live = make("div", { class: "hidden", "aria-live": "polite" });
    const side = (name, label, ...cards) => make("div", { class: `side ${name}`, role: "region", "aria-label": label }, ...cards);
    const stage = make("main", { class: "stage" }, this.buildBar(), this.plots, make("div", { class: "under" }, this.status, this.progress, this.stopButton));
    const main = make("div", { class: "body" }, side("fit", "Model", this.buildFit(), this.buildScree(), this.buildAlarm(), this.buildOut()), stage, side("row", "Row", this.buildRow()));
    const header = make("header", {}, this.title, this.about, make("span", { class: "grow" }), this.openButton, this.file);
    this.root = make("div", { class: "mx" }, header, this.error, main, make("div", { class: "hidden", id: this.helpId }, HELP), this.live);
    this.openButton.hidden = !this.link.watch;
    if (!this.link.watch) this.root.classList.add("widget");
    this.listen();
    el.append(this.root);
  }

  buildBar() {
    const tool = (name, label, key) => make("button", { "aria-pressed": String(name === "look"), title: `${label} (key ${key})`, "data-tool": name, onclick: () => this.setTool(name) }, label);
    this.tools = make("div", { class: "tools", role: "group", "aria-label": "What dragging does" }, tool("look", "Look", 1), tool("lasso", "Lasso", 2), tool("back", "Back to data", 3));
    this.axisSelects = [0, 1].map((k) => make("select", { "aria-label": k ? "Vertical component" : "Horizontal component", onchange: () => this.setAxes() }));
    this.colourBy = make("select", { "aria-label": "Colour by", onchange: () => this.recolour() });
    this.linearButton = make("button", { "aria-pressed": "false", title: "Linear PCA of the same rows beside it (key L)", onclick: () => this.toggleLinear() }, "Linear PCA");
    this.pictureButton = make("button", { "aria-pressed": "false", hidden: true, title: "Pictures on the map (key I)", onclick: () => this.toggleThumbnails() }, "Pictures");
    const all = make("button", { title: "Show all rows (key 0)", "aria-label": "Show all rows", onclick: () => this.showAll() }, "All");
    return make("div", { class: "bar" }, this.tools, all, this.axisSelects[0], this.axisSelects[1], make("label", { class: "small soft" }, "colour ", this.colourBy), this.linearButton, this.pictureButton);
  }

  buildFit() {
    const refit = () => this.refit();
    const line = (label, input) => make("label", { class: "line" }, make("span", {}, label), input);
    const range = (label, handler, more = {}) => make("input", { type: "range", "aria-label": label, oninput: handler, ...more });
    this.modelSelect = make("select", { "aria-label": "Model", onchange: refit });
    this.kernelSelect = make("select", { "aria-label": "Kernel", onchange: refit });
    this.width = range("Width of the kernel, as a multiple of the median rule", refit, { min: -3, max: 3, step: 0.05, value: 0 });
    this.widthText = make("span", {}, "Width");
    this.degree = range("Degree", refit, { step: 1 });
    this.degreeText = make("span", {}, "Degree");
    this.components = range("Number of components", refit, { step: 1 });
    this.componentsText = make("span", {}, "Components");
    this.clusters = range("Number of clusters", refit, { step: 1 });
    this.clustersText = make("span", {}, "Clusters");
    this.scale = make("input", { type: "checkbox", "aria-label": "Scale columns to mean 0 and variance 1", onchange: refit });
    const slider = (text, input) => make("label", { class: "line" }, text, input);
    this.widthLine = make("div", {}, slider(this.widthText, this.width), make("div", { class: "mark", "aria-hidden": "true" }, make("span", {}, "│ median")));
    this.degreeLine = slider(this.degreeText, this.degree);
    this.clustersLine = slider(this.clustersText, this.clusters);
    this.facts = make("dl");
    this.warnings = make("div", { class: "warn" });
    return make("section", { class: "card" }, make("h2", {}, "Fit"), line("Model", this.modelSelect), line("Kernel", this.kernelSelect), this.widthLine, this.degreeLine,
      slider(this.componentsText, this.components), this.clustersLine, line("Scale", this.scale), this.facts, this.warnings);
  }

  buildScree() {
    this.screeBox = make("div");
    this.screeText = make("p", { class: "small soft" });
    return make("section", {}, make("h2", {}, "Variance"), this.screeBox, this.screeText);
  }

  buildAlarm() {
    this.alarmBox = make("div");
    this.limit = make("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": "Limit of the novelty", oninput: () => this.showAlarm() });
    this.alarmText = make("p", { class: "small" });
    this.flagButton = make("button", { onclick: () => this.showFlagged() }, "Show these");
    return make("section", {}, make("h2", {}, "Alarm"), this.alarmBox, this.limit, this.alarmText, this.flagButton);
  }

  buildOut() {
    this.selectedText = make("p", { class: "small soft" });
    this.rowsButton = make("button", { onclick: () => this.export("rows", { rows: this.selectedRows() }) }, "Rows (CSV)");
    this.modelButton = make("button", { onclick: () => this.export("save", {}) }, "Model (.mercer)");
    this.recipe = make("pre", { tabindex: "0", "aria-label": "Lines that make the same model" });
    const tab = (kind, label) => make("button", { "aria-pressed": String(kind === "python"), "data-kind": kind, onclick: () => this.showRecipe(kind) }, label);
    this.recipeTabs = make("div", { class: "tools", role: "group", "aria-label": "Recipe as" }, tab("python", "Python"), tab("command", "Command"));
    const copy = make("button", { onclick: () => navigator.clipboard.writeText(this.recipe.textContent).then(() => this.say("Copied.")) }, "Copy");
    return make("section", {}, make("h2", {}, "Out"), this.selectedText, make("div", { class: "buttons" }, this.rowsButton, this.modelButton), make("p"),
      make("div", { class: "buttons" }, this.recipeTabs, copy), this.recipe);
  }

  buildRow() {
    this.details = make("div", { class: "details" });
    this.walkSlider = make("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": "Where on the walk from A to B", oninput: () => this.showStep(clearInterval(this.playing)) });
    this.walkButton = make("button", { onclick: () => this.play() }, "Walk from A to B");
    this.walkBox = make("div", { class: "walk", hidden: true }, make("div", { class: "buttons" }, this.walkButton, make("button", { onclick: () => this.unpin() }, "Unpin")), this.walkSlider);
    return make("section", {}, this.walkBox, this.details);
  }

  // Events

  listen() {
    for (const plot of [this.map, this.straight]) this.listenTo(plot);
    this.keys = this.link.watch ? document : this.root; // in a notebook, only what is typed inside
    this.keys.addEventListener("keydown", (this.onKey = (event) => this.key(event)));
    this.root.addEventListener("dragover", (event) => {
      event.preventDefault();
      this.root.classList.add("dropping");
    });
    this.root.addEventListener("dragleave", () => this.root.classList.remove("dropping"));
    this.root.addEventListener("drop", (event) => {
      event.preventDefault();
      this.root.classList.remove("dropping");
      if (event.dataTransfer.files.length) this.openFile(event.dataTransfer.files[0]);
    });
  }

  listenTo(plot) {
    const { over } = plot;
    const touching = new Map();
    let [begun, moved, pinch] = [null, false, 0];
    const place = (event) => {
      const box = over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    over.addEventListener("wheel", (event) => {
      event.preventDefault();
      plot.zoom(Math.exp(-event.deltaY * 0.0016), ...place(event));
    }, { passive: false });
    over.addEventListener("pointerdown", (event) => {
      over.setPointerCapture(event.pointerId);
      over.focus({ preventScroll: true });
      touching.set(event.pointerId, place(event));
      pinch = 0;
      if (touching.size > 1) return;
      [begun, moved] = [place(event), false];
      if (this.tool === "lasso" && plot === this.map) Object.assign(this, { lasso: [begun], tracing: true, cross: null });
      if (this.tool === "back" && plot === this.map) this.beginBack(begun);
    });
    over.addEventListener("pointermove", (event) => {
      const now = place(event);
      if (touching.has(event.pointerId)) touching.set(event.pointerId, now);
      if (touching.size === 2) {
        const [[ax, ay], [bx, by]] = touching.values();
        const wide = Math.hypot(ax - bx, ay - by);
        if (pinch) plot.zoom(wide / pinch, (ax + bx) / 2, (ay + by) / 2);
        [pinch, moved] = [wide, true];
        return;
      }
      if (!begun) {
        this.hover(plot.nearest(...now));
        return;
      }
      if (Math.hypot(now[0] - begun[0], now[1] - begun[1]) > 3) moved = true;
      if (this.tracing) {
        this.lasso.push(now);
        plot.mark();
      } else if (this.tool === "back" && plot === this.map) this.backTo(plot.toData(...now));
      else if (moved) {
        plot.pan(now[0] - (this.before || begun)[0], now[1] - (this.before || begun)[1]);
        this.before = now;
      }
    });
    const end = (event) => {
      touching.delete(event.pointerId);
      if (!begun || touching.size) return;
      if (this.tracing) this.closeLasso();
      else if (!moved && this.tool === "look") this.pin(plot.nearest(...place(event), 2 * NEAR));
      [begun, this.before] = [null, null];
    };
    over.addEventListener("pointerup", end);
    over.addEventListener("pointercancel", end);
    over.addEventListener("pointerleave", () => this.hover(-1));
    over.addEventListener("dblclick", () => this.tool === "look" && (plot.showAll(), plot.draw()));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const onMap = event.target === this.map.over || event.target === this.straight.over;
    const plot = event.target === this.straight.over ? this.straight : this.map;
    const keys = {
      1: () => this.setTool("look"), 2: () => this.setTool("lasso"), 3: () => this.setTool("back"), 0: () => this.showAll(),
      l: () => this.toggleLinear(), i: () => this.pictureButton.hidden || this.toggleThumbnails(), Escape: () => this.clear(), "+": () => plot.zoom(1.25), "=": () => plot.zoom(1.25), "-": () => plot.zoom(0.8),
    };
    const act = keys[event.key] || keys[event.key.toLowerCase()];
    if (act) act();
    else if (onMap && arrows[event.key]) this.arrow(plot, arrows[event.key], event.shiftKey ? 32 : 8);
    else if (onMap && event.key === "Enter") this.enter();
    else if (onMap && event.key === " " && this.tool === "lasso" && this.cross) this.lasso.push([...this.cross]);
    else return;
    event.preventDefault();
    this.map.mark();
  }

  arrow(plot, [dx, dy], step) {
    if (this.tool === "look") {
      this.focus = plot.toward(this.focus, dx, dy);
      this.hover(this.focus);
      return;
    }
    if (this.tool === "lasso") {
      const [px, py] = this.cross || [plot.width / 2, plot.height / 2];
      this.cross = [clamp(px + dx * step, 0, plot.width), clamp(py - dy * step, 0, plot.height)];
      return;
    }
    if (!this.probe) this.beginBack([plot.width / 2, plot.height / 2]);
    const [px, py] = plot.toScreen(...this.probe.at);
    this.backTo(plot.toData(px + dx * step, py - dy * step));
  }

  enter() {
    if (this.tool === "look") this.pin(this.focus);
    if (this.tool === "lasso") this.closeLasso();
  }

  // The session

  async start() {
    if (this.link.watch) this.link.watch((busy) => this.showBusy(busy), () => this.ended());
    try {
      this.opened(await this.link.ask("open", {}));
    } catch (error) {
      this.failed(error, "open");
    }
  }

  opened(info) {
    this.info = info;
    this.title.textContent = info.name;
    fill(this.about, `${count(info.rows, "row")} × ${count(info.columns.length, "column")}`, info.notes.length ? ` · ${info.notes.join(" ")}` : "");
    this.setControls(info);
    fill(this.colourBy, make("option", { value: "none" }, "nothing"), make("option", { value: "novelty" }, "novelty"), make("option", { value: "prediction", hidden: true }, "prediction"),
      info.colours.map((name, i) => make("option", { value: `column ${i}` }, name)));
    this.colourBy.value = info.target !== null ? `column ${info.colours.indexOf(info.target)}` : "none";
    this.pictureButton.hidden = !info.image;
    Object.assign(this, { pins: [], focus: -1, hovered: -1, probe: null, path: null, thumbnails: null, axes: [0, 1], drawn: null, numbers: null });
    this.pictureButton.setAttribute("aria-pressed", "false");
    this.pictures.clear();
    this.showDetails();
    if (info.rows > 100000) this.link.ask("drawn", {}).then((answer) => (this.numbers = answer.arrays[0]));
    if (info.model) this.lines.map.send({ model: info.model, axes: this.axes }, (answer) => this.fitted(answer));
    else this.refit();
  }

  setControls({ choices, settings }) {
    const options = (select, names) => fill(select, names.map((name) => make("option", { value: name }, LABELS[name] || name)));
    options(this.modelSelect, choices.models);
    options(this.kernelSelect, choices.kernels.map((kernel) => kernel.name));
    for (const name of ["components", "degree", "clusters"]) Object.assign(this[name], { min: choices[name === "degree" ? "degrees" : name][0], max: choices[name === "degree" ? "degrees" : name][1] });
    this.components.max = Math.min(this.components.max, Math.max(2, this.info.rows - 1));
    this.showSettings(settings);
  }

  showSettings(settings) {
    this.modelSelect.value = settings.model;
    this.kernelSelect.value = settings.kernel;
    this.width.value = Math.log10(settings.width);
    for (const name of ["degree", "components", "clusters"]) this[name].value = settings[name];
    this.scale.checked = settings.scale;
    this.labelSettings();
  }

  settings() {
    return { model: this.modelSelect.value, kernel: this.kernelSelect.value, width: 10 ** Number(this.width.value), degree: Number(this.degree.value), components: Number(this.components.value), clusters: Number(this.clusters.value), scale: this.scale.checked };
  }

  labelSettings() {
    const { kernel, model, width } = this.settings();
    this.widthText.textContent = `γ ${figure(width, 3)} ×`;
    this.componentsText.textContent = `${this.components.value} comp.`;
    this.degreeText.textContent = `Degree ${this.degree.value}`;
    this.clustersText.textContent = `${this.clusters.value} clusters`;
    this.widthLine.hidden = !this.info.choices.kernels.find((item) => item.name === kernel).wide;
    this.degreeLine.hidden = kernel !== "poly";
    this.clustersLine.hidden = model !== "mixture";
    this.components.setAttribute("aria-valuetext", `${this.components.value} components`);
    this.width.setAttribute("aria-valuetext", `${figure(width, 3)} times the median rule`);
  }

  refit() {
    this.labelSettings();
    this.status.textContent = "Fitting …";
    this.lines.fit.send({ settings: this.settings(), axes: this.axes }, (answer) => this.fitted(answer));
  }

  fitted(answer) {
    this.error.hidden = true;
    this.model = answer;
    this.axes = answer.axes;
    for (const kind of ["row", "back", "walk"]) this.lines[kind].forget();
    Object.assign(this, { path: null, steps: null });
    this.told.clear();
    this.fillAxes();
    const prediction = this.colourBy.querySelector("option[value=prediction]");
    prediction.hidden = !answer.predicts;
    prediction.textContent = answer.predicts || "prediction";
    if (!answer.predicts && this.colourBy.value === "prediction") this.colourBy.value = "none";
    const [x, y] = answer.arrays;
    if (this.colours.length !== x.length) this.plain(x.length);
    this.map.setPoints(x, y, true);
    this.map.name.textContent = `component ${this.axes[0] + 1} (${percent(answer.shares[this.axes[0]] || 0)}) × component ${this.axes[1] + 1} (${percent(answer.shares[this.axes[1]] || 0)})`;
    this.showFacts(answer);
    this.recolour();
    this.lines.novelty.send({ model: answer.model }, (found) => this.gotNovelty(found));
    this.lines.linear.send({ model: answer.model }, (found) => this.gotLinear(found));
    this.drawScree(answer.shares);
    this.lines.scree.send({ model: answer.model }, (found) => answer === this.model && this.drawScree(found.shares));
    if (this.pins.length) this.pins.forEach((i) => this.askRow(i));
    if (this.probe) this.backTo(this.probe.at);
    this.walkBox.hidden = this.pins.length < 1;
    this.walkButton.disabled = this.pins.length < 2;
    this.showRecipe();
    this.showSelected();
  }

  showFacts(model) {
    const held = model.shares.reduce((sum, share) => sum + share, 0);
    const pairs = [["Kernel", model.kernel.replace(/(\d\.\d{4})\d+/g, "$1…")], ["Holds", `${percent(held)} of the variance in feature space`]];
    if (this.straightHeld !== undefined) pairs.push(["Linear PCA", `${percent(this.straightHeld)} of the data's variance, ${count(this.straightCount, "component")}`]);
    pairs.push(["Found by", `${model.solver}, ${count(model.passes || 0, "pass").replace("passs", "passes")}, ${count(model.anchors, "anchor")}`]);
    if (model.outside > 0) pairs.push(["Outside", `${percent(model.outside)} of the variance lies outside the landmarks`]);
    if (model.standIn) pairs.push(["Map", "the kernel PCA of the rows with the model's kernel"]);
    if (!model.settings) pairs.unshift(["Model", `${model.kind}, as it was given; a control refits it`]);
    fill(this.facts, pairs.map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]).flat());
    fill(this.warnings, model.warnings.map((text) => make("p", {}, text)));
    this.status.textContent = `${model.settings ? "Fitted" : "Mapped"} in ${figure(model.seconds, 2)} s`;
    if (model.components === 0) this.fail("The rows are all alike: no component holds any variance. Choose other columns.");
  }

  fillAxes() {
    const q = Math.max(2, this.model.components);
    for (const k of [0, 1]) {
      fill(this.axisSelects[k], Array.from({ length: q }, (_, j) => make("option", { value: j }, `${k ? "y" : "x"}: ${j + 1}`)));
      this.axisSelects[k].value = this.axes[k];
    }
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
    this.values = null;
    this.words = null;
    this.colours = new Uint32Array(n).fill(abgr(rgb(PALETTE[0])));
    this.dim();
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
    this.lines.colour.send({ model: this.model.model, by: wanted }, (answer) => {
      const values = answer.arrays[0];
      if (values.length !== this.map.x.length) return;
      this.values = values;
      this.words = answer.words;
      const [low, high] = answer.ends;
      const kinds = PALETTE.map((hex) => abgr(rgb(hex)));
      const none = abgr(rgb(MISSING));
      this.colours = Uint32Array.from(values, (v) => (Number.isNaN(v) ? none : answer.words ? kinds[v % kinds.length] : abgr(ramp((v - low) / (high - low || 1)))));
      this.dim();
      this.drawLegend(low, high);
      this.redraw();
    });
  }

  drawLegend(low, high) {
    if (this.words) {
      const some = this.words.slice(0, 12);
      const chips = some.map((word, i) => {
        const chip = make("i");
        chip.style.background = PALETTE[i % PALETTE.length];
        return make("span", {}, chip, word);
      });
      fill(this.legend, chips, this.words.length > some.length ? make("span", {}, `and ${this.words.length - some.length} more`) : null);
      return;
    }
    const scale = make("canvas", { width: 110, height: 1 });
    const paint = scale.getContext("2d");
    for (let i = 0; i < 110; i++) {
      paint.fillStyle = cssOf(abgr(ramp(i / 109)));
      paint.fillRect(i, 0, 1, 1);
    }
    fill(this.legend, make("span", {}, figure(low, 3), scale, figure(high, 3)));
  }

  dim() {
    const paper = this.theme.paper;
    this.dimmed = Uint32Array.from(this.colours, (c) => abgr(mixed([c & 255, (c >> 8) & 255, (c >> 16) & 255], paper, 0.84)));
  }

  retheme() {
    const style = getComputedStyle(this.root);
    const colour = (name) => style.getPropertyValue(name) || "#888";
    this.theme = { paper: parsed(colour("--paper")), ink: parsed(colour("--ink")), accent: colour("--accent"), warm: colour("--warm") };
    this.dim();
    this.pictures.clear();
    if (this.thumbnails) this.makeThumbnails();
    this.redraw();
    if (this.info) this.showDetails();
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
    if (i === this.hovered) return;
    this.hovered = i;
    if (i >= 0 && this.tool !== "back") {
      this.askRow(i);
      clearTimeout(this.speaking);
      this.speaking = setTimeout(() => (this.live.textContent = this.wordOf(i)), 300);
    }
    this.map.mark();
    if (!this.straight.node.hidden) this.straight.mark();
    if (i < 0) this.showDetails();
  }

  askRow(i) {
    const row = this.rowOf(i);
    const { model } = this.model;
    clearTimeout(this.resting);
    const got = (answer) => {
      if (model !== this.model.model) return;
      this.told.set(answer.row, answer);
      this.showDetails();
      this.map.mark();
    };
    if (!this.told.has(row)) this.lines.row.send({ model, row }, got);
    const pinned = this.pins.includes(i);
    const ask = () => this.lines.row.send({ model, row, causes: true }, got);
    if (this.told.get(row)?.causes === undefined || this.told.get(row)?.causes === null)
      if (pinned) ask();
      else this.resting = setTimeout(() => (this.hovered === i || this.focus === i) && ask(), PAUSE);
    this.showDetails();
  }

  pin(i) {
    if (i < 0) return;
    this.pins = this.pins.includes(i) ? this.pins.filter((k) => k !== i) : [...this.pins.slice(-1), i];
    this.focus = i;
    Object.assign(this, { path: null, steps: null });
    this.walkSlider.value = 0;
    this.walkBox.hidden = this.pins.length < 1;
    this.walkButton.disabled = this.pins.length < 2;
    this.walkSlider.hidden = true;
    this.live.textContent = this.pins.includes(i) ? `Row ${this.rowOf(i)} is pinned` : `Row ${this.rowOf(i)} is not pinned any more`;
    this.askRow(i);
    this.redraw();
  }
  unpin() {
    Object.assign(this, { pins: [], path: null, steps: null });
    this.walkBox.hidden = true;
    this.showDetails();
    this.redraw();
  }

  pictureOf(i) {
    const told = this.told.get(this.rowOf(i));
    return this.info.image && told ? this.drawPicture(told.cells) : null;
  }
  drawPicture(values, range = this.info.range, ink = this.theme.ink) {
    const key = values;
    if (!this.pictures.has(key)) {
      if (this.pictures.size > 300) this.pictures.clear();
      this.pictures.set(key, picture(values, this.info.image, range, this.theme.paper, ink));
    }
    return this.pictures.get(key);
  }

  showDetails() {
    if (!this.info) return;
    const rows = this.pins.map((i, k) => ({ told: this.told.get(this.rowOf(i)), mark: "AB"[k] })).filter((item) => item.told);
    if (this.probe?.cells && this.tool === "back") {
      fill(this.details, this.backNodes(this.probe), this.tableOf([{ told: { cells: this.probe.cells }, mark: "" }]));
      return;
    }
    if (this.steps) {
      fill(this.details, this.stepNodes());
      return;
    }
    const at = this.hovered >= 0 ? this.hovered : this.pins.length ? -1 : this.focus;
    const pointed = at >= 0 && !this.pins.includes(at) ? this.told.get(this.rowOf(at)) : null;
    const shown = pointed && rows.length < 2 ? [...rows, { told: pointed, mark: "" }] : rows.length ? rows : [];
    if (!shown.length) {
      fill(this.details, make("h2", {}, "Row"), make("p", { class: "soft" }, "Point at a row, or move to one with the arrow keys. Click or Enter pins it; pin two to compare them."));
      return;
    }
    fill(this.details, shown.map((item) => this.rowNodes(item)).flat(), this.picturesOf(shown), this.tableOf(shown));
  }

  rowNodes({ told, mark }) {
    const text = [`Novelty ${figure(told.novelty)}, above ${percent(told.below)} of the rows`];
    if (told.p !== null) text.push(`p ${figure(told.p, 3)}`);
    if (told.prediction !== null) text.push(`${this.model.predicts} ${told.prediction}`);
    if (told.target !== null) text.push(`${this.info.target} ${told.target}`);
    const reason = told.reason ? make("p", { class: "small soft" }, `No contributions: ${told.reason}`) : null;
    return [make("h2", {}, `Row ${told.row} `, mark ? make("span", { class: mark }, mark) : ""), make("p", { class: "small", "data-novelty": told.novelty }, text.join(" · ")), reason];
  }

  framed(values, caption, range, ink) {
    return make("figure", {}, copied(this.drawPicture(values, range, ink)), caption);
  }
  picturesOf(shown) {
    if (!this.info.image) return null;
    const nodes = shown.map(({ told, mark }) => this.framed(told.cells, `row ${told.row} ${mark}`));
    const causes = shown[0].told.causes;
    if (causes) nodes.push(this.framed(causes, "contributions", [0, Math.max(...causes, 1e-300)], rgb(PALETTE[1])));
    return make("div", { class: "pictures" }, nodes);
  }

  tableOf(shown) {
    const { columns, typical } = this.info;
    const causes = shown.find((item) => item.told.causes)?.told.causes;
    const far = (j) => {
      if (causes) return Math.abs(causes[j]);
      const [low, middle, high] = typical[j] || [0, 0, 1];
      return Math.max(...shown.map(({ told }) => (typeof told.cells[j] === "number" ? Math.abs(told.cells[j] - middle) / (high - low || 1) : 0)));
    };
    const order = columns.map((_, j) => j).sort((a, b) => far(b) - far(a)).slice(0, SHOWN);
    const most = causes ? Math.max(...causes.map(Math.abs), 1e-300) : 1;
    const head = make("tr", {}, make("th", {}, "column"), shown.map(({ mark }) => make("th", {}, make("span", { class: mark || false }, mark || "value"))), make("th", { class: "chart" }, "typical"), causes ? make("th", { class: "chart" }, shown.length > 1 ? `adds, ${shown.find((item) => item.told.causes).mark}` : "contribution") : null);
    const body = order.map((j) => make("tr", {}, make("td", { title: columns[j] }, columns[j]), shown.map(({ told }) => make("td", {}, figure(told.cells[j], shown.length > 1 ? 3 : 4))),
      make("td", { class: "chart" }, typical[j] ? rangeChart(typical[j], shown.map(({ told }) => told.cells[j])) : "words"), causes ? make("td", { class: "chart" }, causeChart(causes[j], most)) : null));
    const more = columns.length > order.length ? make("p", { class: "small soft" }, `The ${order.length} that stand out most, of ${columns.length} columns.`) : null;
    return [make("table", { class: shown.length > 1 ? "two" : false }, make("thead", {}, head), make("tbody", {}, body)), more];
  }

  // Back to the data

  beginBack(place) {
    const i = this.map.nearest(...place, NEAR);
    this.probe = { at: this.map.toData(...place), row: i >= 0 ? this.rowOf(i) : null };
    this.backTo(this.probe.at);
  }

  backTo(at) {
    this.probe = { ...this.probe, at };
    this.map.mark();
    const { row } = this.probe;
    const body = { model: this.model.model, axes: this.axes, at, row };
    this.lines.back.send(body, (answer) => {
      if (!this.probe || this.tool !== "back") return;
      const { cells, error, share } = answer;
      const image = this.info.image ? this.drawPicture(answer.arrays[0]) : null;
      this.probe = { ...this.probe, cells, error, share, picture: image, found: at, values: answer.arrays[0] };
      this.live.textContent = `Pre-image found, error ${figure(error, 3)}`;
      this.showDetails();
      this.map.mark();
    });
  }

  backNodes(probe) {
    const rest = probe.row === null ? "as in the 10 nearest rows" : `as in row ${probe.row}`;
    return [make("h2", {}, "Back to data"), make("p", { class: "small", "data-error": probe.error }, `Pre-image at (${probe.found.map((v) => figure(v, 3)).join(", ")}): squared error ${figure(probe.error)}, ${percent(probe.share)} of the variance. Other components ${rest}.`),
      probe.picture ? make("div", { class: "pictures" }, make("figure", {}, copied(probe.picture), "pre-image")) : null];
  }

  play() {
    clearInterval(this.playing);
    const rows = this.pins.map((i) => this.rowOf(i));
    const begin = () => {
      this.walkSlider.hidden = false;
      this.walkSlider.max = this.steps.length - 1;
      if (this.still.matches) {
        this.showStep();
        return;
      }
      this.walkSlider.value = 0;
      this.playing = setInterval(() => {
        if (!this.steps || Number(this.walkSlider.value) >= this.steps.length - 1) clearInterval(this.playing);
        else {
          this.walkSlider.value = Number(this.walkSlider.value) + 1;
          this.showStep();
        }
      }, FRAME);
      this.showStep();
    };
    if (this.steps) begin();
    else this.lines.walk.send({ model: this.model.model, axes: this.axes, rows }, (answer) => {
      const [values, x, y] = answer.arrays;
      const d = values.length / x.length;
      this.steps = answer.cells.map((cells, i) => ({ cells, values: values.subarray(i * d, (i + 1) * d) }));
      this.path = { x, y };
      begin();
    });
  }

  showStep() {
    if (!this.steps) return;
    const i = Number(this.walkSlider.value);
    this.showDetails();
    this.map.mark();
    const [px, py] = this.map.toScreen(this.path.x[i], this.path.y[i]);
    const paint = this.map.over.getContext("2d");
    crosshair(paint, [px, py], cssOf(abgr(this.theme.ink)));
    if (this.info.image) this.map.markPicture(paint, this.drawPicture(this.steps[i].values), px, py, this.theme.accent);
  }

  stepNodes() {
    const i = Number(this.walkSlider.value);
    const step = this.steps[i];
    const shown = this.pins.map((p, k) => ({ told: this.told.get(this.rowOf(p)), mark: "AB"[k] })).filter((item) => item.told);
    const [a, b] = shown.map(({ told, mark }) => (this.info.image ? this.framed(told.cells, `row ${told.row} ${mark}`) : null));
    const between = this.info.image ? make("figure", {}, copied(this.drawPicture(step.values)), `step ${i + 1} of ${this.steps.length}`) : null;
    return [make("h2", {}, "Walk"), make("p", { class: "small" }, `Step ${i + 1} of ${this.steps.length} from A to B: the pre-images of the straight line between them.`),
      this.info.image ? make("div", { class: "pictures" }, a, between, b) : null, this.tableOf([{ told: { cells: step.cells }, mark: "" }])];
  }

  // Selection

  setTool(tool) {
    this.tool = tool;
    for (const button of this.tools.children) button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
    Object.assign(this, { lasso: [], tracing: false, cross: null });
    if (tool !== "back") this.probe = null;
    this.showDetails();
    this.map.mark();
  }

  closeLasso() {
    const corners = this.lasso;
    Object.assign(this, { lasso: [], tracing: false });
    if (corners.length > 2) this.choose(this.map.inside(corners));
    this.map.mark();
  }

  choose(points) {
    this.chosen = points.length ? new Uint8Array(this.map.x.length) : null;
    for (const i of points) this.chosen[i] = 1;
    this.picked = points;
    this.extra = null;
    this.live.textContent = `${count(points.length, "row")} selected`;
    this.showSelected();
    this.redraw();
  }

  selectedRows() {
    return this.extra || (this.picked || []).map((i) => this.rowOf(i));
  }
  showSelected() {
    const n = this.selectedRows().length;
    this.selectedText.textContent = n ? `${count(n, "row")} selected.` : "No rows selected: use the lasso, or the alarm.";
    this.rowsButton.disabled = !n;
  }

  clear() {
    this.unpin();
    Object.assign(this, { lasso: [], tracing: false, cross: null, probe: null, focus: -1 });
    this.choose([]);
  }

  showAll() {
    this.map.showAll();
    this.straight.showAll();
    this.redraw();
  }

  // Linear PCA beside the map, pictures on it

  gotLinear(answer) {
    const [x, y] = answer.arrays;
    this.straightHeld = answer.shares.reduce((sum, share) => sum + share, 0);
    this.straightCount = answer.shares.length;
    this.straightShares = answer.shares;
    this.straight.setPoints(x, y, false);
    this.straight.name.textContent = `linear PCA: component 1 (${percent(answer.shares[0] || 0)}) × component 2 (${percent(answer.shares[1] || 0)})`;
    this.showFacts(this.model);
    this.drawScree(this.screeShares);
  }

  toggleLinear() {
    const shown = this.straight.node.hidden;
    this.straight.node.hidden = !shown;
    this.plots.classList.toggle("two", shown);
    this.linearButton.setAttribute("aria-pressed", String(shown));
    for (const plot of [this.map, this.straight]) plot.resize();
  }

  toggleThumbnails() {
    if (this.thumbnails) {
      this.thumbnails = null;
      this.pictureButton.setAttribute("aria-pressed", "false");
      this.redraw();
      return;
    }
    this.pictureButton.setAttribute("aria-pressed", "true");
    this.makeThumbnails();
  }

  makeThumbnails() {
    const taken = new Set();
    const points = [];
    for (let i = 0; i < this.map.x.length && points.length < 400; i++) {
      const [px, py] = this.map.toScreen(this.map.x[i], this.map.y[i]);
      const cell = `${Math.round(px / THUMBNAIL / 1.25)} ${Math.round(py / THUMBNAIL / 1.25)}`;
      if (taken.has(cell)) continue;
      taken.add(cell);
      points.push(i);
    }
    if (!points.length) return;
    this.lines.pictures.send({ model: this.model.model, rows: points.map((i) => this.rowOf(i)) }, (answer) => {
      const d = this.info.columns.length;
      this.thumbnails = points.map((i, k) => [i, picture(answer.arrays[0].subarray(k * d, (k + 1) * d), this.info.image, this.info.range, this.theme.paper, this.theme.ink)]);
      this.redraw();
    });
  }

  // Charts

  drawScree(shares) {
    if (!shares) return;
    this.screeShares = shares;
    const [w, h, q] = [260, 92, this.model.components];
    const top = Math.max(...shares, ...(this.straightShares || []), 1e-9);
    const step = (w - 4) / shares.length;
    const bars = shares.map((share, j) => {
      const tall = Math.max(1, (share / top) * (h - 22));
      const bar = make("svg:rect", { x: 2 + j * step, y: h - 14 - tall, width: Math.max(1, step - 1.5), height: tall, class: j < q ? "held" : "free" });
      bar.append(make("svg:title", {}, `component ${j + 1}: ${percent(share)}`));
      return bar;
    });
    const line = (this.straightShares || []).slice(0, shares.length).map((share, j) => `${2 + (j + 0.5) * step},${h - 14 - (share / top) * (h - 22)}`).join(" ");
    const chart = make("svg:svg", { viewBox: `0 0 ${w} ${h}`, class: "click", role: "img", "aria-label": `Shares of ${count(shares.length, "component")}; the model has ${q}` }, bars, make("svg:polyline", { points: line, class: "straight" }),
      make("svg:text", { x: 2, y: h - 2 }, "1"), make("svg:text", { x: w - 2, y: h - 2, "text-anchor": "end" }, String(shares.length)), make("svg:text", { x: w - 2, y: 10, "text-anchor": "end" }, percent(top)));
    chart.addEventListener("click", (event) => {
      const box = chart.getBoundingClientRect();
      const j = Math.floor((((event.clientX - box.left) / box.width) * w - 2) / step);
      this.components.value = clamp(j + 1, 1, shares.length);
      this.refit();
    });
    fill(this.screeBox, chart);
    this.screeText.textContent = "Bars: shares of the variance in feature space. Line: linear PCA, of the data's. A click sets the number.";
  }

  gotNovelty(answer) {
    this.alarm = answer;
    this.limit.max = answer.limits.length - 1;
    this.limit.value = answer.start;
    this.showAlarm();
  }

  showAlarm() {
    const { limits, flagged, expected, name, law } = this.alarm;
    const k = Number(this.limit.value);
    const [w, h, n] = [260, 92, flagged[flagged.length - 1] || 1];
    const at = (m) => 2 + (Math.log1p(m) / Math.log1p(n)) * (w - 4);
    const [low, high] = [limits[limits.length - 1], limits[0]];
    const up = (v) => h - 14 - ((v - low) / (high - low || 1)) * (h - 22);
    const chart = make("svg:svg", { viewBox: `0 0 ${w} ${h}`, class: "click", role: "img", "aria-label": "Novelty of all rows, largest first" },
      make("svg:polyline", { class: "curve", points: limits.map((v, j) => `${at(flagged[j])},${up(v)}`).join(" ") }), make("svg:line", { class: "limit", x1: 0, x2: w, y1: up(limits[k]), y2: up(limits[k]) }),
      make("svg:line", { class: "limit", x1: at(flagged[k]), x2: at(flagged[k]), y1: 4, y2: h - 14 }), make("svg:text", { x: 2, y: h - 2 }, "most unusual"), make("svg:text", { x: w - 2, y: h - 2, "text-anchor": "end" }, "most usual"));
    const drag = (event) => {
      if (event.type === "pointermove" && !event.buttons) return;
      const box = this.alarmBox.getBoundingClientRect();
      const m = Math.expm1((clamp((event.clientX - box.left) / box.width, 0, 1)) * Math.log1p(n));
      this.limit.value = flagged.reduce((best, f, j) => (Math.abs(f - m) < Math.abs(flagged[best] - m) ? j : best), 0);
      this.showAlarm();
    };
    chart.addEventListener("pointerdown", drag);
    chart.addEventListener("pointermove", drag);
    fill(this.alarmBox, chart);
    this.alarmText.textContent = `Limit ${figure(limits[k])} (${name}) flags ${count(flagged[k], "row")}; ${figure(expected[k], 3)} expected by chance, by ${law}.`;
    this.limit.setAttribute("aria-valuetext", this.alarmText.textContent);
    this.flagButton.disabled = !flagged[k];
  }

  showFlagged() {
    const k = this.alarm.flagged[Number(this.limit.value)];
    const rows = Array.from(this.alarm.arrays[1].subarray(0, k));
    const place = this.numbers ? new Map(Array.from(this.numbers, (row, i) => [row, i])) : null;
    this.choose(place ? rows.map((row) => place.get(row)).filter((i) => i !== undefined) : rows);
    this.extra = rows;
    this.showSelected();
  }

  // Out

  async export(kind, body) {
    try {
      const answer = await this.link.ask(kind, { model: this.model.model, ...body });
      const address = URL.createObjectURL(new Blob([answer.arrays[0]]));
      make("a", { href: address, download: answer.name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
      this.say(`${answer.name} is among your downloads.`);
    } catch (error) {
      this.failed(error, kind);
    }
  }

  showRecipe(kind) {
    if (kind) this.recipeKind = kind;
    const chosen = this.recipeKind || "python";
    for (const button of this.recipeTabs.children) button.setAttribute("aria-pressed", String(button.dataset.kind === chosen));
    this.recipe.textContent = this.model.recipe[chosen];
  }

  async openFile(file) {
    if (!file) return;
    this.status.textContent = "Reading the table …";
    try {
      this.opened(await this.link.ask("table", file, "text/csv"));
      this.say(`${file.name} is open.`);
    } catch (error) {
      this.failed(error, "table");
    }
    this.file.value = "";
  }

  // What is said

  say(text) {
    this.status.textContent = text;
    this.live.textContent = text;
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
    const what = { open: "The table cannot be shown. ", table: "This file cannot be opened. ", fit: "The fit failed. ", back: "There is no way back here. ", walk: "There is no walk here. " }[kind] || "";
    this.fail(what + error.message);
    if (this.model) this.status.textContent = "The model before is still shown.";
    if (kind === "fit" && this.model?.settings) this.showSettings(this.model.settings);
  }
  ended() {
    if (this.closed) return;
    this.fail("The server has stopped. Start mercer explore again, and open the address that it prints; this page cannot be used any more.");
    this.progress.hidden = this.stopButton.hidden = true;
    this.status.textContent = "Not connected";
  }
  showBusy(busy) {
    clearTimeout(this.showing);
    const on = busy.kind === "fit" || busy.kind === "table";
    if (on && this.stopButton.hidden) this.showing = setTimeout(() => (this.progress.hidden = this.stopButton.hidden = false), 300);
    if (!on) this.progress.hidden = this.stopButton.hidden = true;
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

const link_stop = (link) => link.ask("stop", {}).catch(() => {});

function copied(canvas) {
  const copy = make("canvas", { width: canvas.width, height: canvas.height, role: "img", "aria-label": "picture" });
  copy.getContext("2d").drawImage(canvas, 0, 0);
  return copy;
}

// A value beside the range of 90 % of the rows and their median.
function rangeChart([low, middle, high], values) {
  const numbers = values.filter((value) => typeof value === "number");
  const [from, to] = [Math.min(low, ...numbers), Math.max(high, ...numbers)];
  const at = (value) => 4 + ((value - from) / (to - from || 1)) * 62;
  return make("svg:svg", { viewBox: "0 0 70 14", role: "img", "aria-label": `90 % of the rows lie from ${figure(low)} to ${figure(high)}, the median is ${figure(middle)}` },
    make("svg:rect", { class: "range", x: at(low), y: 5, width: Math.max(1, at(high) - at(low)), height: 4, rx: 2 }), make("svg:line", { class: "middle", x1: at(middle), x2: at(middle), y1: 3, y2: 11 }),
    values.map((value, k) => (typeof value === "number" ? make("svg:circle", { class: k ? "b" : "a", cx: at(value), cy: 7, r: 3 }) : null)).filter(Boolean));
}
function causeChart(value, most) {
  const wide = (Math.abs(value) / most) * 66;
  return make("svg:svg", { viewBox: "0 0 70 14", role: "img", "aria-label": figure(value) }, make("svg:rect", { class: value < 0 ? "cause less" : "cause", x: 2, y: 4, width: Math.max(0.5, wide), height: 6, rx: 1 }));
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
