// The explorer: a map of rows, what is behind each point of it, and the controls of the model.
// `render({ model, el })` draws it into an element; `model` is a link with `ask(kind, body)`, or a notebook's widget.

const PALETTE = ["#2f7ed8", "#ec6a1f", "#16a085", "#a45fd6", "#d8a013", "#e0507f", "#6f8299", "#12a9c4", "#93653f",
  "#74a832"];
const RAMP = ["#3b4cc0", "#2f7ed8", "#12a9c4", "#74a832", "#d8a013", "#ec6a1f"];
const MISSING = "#9aa3b2";
const GLIDE = 450; // milliseconds of a move from one map to the next
const MANY = 40000; // points from which their edges are hard: that is five times faster
const NEAR = 14; // pixels within which a row is pointed at
const PAUSE = 120; // milliseconds of rest before the causes of a row are asked for
const AGAIN = 150; // milliseconds after which a request that another tab has replaced is sent again
const THUMBNAIL = 26; // pixels of a picture on the map
const LENS = 84; // pixels of the picture beside the pointer
const SHOWN = 40; // variables in the table of a row
const FRAME = 70; // milliseconds of one step of a walk
const [WIDE, HIGH] = [260, 92]; // of a chart
const LABELS = { kpca: "Kernel PCA", sparse: "Sparse", probabilistic: "Probabilistic", mixture: "Mixture",
  classifier: "Classifier", monitor: "Monitor", rbf: "RBF", laplacian: "Laplacian", matern: "Matérn",
  poly: "Polynomial", cosine: "Cosine", linear: "Linear" };
const SLIDERS = { // name, and what is written beside it
  width: ["Width of the kernel, as a multiple of the median rule", (value) => `γ ${figure(10 ** value, 3)} ×`],
  degree: ["Degree of the polynomial", (value) => `Degree ${value}`],
  components: ["Number of components", (value) => `${value} comp.`],
  clusters: ["Number of clusters", (value) => `${value} clusters`],
};
const HELP = "Arrow keys move to the next row, Enter pins it, plus and minus zoom, Shift with arrows pans, 0 shows "
  + "all. Key 2: lasso; arrows move the cross, Space sets a corner, Enter closes. Key 3: back to data; arrows move "
  + "the point. W: walk between two pinned rows. L: linear PCA beside it. I: pictures. Escape clears.";
const POINT = "Point at a row, or move to one with the arrow keys. Click, tap or Enter pins it; pin two to compare "
  + "them and to walk between them.";
const STOPPED = "The server has stopped. Start mercer explore again, and open the address that it prints; this page "
  + "cannot be used any more.";
const FAILURES = { open: "The table cannot be shown. ", table: "This file cannot be opened. ", fit: "The fit failed. ",
  back: "There is no way back here. ", walk: "There is no walk here. " };
const KINDS = ["open", "table", "fit", "map", "drawn", "novelty", "colour", "linear", "scree", "row", "pictures",
  "back", "walk", "rows", "save"];

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
    else if (value !== false && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  return fill(node, ...children);
}
function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child ?? false));
  return node;
}
const button = (label, onclick, attributes = {}) => make("button", { onclick, ...attributes }, label);
const slider = (label, oninput) => make("input", { type: "range", min: 0, value: 0, "aria-label": label, oninput });
const choice = (label, onchange) => make("select", { "aria-label": label, onchange });
const option = ([value, text]) => make("option", { value }, text);
const note = (text, name = "small soft") => make("p", { class: name }, text);
const row = (...parts) => make("div", { class: "buttons" }, parts);
const group = (label, ...parts) => make("div", { class: "tools", role: "group", "aria-label": label }, parts);
const card = (title, ...parts) => make("section", {}, make("h2", {}, title), parts);
const press = (node, on) => node.setAttribute("aria-pressed", String(on));
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const sum = (values) => values.reduce((total, value) => total + value, 0);
const joined = (points) => points.map((point) => point.join()).join(" ");

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
const RAMP_SHADES = Uint32Array.from({ length: 256 }, (_, i) => {
  const at = (i / 255) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  return abgr(mixed(rgb(RAMP[low]), rgb(RAMP[low + 1]), at - low));
});

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
  constructor(app, kind) {
    Object.assign(this, { app, kind, busy: false, next: null });
  }
  async send(...request) {
    this.next = request;
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const [body, done, type] = this.next;
      this.next = null;
      try {
        done(await this.app.link.ask(this.kind, body, type));
      } catch (error) {
        if (!error.replaced) this.app.failed(error, this.kind);
        else if (await new Promise((rested) => setTimeout(() => rested(!this.next), AGAIN))) this.next = [body, done];
      }
    }
    this.busy = false;
  }
}

// A scatter plot: points on a canvas, and marks above it.
class Plot {
  constructor(app, name) {
    this.app = app;
    this.base = make("canvas", { "aria-hidden": "true" });
    this.over = make("svg:svg", { class: "over", tabindex: "0", role: "application", "aria-label": name,
      "aria-roledescription": "map", "aria-describedby": app.helpId });
    [this.lens, this.name] = [make("div"), make("div", { class: "name" })];
    this.node = make("div", { class: "plot" }, this.base, this.lens, this.over, this.name);
    this.base.style.position = "absolute"; // else it would size what it is sized by, until there is style
    Object.assign(this, { x: new Float32Array(0), y: new Float32Array(0), view: { x: 0, y: 0, scale: 1 } });
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.node);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.node;
    const [ratio, before] = [window.devicePixelRatio || 1, this.width];
    if (!width || !height) return;
    Object.assign(this, { width, height, ratio });
    Object.assign(this.base, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
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
    const { view, width, height } = this;
    return [width / 2 + (x - view.x) * view.scale, height / 2 - (y - view.y) * view.scale];
  }
  toData(px, py) {
    const { view, width, height } = this;
    return [view.x + (px - width / 2) / view.scale, view.y - (py - height / 2) / view.scale];
  }
  place(i) {
    return this.toScreen(this.x[i], this.y[i]);
  }
  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const before = this.toData(px, py);
    this.view.scale *= factor;
    const now = this.toData(px, py);
    this.pan((now[0] - before[0]) * this.view.scale, (before[1] - now[1]) * this.view.scale);
  }
  pan(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
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
    const edges = corners.map((corner, i) => [...corner, ...corners.at(i - 1)]);
    const crossed = (x, y) => edges.filter(([ax, ay, bx, by]) =>
      ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax);
    return Array.from(this.x.keys()).filter((i) => crossed(this.x[i], this.y[i]).length % 2);
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
    if (thumbnails && this === this.app.map) this.drawThumbnails(paint, thumbnails);
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

  drawThumbnails(paint, thumbnails) {
    Object.assign(paint, { imageSmoothingEnabled: false, lineWidth: 1.5 * this.ratio });
    const size = THUMBNAIL * this.ratio;
    for (const [i, picture] of thumbnails) {
      const [left, top] = this.place(i).map((value) => value * this.ratio - size / 2);
      const box = [left, top, size, (size * picture.height) / picture.width];
      paint.drawImage(picture, ...box);
      paint.strokeStyle = cssOf(this.app.colours[i]);
      paint.strokeRect(...box);
    }
  }

  // The row in focus, pins, lasso, walk, the point whose pre-image is shown, and the row under the pointer.
  mark() {
    const { app } = this;
    const known = (i) => i >= 0 && i < this.x.length;
    const pinned = app.pins.filter(known).map((i, k) => this.put(i, make("svg:circle", { class: "AB"[k], r: 9 }),
      make("svg:text", { class: "AB"[k], x: 12, y: -8 }, "AB"[k])));
    fill(this.lens);
    fill(this.over, known(app.focus) && this.put(app.focus, make("svg:circle", { r: 6 })), pinned,
      this === app.map && this.marksOfTools());
    if (!known(app.hovered) || app.tool === "back") return;
    const [[px, py], told] = [this.place(app.hovered), app.told.get(app.rowOf(app.hovered))];
    if (told && !app.steps && this === app.map) this.look(told.cells, [px, py], cssOf(app.colours[app.hovered]));
    const word = make("svg:text", { class: "word", y: py > 30 ? py - 14 : py + 24 }, app.wordOf(app.hovered));
    this.over.append(word);
    const wide = word.getComputedTextLength();
    word.setAttribute("x", clamp(px - wide / 2, 4, this.width - wide - 4));
  }

  put(i, ...marks) {
    return make("svg:g", { transform: `translate(${this.place(i).join(" ")})` }, marks);
  }

  marksOfTools() {
    const { lasso, cross, tracing, probe, steps, walkSlider } = this.app;
    const corners = lasso.length ? [...lasso, ...(cross && !tracing ? [cross] : [])] : [];
    const step = steps?.[Number(walkSlider.value)];
    const crossed = ([x, y]) => make("svg:path", { d: `M${x + 4} ${y}h8m-24 0h8m4 4v8m0-24v8` });
    const point = ({ at, values }) => {
      if (values) this.look(values, this.toScreen(...at));
      return crossed(this.toScreen(...at));
    };
    return [corners.length && make("svg:polygon", { points: joined(corners) }), cross && crossed(cross),
      steps && make("svg:polyline", { points: joined(steps.map(({ at }) => this.toScreen(...at))) }),
      step && point(step), probe && point(probe)];
  }

  // Show values as a picture beside a place.
  look(values, [px, py], colour = "") {
    if (!this.app.info.image) return;
    const picture = this.app.picture(values);
    const left = px + LENS + 30 < this.width ? px + 16 : px - LENS - 16;
    const top = clamp(py - LENS / 2, 4, this.height - LENS - 4);
    Object.assign(picture.style, { left: `${left}px`, top: `${top}px`, width: `${LENS}px`, borderColor: colour });
    fill(this.lens, picture);
  }
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

class App {
  constructor(link, el) {
    this.link = link;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.helpId = `mx-help-${Math.random().toString(36).slice(2)}`;
    Object.assign(this, { colours: new Uint32Array(0), theme: { paper: [255, 255, 255], ink: [0, 0, 0] } });
    Object.assign(this, { told: new Map(), tool: "look", recipeKind: "python", picked: [] });
    this.reset();
    this.lines = Object.fromEntries(KINDS.map((kind) => [kind, new Line(this, kind)]));
    this.build(el);
    this.retheme();
    this.dark.addEventListener("change", (this.onTheme = () => this.retheme()));
    if (link.watch) link.watch((busy) => this.showBusy(busy), () => this.ended());
    this.ask("open", {}, (info) => this.opened(info));
  }

  ask(kind, body, done) {
    this.lines[kind].send({ model: this.model?.model, axes: this.axes, ...body }, done);
  }

  // What belongs to one table, and what a tool has begun.
  reset() {
    Object.assign(this, { pins: [], focus: -1, hovered: -1, steps: null, chosen: null, thumbnails: null, axes: [0, 1],
      numbers: null, straightShares: null });
    this.putDown();
  }
  putDown() {
    Object.assign(this, { lasso: [], tracing: false, cross: null, probe: null });
  }

  // The parts of the page

  build(el) {
    this.title = make("h1", {}, "mercer explore");
    this.about = make("span", { class: "soft small" });
    this.errorText = make("span", { class: "grow" });
    this.error = make("div", { class: "error", role: "alert", hidden: true }, this.errorText,
      button("Close", () => (this.error.hidden = true)));
    this.file = make("input", { type: "file", accept: ".csv,text/csv", hidden: true, "aria-label": "A CSV file",
      onchange: () => this.openFile(this.file.files[0]) });
    this.map = new Plot(this, "Map of the rows");
    this.straight = new Plot(this, "Linear PCA of the same rows");
    this.straight.node.hidden = true;
    this.legend = make("div", { class: "legend", "aria-hidden": "true" });
    this.notes = make("div", { class: "notes", role: "note" });
    this.map.node.append(this.legend, this.notes);
    this.plots = make("div", { class: "plots" }, this.map.node, this.straight.node);
    this.status = make("span", { role: "status" }, "Reading the table …");
    this.progress = make("progress", { max: 1, value: 0, hidden: true, "aria-label": "How far the computation is" });
    this.stopButton = button("Stop", () => this.link.ask("stop", {}).catch(() => {}), { hidden: true });
    this.live = make("div", { class: "hidden", "aria-live": "polite" });
    const side = (name, label, ...cards) =>
      make("div", { class: `side ${name}`, role: "region", "aria-label": label }, cards);
    this.unready = [this.buildScree(), this.buildAlarm(), this.buildOut(), this.plots]; // they need a model
    this.body = make("div", { class: "body" }, side("fit", "Model", this.buildFit(), this.unready.slice(0, 3)),
      make("main", { class: "stage" }, this.buildBar(), this.plots,
        make("div", { class: "under" }, this.status, this.progress, this.stopButton)),
      side("row", "Row", this.buildRow()));
    for (const part of [this.body, ...this.unready]) part.inert = true;
    const open = button("Open CSV …", () => this.file.click(), { hidden: !this.link.watch });
    const header = make("header", {}, this.title, this.about, make("span", { class: "grow" }), open, this.file);
    const help = make("div", { class: "hidden", id: this.helpId }, HELP);
    this.root = make("div", { class: `mx ${this.link.watch ? "" : "widget"}` },
      make("div", { class: "inner" }, header, this.error, this.body, help, this.live));
    for (const plot of [this.map, this.straight]) this.listenTo(plot);
    this.keys = this.link.watch ? document : this.root; // in a notebook, only what is typed inside
    this.keys.addEventListener("keydown", (this.onKey = (event) => this.key(event)));
    if (this.link.watch) this.listenForFiles();
    el.append(this.root);
  }

  buildBar() {
    const tool = (name, label, key) => button(label, () => this.setTool(name),
      { "aria-pressed": String(name === this.tool), title: `${label} (key ${key})`, "data-tool": name });
    const toggle = (label, title, onclick) => button(label, onclick, { "aria-pressed": "false", title });
    this.tools = group("What dragging does", tool("look", "Look", 1), tool("lasso", "Lasso", 2),
      tool("back", "Back to data", 3));
    this.axisSelects = ["Horizontal component", "Vertical component"].map((name) => choice(name, () => this.setAxes()));
    this.colourBy = choice("Colour by", () => this.recolour());
    const beside = "Linear PCA of the same rows beside it (key L)";
    this.linearButton = toggle("Linear PCA", beside, () => this.toggleLinear());
    this.pictureButton = toggle("Pictures", "Pictures on the map (key I)", () => this.toggleThumbnails());
    return make("div", { class: "bar" }, this.tools,
      button("All", () => this.showAll(), { title: "Show all rows (key 0)", "aria-label": "Show all rows" }),
      this.axisSelects, make("label", { class: "small soft" }, "colour ", this.colourBy), this.linearButton,
      this.pictureButton);
  }

  buildFit() {
    const refit = () => this.refit();
    const line = (text, input) => make("label", { class: "line" }, make("span", {}, text), input);
    [this.modelSelect, this.kernelSelect] = [choice("Model", refit), choice("Kernel", refit)];
    for (const [name, [label]] of Object.entries(SLIDERS)) {
      this[name] = slider(label, refit);
      this[`${name}Line`] = line("", this[name]);
    }
    this.degreeLine.hidden = this.clustersLine.hidden = true;
    const median = make("div", { class: "mark", "aria-hidden": "true" }, make("span", {}, "│ median"));
    this.widthLine = make("div", {}, this.widthLine, median);
    this.scale = make("input", { type: "checkbox", onchange: refit,
      "aria-label": "Scale columns to mean 0 and variance 1" });
    [this.facts, this.warnings] = [make("dl"), make("div", { class: "warn" })];
    return card("Fit", line("Model", this.modelSelect), line("Kernel", this.kernelSelect), this.widthLine,
      this.degreeLine, this.componentsLine, this.clustersLine, line("Scale", this.scale), this.facts, this.warnings);
  }

  // A chart that is pressed or dragged over: `pick` is told how far to the right, from 0 to 1.
  buildChart(pick, attributes) {
    const drag = (event) => {
      if (event.type === "pointermove" && !event.buttons) return;
      const box = node.getBoundingClientRect();
      node.setPointerCapture(event.pointerId); // the chart is drawn anew while it is dragged
      pick(clamp((event.clientX - box.left) / box.width, 0, 1));
    };
    const node = make("div", { class: "chart", onpointerdown: drag, onpointermove: drag, ...attributes });
    return node;
  }

  buildScree() {
    const pick = (t) => this.setComponents(Math.floor((t * WIDE - 2) / ((WIDE - 4) / this.screeShares.length)) + 1);
    this.screeBox = this.buildChart(pick, { role: "slider", tabindex: 0, "aria-valuemin": 1,
      "aria-label": "Components, on their shares of the variance", onkeydown: (event) => this.keyScree(event) });
    return card("Variance", this.screeBox, note("Bars: shares of the variance in feature space. Line: linear PCA, of "
      + "the data's. A click or the arrow keys set the number."));
  }

  buildAlarm() {
    this.alarmBox = this.buildChart((t) => this.moveLimit(t));
    this.limit = slider("Limit of the novelty", () => this.showAlarm());
    this.alarmText = note("", "small");
    this.flagButton = button("Show these", () => this.showFlagged());
    return card("Alarm", this.alarmBox, this.limit, this.alarmText, this.flagButton);
  }

  buildOut() {
    this.selectedText = note("");
    this.rowsButton = button("Rows (CSV)", () => this.export("rows", { rows: this.picked }));
    this.modelButton = button("Model (.mercer)", () => this.export("save", {}));
    this.recipe = make("pre", { tabindex: "0", "aria-label": "Lines that make the same model" });
    const tab = (kind, label) => button(label, () => this.showRecipe(kind), { "data-kind": kind });
    this.recipeTabs = group("Recipe as", tab("python", "Python"), tab("command", "Command"));
    const refused = "The browser does not allow copying: select the lines.";
    const copy = () => navigator.clipboard.writeText(this.recipe.textContent);
    const copyButton = button("Copy", () => copy().then(() => this.say("Copied."), () => this.say(refused)));
    return card("Out", this.selectedText, row(this.rowsButton, this.modelButton), row(this.recipeTabs, copyButton),
      this.recipe);
  }

  buildRow() {
    this.details = make("div", { class: "details" });
    this.walkSlider = slider("Where on the walk from A to B", () => this.pause());
    this.walkButton = button("Walk from A to B", () => this.play(), { title: "Walk from A to B (key W)" });
    const unpin = button("Unpin", () => this.unpin());
    this.walkBox = make("div", { class: "walk", hidden: true }, row(this.walkButton, unpin), this.walkSlider);
    return make("section", {}, this.walkBox, this.details);
  }

  // Events

  listenForFiles() {
    const drop = (event) => {
      event.preventDefault();
      this.root.classList.toggle("dropping", event.type === "dragover");
      if (event.type === "drop") this.openFile(event.dataTransfer.files[0]);
    };
    for (const name of ["dragover", "dragleave", "drop"]) this.root.addEventListener(name, drop);
  }

  listenTo(plot) {
    const { over } = plot;
    const touching = new Map(); // fingers, or the mouse
    let [begun, before, moved, pinch] = [null, null, false, null];
    const tool = () => (plot === this.map ? this.tool : "look");
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
      if (tool() === "lasso") Object.assign(this, { lasso: [begun], tracing: true, cross: null });
      if (tool() === "back") this.beginBack(begun);
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
      } else if (tool() === "back") this.backTo(plot.toData(...now));
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
      else if (!moved && tool() === "look") this.pin(plot.nearest(...place(event), 2 * NEAR));
      begun = null;
    };
    const wheel = (event) => {
      event.preventDefault();
      plot.zoom(Math.exp(-event.deltaY * 0.0016), ...place(event)); // a usual step of the wheel is a fifth
    };
    const handlers = { pointerdown: down, pointermove: move, pointerup: end, pointercancel: end, wheel,
      pointerleave: () => this.hover(-1), dblclick: () => tool() === "look" && this.showAll() };
    for (const [name, handler] of Object.entries(handlers)) over.addEventListener(name, handler, { passive: false });
  }

  key(event) {
    const { key, target, shiftKey, ctrlKey, metaKey, altKey } = event;
    if (!this.model || ctrlKey || metaKey || altKey || target.matches("input, select, textarea")) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const plot = [this.straight, this.map].find((item) => item.over === target);
    const zoom = (factor) => () => (plot || this.map).zoom(factor);
    const anywhere = { 1: () => this.setTool("look"), 2: () => this.setTool("lasso"), 3: () => this.setTool("back"),
      0: () => this.showAll(), l: () => this.toggleLinear(), w: () => this.pins.length === 2 && this.play(),
      i: () => this.pictureButton.disabled || this.toggleThumbnails(), escape: () => this.clear(),
      "+": zoom(1.25), "=": zoom(1.25), "-": zoom(0.8) };
    const onMap = { " ": () => this.tool === "lasso" && this.cross && this.lasso.push([...this.cross]),
      enter: () => (this.tool === "lasso" ? this.closeLasso() : this.tool === "look" && this.pin(this.focus)) };
    const name = key.toLowerCase();
    if (anywhere[name]) anywhere[name]();
    else if (plot && arrows[key]) this.arrow(plot, arrows[key], shiftKey);
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
    this.choose([]);
    Object.assign(this.title, { textContent: info.name.split(/[\\/]/).pop(), title: info.name });
    this.about.textContent = `${count(info.rows, "row")} × ${count(info.columns.length, "column")}`;
    fill(this.notes, info.notes.map((text) => make("p", {}, text)));
    const named = (name) => option([name, LABELS[name]]);
    fill(this.modelSelect, info.models.map(named));
    fill(this.kernelSelect, info.kernels.map(named));
    for (const [name, [min, max, step]] of Object.entries(info.ranges)) Object.assign(this[name], { min, max, step });
    this.showSettings(info.settings);
    this.prediction = option(["prediction", "prediction"]);
    this.prediction.hidden = true;
    fill(this.colourBy, option(["none", "nothing"]), option(["novelty", "novelty"]), this.prediction,
      info.colours.map((name, i) => option([`column ${i}`, name])));
    this.colourBy.value = info.colours.includes(info.target) ? `column ${info.colours.indexOf(info.target)}` : "none";
    this.pictureButton.disabled = !info.image;
    press(this.pictureButton, false);
    this.showDetails();
    if (info.drawn < info.rows) this.ask("drawn", {}, (answer) => (this.numbers = answer.arrays[0]));
    if (info.model) this.ask("map", { model: info.model }, (answer) => this.fitted(answer));
    else this.refit();
  }

  showSettings(settings) {
    const { model, kernel, scale } = settings;
    [this.modelSelect.value, this.kernelSelect.value, this.scale.checked] = [model, kernel, scale];
    const values = { ...settings, width: Math.log10(settings.width) };
    for (const name of Object.keys(SLIDERS)) this[name].value = values[name];
    this.labelSettings();
  }
  settings() {
    const numbers = Object.fromEntries(Object.keys(SLIDERS).map((name) => [name, Number(this[name].value)]));
    return { model: this.modelSelect.value, kernel: this.kernelSelect.value, ...numbers, width: 10 ** numbers.width,
      scale: this.scale.checked };
  }
  labelSettings() {
    for (const [name, [label, text]] of Object.entries(SLIDERS)) {
      const [input, told] = [this[name], text(this[name].value)];
      input.previousSibling.textContent = told;
      input.setAttribute("aria-valuetext", `${label}: ${told}`);
    }
    this.widthLine.hidden = !this.info.wide.includes(this.kernelSelect.value);
    this.degreeLine.hidden = this.kernelSelect.value !== "poly";
    this.clustersLine.hidden = this.modelSelect.value !== "mixture";
  }

  refit() {
    this.labelSettings();
    this.status.textContent = "Fitting …";
    this.ask("fit", { settings: this.settings() }, (answer) => this.fitted(answer));
  }

  fitted(answer) {
    const [[x, y], { shares, axes }] = [answer.arrays, answer];
    this.error.hidden = true;
    for (const part of this.unready) part.inert = false;
    for (const kind of ["row", "back", "walk"]) this.lines[kind].next = null;
    Object.assign(this, { model: answer, axes, steps: null });
    this.told.clear();
    this.fillAxes();
    Object.assign(this.prediction, { hidden: !answer.predicts, textContent: answer.predicts || "prediction" });
    if (!answer.predicts && this.colourBy.value === "prediction") this.colourBy.value = "none";
    if (this.colours.length !== x.length) this.plain(x.length);
    this.map.setPoints(x, y, true);
    this.map.name.textContent = axes.map((j) => `component ${j + 1} (${percent(shares[j] || 0)})`).join(" × ");
    this.showFacts(answer);
    this.recolour();
    this.drawScree(shares);
    this.ask("novelty", {}, (found) => this.gotNovelty(found));
    this.ask("linear", {}, (found) => this.gotLinear(found));
    this.ask("scree", {}, (found) => answer === this.model && this.drawScree(found.shares));
    this.showPins();
    for (const i of this.pins) this.askRow(i);
    if (this.probe) this.backTo(this.probe.at);
    this.showRecipe();
    this.showSelected();
  }

  showFacts({ kernel, shares, settings, kind, solver, passes, anchors, outside, standIn, ...model }) {
    const straight = this.straightShares || [];
    const facts = {
      Kernel: kernel.replace(/(\d\.\d{4})\d+/g, "$1…"),
      Holds: `${percent(sum(shares))} of the variance in feature space`,
      Model: settings ? "" : `${kind}, as it was given; a control refits it`,
      "Linear PCA": straight.length > 0
        && `${percent(sum(straight))} of the data's variance, ${count(straight.length, "component")}`,
      "Found by": `${solver}, ${count(passes || 0, "pass", "passes")}, ${count(anchors, "anchor")}`,
      Outside: outside > 0 && `${percent(outside)} of the variance lies outside the landmarks`,
      Map: standIn && "the kernel PCA of the rows with the model's kernel",
    };
    const known = Object.entries(facts).filter(([, text]) => text);
    fill(this.facts, known.map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
    fill(this.warnings, model.warnings.map((text) => make("p", {}, text)));
    this.status.textContent = `${settings ? "Fitted" : "Mapped"} in ${figure(model.seconds, 2)} s`;
    if (model.components === 0)
      this.fail("The rows are all alike: no component holds any variance. Choose other columns.");
  }

  fillAxes() {
    const components = Array.from({ length: Math.max(2, this.model.components) }, (_, j) => j);
    this.axisSelects.forEach((select, k) => {
      fill(select, components.map((j) => option([j, `${"xy"[k]}: ${j + 1}`])));
      select.value = this.axes[k];
    });
  }
  setAxes() {
    this.axes = this.axisSelects.map((select) => Number(select.value));
    this.probe = null;
    this.ask("map", {}, (answer) => this.fitted(answer));
  }
  rowOf(i) {
    return this.numbers ? this.numbers[i] : i;
  }

  // Colours

  plain(n) {
    Object.assign(this, { values: null, words: null });
    this.paint(new Uint32Array(n).fill(abgr(rgb(PALETTE[0]))));
    fill(this.legend);
  }
  paint(colours) {
    this.colours = colours;
    this.dimmed = colours.map((colour) => abgr(mixed(parts(colour), this.theme.paper, 0.84)));
    this.redraw();
  }

  recolour() {
    if (!this.model) return;
    const by = this.colourBy.value;
    if (by === "none") {
      this.plain(this.map.x.length);
      return;
    }
    const wanted = by.startsWith("column") ? { column: this.info.colours[Number(by.slice(7))] } : by;
    this.ask("colour", { by: wanted }, ({ words, ends: [low, high], arrays: [values] }) => {
      if (values.length !== this.map.x.length) return;
      Object.assign(this, { values, words });
      const kinds = PALETTE.map((hex) => abgr(rgb(hex)));
      const missing = abgr(rgb(MISSING));
      const shade = (v) => RAMP_SHADES[Math.round(255 * clamp((v - low) / (high - low || 1), 0, 1))];
      const colour = (v) => (Number.isNaN(v) ? missing : words ? kinds[v % kinds.length] : shade(v));
      this.drawLegend(low, high);
      this.paint(Uint32Array.from(values, colour));
    });
  }

  drawLegend(low, high) {
    const some = (this.words || ["scale"]).slice(0, 12); // more would cover the map
    const marks = some.map(() => make("i"));
    if (this.words) {
      marks.forEach((mark, i) => (mark.style.background = PALETTE[i % PALETTE.length]));
      const more = this.words.length - some.length;
      fill(this.legend, marks.map((mark, i) => make("span", {}, mark, some[i])), more ? `and ${more} more` : null);
      return;
    }
    Object.assign(marks[0], { className: "scale" }).style.background = `linear-gradient(to right, ${RAMP})`;
    fill(this.legend, make("span", {}, figure(low, 3), marks, figure(high, 3)));
  }

  retheme() {
    if (!this.root?.isConnected) return; // a notebook's cell is filled before it is shown
    const style = getComputedStyle(this.root);
    const numbers = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
    this.theme = { paper: numbers(style.backgroundColor), ink: numbers(style.color) };
    if (this.thumbnails) this.makeThumbnails();
    this.paint(this.colours);
    this.showDetails();
  }
  redraw() {
    for (const plot of [this.map, this.straight]) if (!plot.node.hidden) plot.draw();
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
    const ask = (causes) => this.ask("row", { row, causes }, (answer) => {
      if (model !== this.model.model) return;
      this.told.set(answer.row, answer);
      this.showDetails();
      this.map.mark();
    });
    clearTimeout(this.resting);
    if (!this.told.has(row)) ask(false);
    if (!this.told.get(row)?.causes)
      if (this.pins.includes(i)) ask(true);
      else this.resting = setTimeout(() => (this.hovered === i || this.focus === i) && ask(true), PAUSE);
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
    this.steps = null;
    this.walkBox.hidden = this.pins.length < 1;
    this.walkButton.disabled = this.pins.length < 2;
    this.walkSlider.hidden = true;
  }

  // Numbers as a picture: the first of `range` is the paper, the second the ink.
  picture(values, name = "picture", [low, high] = this.info.range, ink = this.theme.ink) {
    const [height, width] = this.info.image;
    const canvas = make("canvas", { width, height, role: "img", "aria-label": name });
    const paint = canvas.getContext("2d");
    const image = paint.createImageData(width, height);
    const shade = (value) => abgr(mixed(this.theme.paper, ink, clamp((value - low) / (high - low || 1), 0, 1)));
    new Uint32Array(image.data.buffer).set(Array.from(values, shade));
    paint.putImageData(image, 0, 0);
    return canvas;
  }
  figures(...items) {
    const figures = () => items.map(([values, name, ...shades]) =>
      make("figure", {}, this.picture(values, name, ...shades), name));
    return this.info.image && make("div", { class: "pictures" }, figures());
  }

  showDetails() {
    if (!this.info) return;
    const rows = this.pins.map((i, k) => ({ told: this.told.get(this.rowOf(i)), mark: "AB"[k] }));
    const pinned = rows.filter((item) => item.told);
    const at = this.hovered >= 0 ? this.hovered : pinned.length ? -1 : this.focus;
    const pointed = at >= 0 && !this.pins.includes(at) ? this.told.get(this.rowOf(at)) : null;
    const shown = pointed && pinned.length < 2 ? [...pinned, { told: pointed, mark: "" }] : pinned;
    if (this.probe?.cells) fill(this.details, this.backNodes(this.probe));
    else if (this.steps) fill(this.details, this.stepNodes(pinned));
    else if (shown.length) fill(this.details, shown.map((item) => this.rowNodes(item)), this.tableOf(shown));
    else fill(this.details, make("h2", {}, "Row"), make("p", { class: "soft" }, POINT));
  }

  rowNodes({ told, mark }) {
    const text = [`Novelty ${figure(told.novelty)}, above ${percent(told.below)} of the rows`];
    text.push(`p ${figure(told.p, 3)} (${told.law})`);
    if (told.prediction !== null) text.push(`${this.model.predicts} ${told.prediction}`);
    if (told.target !== null) text.push(`${this.info.target} ${figure(told.target)}`);
    return [make("h2", {}, `Row ${told.row} `, mark && make("span", { class: mark }, mark)),
      make("p", { class: "small", "data-novelty": told.novelty }, text.join(" · ")),
      told.reason ? note(`No contributions: ${told.reason}`) : null];
  }

  // The rows that are shown, as pictures and as a table of the columns that stand out most.
  tableOf(shown, pictures = shown.map(({ told, mark }) => [told.cells, `row ${told.row} ${mark}`])) {
    const { columns, typical } = this.info;
    const marked = shown.find(({ told }) => told.causes);
    const causes = marked?.told.causes;
    const far = (j) => {
      if (causes) return Math.abs(causes[j]);
      const [low, middle, high] = typical[j] || [0, 0, 1];
      const gap = (value) => (typeof value === "number" ? Math.abs(value - middle) / (high - low || 1) : 0);
      return Math.max(...shown.map(({ told }) => gap(told.cells[j])));
    };
    const order = Array.from(columns.keys()).sort((a, b) => far(b) - far(a)).slice(0, SHOWN);
    const most = causes ? Math.max(...causes.map(Math.abs), 1e-300) : 1;
    const two = shown.length > 1;
    const chart = (tag, ...content) => make(tag, { class: "chart" }, content);
    const head = [make("th", {}, "column"),
      shown.map(({ mark }) => make("th", {}, make("span", { class: mark || false }, mark || "value"))),
      chart("th", "typical"), causes && chart("th", two ? `adds, ${marked.mark}` : "contribution")];
    const line = (j) => make("tr", {}, make("td", { title: columns[j] }, columns[j]),
      shown.map(({ told }) => make("td", {}, figure(told.cells[j], two ? 3 : 4))),
      chart("td", typical[j] ? rangeChart(typical[j], shown.map(({ told }) => told.cells[j])) : "words"),
      causes && chart("td", causeChart(causes[j], most)));
    if (causes) pictures.push([causes, "contributions", [0, most], rgb(PALETTE[1])]);
    const left = columns.length - order.length;
    return [this.figures(...pictures), make("table", { class: two && "two" }, make("thead", {}, make("tr", {}, head)),
      make("tbody", {}, order.map(line))),
      left ? note(`The ${order.length} that stand out most, of ${columns.length} columns.`) : null];
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
    this.ask("back", { at, row: this.probe.row }, ({ cells, error, share, arrays: [values] }) => {
      if (!this.probe) return;
      Object.assign(this.probe, { cells, error, share, values, found: at });
      this.live.textContent = `Pre-image found, error ${figure(error, 3)}`;
      this.showDetails();
      this.map.mark();
    });
  }
  backNodes({ row, cells, found, error, share, values }) {
    const rest = row === null ? "the 10 nearest rows" : `row ${row}`;
    const text = `Pre-image at (${found.map((v) => figure(v, 3)).join(", ")}): squared error ${figure(error)}, `
      + `${percent(share)} of the variance. Other components as in ${rest}.`;
    return [make("h2", {}, "Back to data"), make("p", { class: "small", "data-error": error }, text),
      this.tableOf([{ told: { cells }, mark: "" }], [[values, "pre-image"]])];
  }

  play() {
    clearInterval(this.playing);
    if (this.steps) {
      this.begin();
      return;
    }
    this.ask("walk", { rows: this.pins.map((i) => this.rowOf(i)) }, ({ cells, arrays: [values, x, y] }) => {
      const d = values.length / x.length;
      const part = (i) => values.subarray(i * d, (i + 1) * d);
      this.steps = cells.map((row, i) => ({ cells: row, values: part(i), at: [x[i], y[i]] }));
      this.begin();
    });
  }
  begin() {
    const last = this.steps.length - 1;
    const first = this.still.matches ? Math.round(last / 2) : 0;
    Object.assign(this.walkSlider, { hidden: false, max: last, value: first });
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
  stepNodes(pinned) {
    const [{ cells, values }, n] = [this.steps[Number(this.walkSlider.value)], this.steps.length];
    const step = `${Number(this.walkSlider.value) + 1} of ${n}`;
    const [a, b] = pinned.map(({ told, mark }) => [told.cells, `row ${told.row} ${mark}`]);
    const pictures = [a, [values, `step ${step}`], b].filter((item) => item);
    return [make("h2", {}, "Walk"),
      note(`Step ${step} from A to B: the pre-images of the straight line between them.`, "small"),
      this.tableOf([{ told: { cells }, mark: "" }], pictures)];
  }

  // Selection

  setTool(tool) {
    for (const item of this.tools.children) press(item, item.dataset.tool === tool);
    this.tool = tool;
    this.putDown();
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
    const none = "No rows selected: use the lasso, or the alarm.";
    this.selectedText.textContent = n ? `${count(n, "row")} selected.` : none;
    this.rowsButton.disabled = !n;
  }
  clear() {
    this.focus = -1;
    this.putDown();
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
    const told = (j) => `component ${j + 1} (${percent(shares[j] || 0)})`;
    this.straightShares = shares;
    this.straight.setPoints(x, y, false);
    this.straight.name.textContent = `linear PCA: ${told(0)} × ${told(1)}`;
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
    const points = [...cells.values()];
    this.ask("pictures", { rows: points.map((i) => this.rowOf(i)) }, ({ arrays: [values] }) => {
      const d = values.length / points.length;
      this.thumbnails = points.map((i, k) => [i, this.picture(values.subarray(k * d, (k + 1) * d))]);
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
    const bars = shares.map((share, j) => {
      const height = Math.max(1, up(share));
      return make("svg:rect", { x: 2 + j * step, y: HIGH - 14 - height, width: Math.max(1, step - 1.5), height,
        class: j < q ? "held" : "free" }, make("svg:title", {}, `component ${j + 1}: ${percent(share)}`));
    });
    const points = joined(straight.map((share, j) => [2 + (j + 0.5) * step, HIGH - 14 - up(share)]));
    const told = `Shares of ${count(shares.length, "component")}; the model has ${q}`;
    fill(this.screeBox, chart(told, bars, make("svg:polyline", { points, class: "straight" }), label(2, HIGH - 2, "1"),
      label(WIDE - 2, HIGH - 2, String(shares.length), "end"), label(WIDE - 2, 10, percent(top), "end")));
    const now = { "aria-valuemax": shares.length, "aria-valuenow": q, "aria-valuetext": told };
    for (const [name, value] of Object.entries(now)) this.screeBox.setAttribute(name, value);
  }
  keyScree(event) {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity }[event.key];
    if (!step) return;
    event.preventDefault();
    this.setComponents(Number(this.components.value) + step);
  }
  setComponents(q) {
    this.components.value = clamp(q, 1, this.screeShares.length);
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
    const [across, down] = [up(limits[k]), at(flagged[k])];
    const points = joined(limits.map((v, j) => [at(flagged[j]), up(v)]));
    fill(this.alarmBox, chart("Novelty of all rows, largest first", make("svg:polyline", { class: "curve", points }),
      make("svg:path", { class: "limit", d: `M0 ${across}H${WIDE}M${down} 4V${HIGH - 14}` }),
      label(2, HIGH - 2, "most unusual"), label(WIDE - 2, HIGH - 2, "most usual", "end")));
    this.alarmText.textContent = `Limit ${figure(limits[k])} (${name}) flags ${count(flagged[k], "row")}; `
      + `${figure(expected[k], 3)} expected by chance, by ${law}.`;
    this.limit.setAttribute("aria-valuetext", this.alarmText.textContent);
    this.flagButton.disabled = !flagged[k];
  }
  moveLimit(t) {
    const { flagged } = this.alarm;
    const m = Math.expm1(t * Math.log1p(flagged.at(-1) || 1));
    this.limit.value = flagged.reduce((best, f, j) => (Math.abs(f - m) < Math.abs(flagged[best] - m) ? j : best), 0);
    this.showAlarm();
  }
  showFlagged() {
    const rows = Array.from(this.alarm.arrays[1].subarray(0, this.alarm.flagged[Number(this.limit.value)]));
    const places = this.numbers && new Map(Array.from(this.numbers, (row, i) => [row, i]));
    this.choose(places ? rows.map((row) => places.get(row)).filter((i) => i !== undefined) : rows, rows);
  }

  // Out

  export(kind, body) {
    this.ask(kind, body, ({ name, arrays: [bytes] }) => {
      const address = URL.createObjectURL(new Blob([bytes]));
      make("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
      this.say(`${name} is among your downloads.`);
    });
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
    this.lines.table.send(file, (info) => {
      this.opened(info);
      this.say(`${file.name} is open.`);
    }, "text/csv");
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
    if (!this.over) this.fail(STOPPED);
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

// Charts: the wide ones of the cards, and the small ones in the table of a row.
const drawing = (name, box, parts) => make("svg:svg", { viewBox: box, role: "img", "aria-label": name }, parts);
const chart = (name, ...parts) => drawing(name, `0 0 ${WIDE} ${HIGH}`, parts);
const label = (x, y, text, anchor = "start") => make("svg:text", { x, y, "text-anchor": anchor }, text);

// A value beside the range of 90 % of the rows and their median.
function rangeChart([low, middle, high], values) {
  const numbers = values.filter((value) => typeof value === "number");
  const [from, to] = [Math.min(low, ...numbers), Math.max(high, ...numbers)];
  const at = (value) => 4 + ((value - from) / (to - from || 1)) * 62;
  const name = `90 % of the rows lie from ${figure(low)} to ${figure(high)}, the median is ${figure(middle)}`;
  const range = { class: "range", x: at(low), y: 5, width: Math.max(1, at(high) - at(low)), height: 4, rx: 2 };
  const dot = (value, k) =>
    typeof value === "number" ? make("svg:circle", { class: "ab"[k], cx: at(value), cy: 7, r: 3 }) : null;
  return drawing(name, "0 0 70 14", [make("svg:rect", range),
    make("svg:line", { class: "middle", x1: at(middle), x2: at(middle), y1: 3, y2: 11 }), values.map(dot)]);
}
function causeChart(value, most) {
  const width = Math.max(0.5, (Math.abs(value) / most) * 66);
  const bar = { class: value < 0 ? "cause less" : "cause", x: 2, y: 4, width, height: 6, rx: 1 };
  return drawing(figure(value), "0 0 70 14", make("svg:rect", bar));
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
    else {
      const { buffer, byteOffset, byteLength } = buffers[0];
      done(unpack(buffer.slice(byteOffset, byteOffset + byteLength)));
    }
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
