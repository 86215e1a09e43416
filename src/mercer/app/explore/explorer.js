// The explorer: a map of rows, what is behind each point of it, and the controls of the model.
// `render({ model, el })` runs the markup of page.html; `model` is a link with `ask(kind, body)`, or a widget.

const PALETTE = ["#2f7ed8", "#ec6a1f", "#16a085", "#a45fd6", "#d8a013", "#e0507f", "#6f8299", "#12a9c4", "#93653f",
  "#74a832"];
const RAMP = ["#3b4cc0", "#2f7ed8", "#12a9c4", "#74a832", "#d8a013", "#ec6a1f"];
const GLIDE = 450; // milliseconds of a move from one map to the next
const MANY = 40000; // points from which their edges are hard: that is five times faster
const NEAR = 14; // pixels within which a row is pointed at
const UNSTEADY = 3; // pixels that a pointer may move while it clicks
const PAUSE = 120; // milliseconds of rest before the causes of a row are asked for
const THUMBNAIL = 26; // pixels of a picture on the map
const LENS = 84; // pixels of the picture beside the pointer
const SHOWN = 40; // variables in the table of a row
const FRAME = 70; // milliseconds of one step of a walk
const [WIDE, HIGH, FOOT] = [260, 92, 78]; // of a chart, and where its marks stand
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const SLIDERS = { // what is written beside them, and whether the settings have a use for them
  width: [(value) => `γ ${figure(10 ** value, 3)} ×`, ({ kernel }, { wide }) => wide.includes(kernel)],
  degree: [(value) => `Degree ${value}`, ({ kernel }) => kernel === "poly"],
  components: [(value) => `${value} comp.`, () => true],
  clusters: [(value) => `${value} clusters`, ({ model }) => model === "mixture"],
};
const STOPPED = "The server has stopped. Start mercer explore again, and open the address that it prints; this page "
  + "cannot be used any more.";
const [INTERRUPTED, OVER] = [409, 410]; // the status of an answer: the user has ended it, there is no table
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
    if (name === "style") Object.assign(node.style, value); // the policy allows no attribute
    else if (value !== false && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  return fill(node, ...children);
}
function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child ?? false));
  return node;
}
const option = ([value, text]) => make("option", { value }, text);
const note = (text, name = "small soft") => make("p", { class: name }, text);
const press = (node, on) => node.setAttribute("aria-pressed", String(on));
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const sum = (values) => values.reduce((total, value) => total + value, 0);
const joined = (points) => points.map((point) => point.join()).join(" ");

// What is asked for several times before the next frame is done once.
function once(work) {
  let asked = 0;
  return () => (asked ||= requestAnimationFrame(() => {
    asked = 0;
    work();
  }));
}

function figure(value, digits = 4) {
  if (typeof value !== "number") return value ?? "–";
  const size = Math.abs(value);
  const small = size !== 0 && (size >= 1e6 || size < 1e-4);
  const text = small ? value.toExponential(digits - 2).replace("e+", "e") : String(Number(value.toPrecision(digits)));
  return text.replaceAll("-", "−");
}
const percent = (share) => `${figure(100 * share, 3)} %`;
const count = (n, noun, many = `${noun}s`) => `${n.toLocaleString("en")} ${n === 1 ? noun : many}`;
const axisName = (j, shares) => `component ${j + 1} (${percent(shares[j] || 0)})`;

// Colours: three numbers, or one of 32 bits as the canvas has it.
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const abgr = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
const parts = (colour) => [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
const cssOf = (colour) => `rgb(${parts(colour).join(" ")})`;
const mixed = (a, b, share) => a.map((value, i) => Math.round(value + (b[i] - value) * share));
const MISSING = abgr(rgb("#9aa3b2"));
const SHADES = PALETTE.map((hex) => abgr(rgb(hex)));
const RAMP_SHADES = Uint32Array.from({ length: 256 }, (_, i) => {
  const at = (i / 255) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  return abgr(mixed(rgb(RAMP[low]), rgb(RAMP[low + 1]), at - low));
});

const ends = (values) => [Math.min, Math.max].map((most) => values.reduce((a, b) => most(a, b)));
const blend = (a, b, s) => b.map((value, i) => a[i] + (value - a[i]) * s);

// A scatter plot: points on a canvas, and marks above it.
class Plot {
  constructor(app, node) {
    [this.base, this.lens, this.over, this.name] = node.children;
    this.base.style.position = "absolute"; // else it would size what it is sized by, until there is style
    Object.assign(this, { app, node, x: new Float32Array(0), y: new Float32Array(0), view: { x: 0, y: 0, scale: 1 } });
    this.draw = once(() => this.paint());
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
    this.paint();
  }

  setPoints(x, y, glides) {
    const [oldX, oldY, old, begin] = [this.x, this.y, { ...this.view }, performance.now()];
    const same = oldX.length === x.length && x.length > 0;
    const seconds = same && glides && this.width && !this.app.still.matches ? GLIDE : 0;
    Object.assign(this, { x, y });
    if (!this.moved || !same) this.showAll();
    this.target = { ...this.view }; // until the user moves the map
    cancelAnimationFrame(this.gliding);
    const step = (now) => {
      const t = seconds ? clamp((now - begin) / seconds, 0, 1) : 1;
      const s = t * t * (3 - 2 * t);
      this.drawn = t < 1 ? [blend(oldX, x, s), blend(oldY, y, s)] : null;
      for (const [key, end] of Object.entries(this.target || {})) this.view[key] = old[key] + (end - old[key]) * s;
      this.paint();
      if (t < 1) this.gliding = requestAnimationFrame(step);
    };
    step(begin);
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
    const at = this.toData(px, py);
    this.view.scale *= factor;
    const [x, y] = this.toScreen(...at);
    this.pan(px - x, py - y);
  }
  pan(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    Object.assign(this, { moved: true, target: null });
    this.draw();
  }

  // The point with the least score, or −1 where all are infinite.
  least(score) {
    let [best, found] = [Infinity, -1];
    for (let i = 0; i < this.x.length; i++) {
      const now = score(this.x[i], this.y[i]);
      if (now < best) [best, found] = [now, i];
    }
    return found;
  }
  nearest(px, py, within = NEAR) {
    const [[x, y], reach] = [this.toData(px, py), within / this.view.scale];
    return this.least((ax, ay) => {
      const far = Math.hypot(ax - x, ay - y);
      return far < reach ? far : Infinity;
    });
  }
  // The nearest point in a direction, within a right angle around it.
  toward(from, dx, dy) {
    if (from < 0) return this.nearest(this.width / 2, this.height / 2, Infinity);
    const found = this.least((x, y) => {
      const [ax, ay] = [x - this.x[from], y - this.y[from]];
      const [along, aside] = [ax * dx + ay * dy, Math.abs(ax * dy - ay * dx)];
      return along > 0 && aside <= along ? along + 2 * aside : Infinity;
    });
    return found < 0 ? from : found;
  }
  inside(corners) {
    const [canvas, path] = [this.base.getContext("2d"), new Path2D(`M${joined(corners)}Z`)];
    return Array.from(this.x.keys()).filter((i) => canvas.isPointInPath(path, ...this.place(i), "evenodd"));
  }

  paint() {
    if (!this.image || this.node.hidden) return;
    const { colours, dimmed, chosen, theme, thumbnails } = this.app;
    const pixels = new Uint32Array(this.image.data.buffer).fill(abgr(theme.paper));
    const n = this.x.length;
    const dot = disc(clamp(4.2 - Math.log10(Math.max(1, n)) * 0.62, 1, 3.2) * this.ratio, n < MANY, this.base.width);
    if (chosen) this.raster(pixels, dimmed, dot, (i) => !chosen[i]);
    this.raster(pixels, colours, dot, (i) => !chosen || chosen[i]);
    const canvas = this.base.getContext("2d");
    canvas.putImageData(this.image, 0, 0);
    if (thumbnails && this === this.app.map) this.paintThumbnails(canvas, thumbnails);
    this.mark();
  }

  raster(pixels, colours, { reach, offsets, cover }, wanted) {
    const [{ width: w, height: h }, [x, y]] = [this.base, this.drawn || [this.x, this.y]];
    const k = this.view.scale * this.ratio;
    const [left, top] = [w / 2 - this.view.x * k, h / 2 + this.view.y * k];
    const bytes = this.image.data;
    for (let i = 0; i < colours.length; i++) {
      if (!wanted(i)) continue;
      const px = Math.round(left + x[i] * k);
      const py = Math.round(top - y[i] * k);
      if (!(px >= reach && py >= reach && px < w - reach && py < h - reach)) continue;
      const colour = colours[i];
      for (let j = 0; j < cover.length; j++) {
        const at = py * w + px + offsets[j];
        const a = cover[j];
        if (a === 1) pixels[at] = colour;
        else for (let c = 0; c < 3; c++) bytes[4 * at + c] += (((colour >> (8 * c)) & 255) - bytes[4 * at + c]) * a;
      }
    }
  }

  paintThumbnails(canvas, thumbnails) {
    Object.assign(canvas, { imageSmoothingEnabled: false, lineWidth: 1.5 * this.ratio });
    const size = THUMBNAIL * this.ratio;
    for (const [i, picture] of thumbnails) {
      const [left, top] = this.place(i).map((value) => value * this.ratio - size / 2);
      const box = [left, top, size, (size * picture.height) / picture.width];
      canvas.drawImage(picture, ...box);
      canvas.strokeStyle = cssOf(this.app.colours[i]);
      canvas.strokeRect(...box);
    }
  }

  // The row in focus, pins, lasso, walk, the point whose pre-image is shown, and the row under the pointer.
  mark() {
    const { app } = this;
    if (!this.image || this.node.hidden) return;
    const known = (i) => i >= 0 && i < this.x.length;
    const at = (i, ...marks) => make("svg:g", { transform: `translate(${this.place(i).join(" ")})` }, marks);
    const pinned = app.pins.filter(known).map((i, k) => at(i, make("svg:circle", { class: "AB"[k], r: 9 }),
      make("svg:text", { class: "AB"[k], x: 12, y: -8 }, "AB"[k])));
    fill(this.lens);
    fill(this.over, known(app.focus) && at(app.focus, make("svg:circle", { r: 6 })), pinned,
      this === app.map && this.marksOfTools());
    if (!known(app.hovered) || app.tool === "back") return;
    const [[px, py], told] = [this.place(app.hovered), app.told.get(app.rowOf(app.hovered))];
    if (told && !app.steps && this === app.map) this.look(told.cells, [px, py], cssOf(app.colours[app.hovered]));
    const word = make("svg:text", { class: "word", y: py > 30 ? py - 14 : py + 24 }, app.wordOf(app.hovered));
    this.over.append(word);
    const wide = word.getComputedTextLength();
    word.setAttribute("x", clamp(px - wide / 2, 4, this.width - wide - 4));
  }

  marksOfTools() {
    const { lasso, cross, probe, steps, step } = this.app;
    const corners = lasso.length && cross ? [...lasso, cross] : lasso;
    const crossed = ([x, y]) => make("svg:path", { d: `M${x + 4} ${y}h8m-24 0h8m4 4v8m0-24v8` });
    const point = ({ at, cells }) => {
      if (cells) this.look(cells, this.toScreen(...at));
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

// The pixels of a dot in an image: how far from its centre they are, and how much of each is covered.
function disc(radius, soft, width) {
  const reach = Math.ceil(radius);
  const [offsets, cover] = [[], []];
  for (let dy = -reach; dy <= reach; dy++)
    for (let dx = -reach; dx <= reach; dx++) {
      const inside = clamp(radius + 0.5 - Math.hypot(dx, dy), 0, 1);
      if (inside < (soft ? 0.02 : 0.5)) continue;
      offsets.push(dx + dy * width);
      cover.push(soft ? inside : 1);
    }
  return { reach, offsets, cover };
}

class App {
  constructor(link, el) {
    this.closing = new AbortController(); // its signal ends what listens outside of the element
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    Object.assign(this, { link, lines: {}, told: new Map(), tool: "look", recipeKind: "python", picked: [] });
    Object.assign(this, { colours: new Uint32Array(0), theme: { paper: [255, 255, 255], ink: [0, 0, 0] } });
    this.show = once(() => this.showState());
    this.reset();
    this.build(el);
    this.retheme();
    this.dark.addEventListener("change", () => this.retheme(), { signal: this.closing.signal });
    if (link.watch) link.watch((busy) => this.showBusy(busy), () => this.ended());
    this.ask("open", {}, (info) => this.opened(info));
  }

  // Requests of one kind: one is under way, and of those that wait only the newest is sent.
  async ask(kind, body, done, type) {
    const line = (this.lines[kind] ||= { busy: false });
    const given = type ? body : { model: this.model?.model, axes: this.axes, ...body };
    line.next = () => this.link.ask(kind, given, type).then(done);
    if (line.busy) return;
    line.busy = true;
    while (line.next) {
      const send = line.next;
      line.next = null;
      await send().catch((error) => this.failed(error, kind));
    }
    line.busy = false;
  }

  // What belongs to one table, and what a tool has begun.
  reset() {
    Object.assign(this, { pins: [], focus: -1, hovered: -1, steps: null, chosen: null, thumbnails: null, axes: [0, 1],
      numbers: null, straightShares: null });
    this.putDown();
  }
  putDown() {
    Object.assign(this, { lasso: [], cross: null, probe: null });
  }

  // The page, and what its parts do

  build(el) {
    this.root = el.querySelector(".mx");
    this.root.classList.toggle("widget", !this.link.watch);
    for (const node of this.root.querySelectorAll("[data-is]")) this[node.dataset.is] = node;
    this.fields = Object.fromEntries(Array.from(this.fit.querySelectorAll("[name]"), (input) => [input.name, input]));
    this.unready = [...this.root.querySelectorAll("[data-waits]")];
    [this.map, this.straight] = Array.from(this.plots.querySelectorAll(".plot"), (node) => new Plot(this, node));
    this.axisSelects = [this.horizontal, this.vertical];
    this.openButton.hidden = !this.link.watch;
    for (const kind of ["click", "input"])
      this.root.addEventListener(kind, ({ target }) => {
        const { [kind]: method, name } = target.closest(`[data-${kind}]`)?.dataset || {};
        if (method) this[method](name);
      });
    this.help.id = `mx-help-${Math.random()}`; // of its own: a notebook may show several
    for (const plot of [this.map, this.straight]) this.listenTo(plot);
    const keys = this.link.watch ? document : this.root; // in a notebook, only what is typed inside
    keys.addEventListener("keydown", (event) => this.key(event), { signal: this.closing.signal });
    if (this.link.watch) this.listenForFiles();
  }

  browse() {
    this.file.click();
  }
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
    const touching = new Map(); // where the fingers are, or the mouse
    let [begun, before, moved] = [null, null, false];
    const place = (event) => {
      const box = over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const grip = () => { // the middle of the fingers, and how far they are apart
      const [[ax, ay], [bx, by] = [ax, ay]] = touching.values();
      return [(ax + bx) / 2, (ay + by) / 2, Math.hypot(ax - bx, ay - by) || 1];
    };
    const press = (event) => {
      over.setPointerCapture(event.pointerId);
      over.focus({ preventScroll: true });
      touching.set(event.pointerId, place(event));
      before = grip();
      if (touching.size > 1) {
        this.lasso = []; // two fingers zoom, whatever the tool is
        return;
      }
      [begun, moved] = [place(event), false];
      if (this.toolOf(plot) === "lasso") Object.assign(this, { lasso: [begun], cross: null });
      if (this.toolOf(plot) === "back") this.beginBack(begun);
    };
    const drag = (event) => {
      const now = place(event);
      if (!begun) {
        this.hover(plot.nearest(...now));
        return;
      }
      if (touching.has(event.pointerId)) touching.set(event.pointerId, now);
      const [tool, [x, y, wide]] = [touching.size > 1 ? "look" : this.toolOf(plot), grip()];
      moved ||= touching.size > 1 || Math.hypot(x - begun[0], y - begun[1]) > UNSTEADY;
      if (tool === "look" && moved) {
        plot.zoom(wide / before[2], x, y);
        plot.pan(x - before[0], y - before[1]);
      }
      if (tool === "lasso" && this.lasso.length) this.lasso.push(now);
      if (tool === "back") this.backTo(plot.toData(...now));
      before = [x, y, wide];
      this.show();
    };
    const lift = (event) => {
      touching.delete(event.pointerId);
      if (touching.size) before = grip();
      if (!begun || touching.size) return;
      begun = null;
      if (this.toolOf(plot) === "lasso") this.closeLasso();
      else if (this.toolOf(plot) === "look" && !moved) this.pin(plot.nearest(...place(event), 2 * NEAR));
    };
    const wheel = (event) => {
      event.preventDefault();
      plot.zoom(Math.exp(-event.deltaY * 0.0016), ...place(event)); // a usual step of the wheel is a fifth
    };
    const handlers = { pointerdown: press, pointermove: drag, pointerup: lift, pointercancel: lift, wheel,
      pointerleave: () => this.hover(-1), dblclick: () => this.toolOf(plot) === "look" && this.showAll() };
    for (const [name, handler] of Object.entries(handlers)) over.addEventListener(name, handler, { passive: false });
    over.setAttribute("aria-describedby", this.help.id);
  }
  toolOf(plot) {
    return plot === this.map ? this.tool : "look";
  }

  key(event) {
    const { key, target, shiftKey, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    event.stopPropagation(); // else a notebook takes it for a command of its own
    if (!this.model || target.matches("input, select")) return;
    const plot = [this.straight, this.map].find((item) => item.over === target);
    const tool = plot && this.toolOf(plot);
    const zoom = (factor) => () => (plot || this.map).zoom(factor);
    const keys = { Escape: () => this.clear(), "+": zoom(1.25), "=": zoom(1.25), "-": zoom(0.8) };
    for (const button of this.root.querySelectorAll("[data-key]")) keys[button.dataset.key] = () => button.click();
    if (tool === "look") keys.Enter = () => this.pin(this.focus);
    if (tool === "lasso") keys.Enter = () => this.closeLasso();
    if (tool === "lasso") keys[" "] = () => this.cross && this.lasso.push(this.cross);
    if (plot && ARROWS[key]) keys[key] = () => this.arrow(plot, tool, ARROWS[key], shiftKey);
    const act = keys[key] || keys[key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
    this.show();
  }
  arrow(plot, tool, [dx, dy], shift) {
    const step = shift ? 32 : 8; // pixels
    if (tool === "look" && shift) plot.pan(-step * dx, step * dy);
    else if (tool === "look") {
      this.focus = plot.toward(this.focus, dx, dy);
      this.hover(this.focus);
    } else {
      const [x, y] = (this.probe && plot.toScreen(...this.probe.at)) || this.cross || [plot.width / 2, plot.height / 2];
      const to = [clamp(x + dx * step, 0, plot.width), clamp(y - dy * step, 0, plot.height)];
      if (tool === "lasso") this.cross = to;
      else if (this.probe) this.backTo(plot.toData(...to));
      else this.beginBack(to);
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
    this.classifier.hidden = this.classifier.disabled = info.target === null;
    fill(this.notes, info.notes.map((text) => note(text)));
    for (const [name, [min, max, step]] of Object.entries(info.ranges))
      Object.assign(this.fields[name], { min, max, step });
    this.showSettings(info.settings);
    const columns = info.colours.map((name, i) => option([`column ${i}`, name]));
    fill(this.colourBy, Array.from(this.colourBy.options).slice(0, 3), columns);
    this.colourBy.value = info.colours.includes(info.target) ? `column ${info.colours.indexOf(info.target)}` : "none";
    this.pictureButton.disabled = !info.image;
    press(this.pictureButton, false);
    this.show();
    [this.numbers] = info.arrays; // none where all rows are drawn
    if (info.model) this.ask("map", { model: info.model }, (answer) => this.fitted(answer));
    else this.refit();
  }

  showSettings(settings) {
    const values = { ...settings, width: Math.log10(settings.width) };
    for (const [name, input] of Object.entries(this.fields))
      input[input.type === "checkbox" ? "checked" : "value"] = values[name];
    this.labelSettings();
  }
  settings() {
    const valueOf = (input) => (input.type === "range" ? input.valueAsNumber : input.value);
    const values = Object.fromEntries(Object.values(this.fields).map((input) => [input.name, valueOf(input)]));
    return { ...values, width: 10 ** values.width, scale: this.fields.scale.checked };
  }
  labelSettings() {
    for (const [name, [text, isUsed]] of Object.entries(SLIDERS)) {
      const [input, told] = [this.fields[name], text(this.fields[name].value)];
      input.previousElementSibling.textContent = told;
      input.setAttribute("aria-valuetext", told);
      input.parentElement.hidden = !isUsed(this.settings(), this.info);
    }
  }

  refit() {
    this.labelSettings();
    this.say("Fitting …");
    this.ask("fit", { settings: this.settings() }, (answer) => this.fitted(answer));
  }

  fitted(answer) {
    const [[x, y], { shares, axes }] = [answer.arrays, answer];
    const again = this.model?.model === answer.model; // on other components
    this.fail();
    for (const part of this.unready) part.inert = false;
    for (const kind of ["row", "back", "walk"]) if (this.lines[kind]) this.lines[kind].next = null;
    Object.assign(this, { model: answer, axes });
    this.fillAxes();
    Object.assign(this.colourBy.options[2], { hidden: !answer.predicts, textContent: answer.predicts });
    if (!answer.predicts && this.colourBy.value === "prediction") this.colourBy.value = "none";
    if (this.colours.length !== x.length) this.paint(new Uint32Array(x.length).fill(SHADES[0]));
    this.map.setPoints(x, y, true);
    this.map.name.textContent = axes.map((j) => axisName(j, shares)).join(" × ");
    this.showFacts(answer);
    this.say(`${answer.settings ? "Fitted" : "Mapped"} in ${figure(answer.seconds, 2)} s`);
    if (!answer.components) this.fail("The rows are all alike: no component holds any variance. Choose other columns.");
    this.recolour();
    if (!again) {
      this.told.clear();
      this.drawScree(shares);
      this.ask("novelty", {}, (found) => this.gotNovelty(found));
      this.ask("linear", {}, (found) => this.gotLinear(found));
    }
    this.setPins([...this.pins]);
    if (this.probe) this.backTo(this.probe.at);
    this.showRecipe();
  }

  showFacts({ kernel, shares, settings, kind, solver, passes, anchors, outside, standIn, warnings }) {
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
    fill(this.warnings, warnings.map((text) => make("p", {}, text)));
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

  recolour() {
    if (!this.model) return;
    const [kind, i] = this.colourBy.value.split(" ");
    const by = kind === "column" ? { column: this.info.colours[i] } : kind;
    if (by === "none") this.coloured({ words: null, ends: [], arrays: [[]] });
    else this.ask("colour", { by }, (answer) => this.coloured(answer));
  }
  coloured({ words, ends: [low, high], arrays: [values] }) {
    Object.assign(this, { values, words });
    const shade = (v) => RAMP_SHADES[Math.round(255 * clamp((v - low) / (high - low || 1), 0, 1))];
    const colour = (v) => (Number.isNaN(v) ? MISSING : words ? SHADES[v % SHADES.length] : shade(v));
    this.paint(Uint32Array.from(this.map.x, (_, i) => (values.length ? colour(values[i]) : SHADES[0])));
    const mark = (background, name) => make("i", { class: name, style: { background } });
    const [named, more] = [(words || []).slice(0, 12), (words || []).length - 12]; // all of them would cover the map
    fill(this.legend, named.map((word, i) => make("span", {}, mark(PALETTE[i % PALETTE.length]), word)),
      more > 0 && `and ${more} more`, !words && values.length > 0 && make("span", {}, figure(low, 3),
        mark(`linear-gradient(to right, ${RAMP})`, "scale"), figure(high, 3)));
  }
  paint(colours) {
    this.colours = colours;
    this.dimmed = colours.map((colour) => abgr(mixed(parts(colour), this.theme.paper, 0.84)));
    this.redraw();
  }

  retheme() {
    if (!this.root?.isConnected) return; // a notebook's cell is filled before it is shown
    const style = getComputedStyle(this.root);
    const numbers = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
    this.theme = { paper: numbers(style.backgroundColor), ink: numbers(style.color) };
    if (this.thumbnails) this.makeThumbnails();
    this.paint(this.colours);
    this.show();
  }
  redraw() {
    this.map.draw();
    this.straight.draw();
  }
  wordOf(i) {
    const value = this.values?.[i] ?? NaN;
    const word = this.words ? this.words[value] : Number.isNaN(value) ? "" : figure(value);
    return `row ${this.rowOf(i)}${word ? ` · ${word}` : ""}`;
  }

  // Rows

  hover(i) {
    if (i === this.hovered || !this.model) return;
    this.hovered = i;
    this.show();
    clearTimeout(this.speaking);
    if (i < 0 || this.tool === "back") return;
    this.askRows();
    this.speaking = setTimeout(() => (this.live.textContent = this.wordOf(i)), 300);
  }

  // Ask for the rows that are shown, one after the other: what they are, and after a rest their causes.
  askRows(causes = false) {
    const { model } = this.model;
    const rows = [this.hovered, ...this.pins, this.focus].filter((i) => i >= 0).map((i) => this.rowOf(i));
    const [untold, bare] = [rows.find((i) => !this.told.has(i)), rows.find((i) => !this.told.get(i)?.explained)];
    clearTimeout(this.resting);
    if (bare !== undefined && !causes) this.resting = setTimeout(() => this.askRows(true), PAUSE);
    const row = causes ? bare : untold;
    if (row === undefined) return;
    this.ask("row", { row, causes }, (answer) => {
      if (model !== this.model.model) return;
      this.told.set(row, { ...answer, explained: causes });
      this.show();
      this.askRows();
    });
  }

  pin(i) {
    if (i < 0) return;
    this.focus = i;
    this.setPins(this.pins.includes(i) ? this.pins.filter((k) => k !== i) : [...this.pins.slice(-1), i]);
    this.live.textContent = `Row ${this.rowOf(i)} is ${this.pins.includes(i) ? "pinned" : "not pinned any more"}`;
  }
  setPins(pins = []) {
    clearInterval(this.playing);
    Object.assign(this, { pins, steps: null });
    this.askRows();
    this.show();
  }

  // Numbers as a picture: the first of `range` is the paper, the second the ink.
  picture(values, name = "picture", [low, high] = this.info.range, ink = this.theme.ink) {
    const [height, width] = this.info.image;
    const canvas = make("canvas", { width, height, role: "img", "aria-label": name });
    const shade = (value) => abgr(mixed(this.theme.paper, ink, clamp((value - low) / (high - low || 1), 0, 1)));
    const bytes = new Uint8ClampedArray(Uint32Array.from(values, shade).buffer);
    canvas.getContext("2d").putImageData(new ImageData(bytes, width, height), 0, 0);
    return canvas;
  }

  // Everything that follows from the state, but for the points of the maps.
  showState() {
    if (!this.info) return;
    this.map.mark();
    this.straight.mark();
    this.walkBox.hidden = this.pins.length < 1;
    this.walkButton.disabled = this.pins.length < 2;
    this.walkSlider.hidden = !this.steps;
    const toldOf = (i, k) => ({ ...this.told.get(this.rowOf(i)), mark: "AB"[k] || "" });
    const pinned = this.pins.map(toldOf).filter(({ cells }) => cells);
    const at = this.hovered >= 0 || pinned.length ? this.hovered : this.focus;
    const pointed = at < 0 || pinned.length > 1 || this.pins.includes(at) ? {} : toldOf(at);
    const rows = pointed.cells ? [...pinned, pointed] : pinned;
    const shown = this.probe?.cells ? this.backNodes(this.probe) : this.steps ? this.stepNodes(pinned)
      : rows.length && [rows.map((item) => this.rowNodes(item)), this.tableOf(rows)];
    fill(this.details, shown);
    this.details.hidden = !shown;
    this.hint.hidden = Boolean(shown);
  }

  rowNodes({ row, mark, novelty, below, p, law, prediction, target, reason }) {
    const text = [`Novelty ${figure(novelty)}, above ${percent(below)} of the rows`, `p ${figure(p, 3)} (${law})`,
      prediction !== null && `${this.model.predicts} ${prediction}`,
      target !== null && `${this.info.target} ${figure(target)}`];
    return [make("h2", {}, `Row ${row} `, mark && make("span", { class: mark }, mark)),
      make("p", { class: "small", "data-novelty": novelty }, text.filter((part) => part).join(" · ")),
      reason && note(`No contributions: ${reason}`)];
  }

  // Rows as pictures, and as a table of the columns that stand out most.
  tableOf(shown, pictures = shown.map(({ cells, row, mark }) => [cells, `row ${row} ${mark}`])) {
    const { columns, typical, image } = this.info;
    const marked = shown.find(({ causes }) => causes);
    const causes = marked?.causes;
    const far = (j) => {
      if (causes) return Math.abs(causes[j]);
      const [low, middle, high] = typical[j] || [0, 0, 1];
      const gap = (value) => (typeof value === "number" ? Math.abs(value - middle) / (high - low || 1) : 0);
      return Math.max(...shown.map(({ cells }) => gap(cells[j])));
    };
    const order = Array.from(columns.keys()).sort((a, b) => far(b) - far(a)).slice(0, SHOWN);
    const most = causes ? Math.max(...causes.map(Math.abs), 1e-300) : 1;
    const two = shown.length > 1;
    const chart = (tag, ...content) => make(tag, { class: "chart" }, content);
    const head = [make("th", {}, "column"),
      shown.map(({ mark }) => make("th", {}, make("span", { class: mark || false }, mark || "value"))),
      chart("th", "typical"), causes && chart("th", two ? `adds, ${marked.mark}` : "contribution")];
    const line = (j) => make("tr", {}, make("td", { title: columns[j] }, columns[j]),
      shown.map(({ cells }) => make("td", {}, figure(cells[j], two ? 3 : 4))),
      chart("td", typical[j] ? rangeChart(typical[j], shown.map(({ cells }) => cells[j])) : "words"),
      causes && chart("td", causeChart(causes[j], most)));
    if (causes) pictures.push([causes, "contributions", [0, most], rgb(PALETTE[1])]);
    const drawn = ([values, name, ...shades]) => make("figure", {}, this.picture(values, name, ...shades), name);
    return [image && make("div", { class: "pictures" }, pictures.map(drawn)),
      make("table", { class: two && "two" }, make("thead", {}, make("tr", {}, head)),
        make("tbody", {}, order.map(line))),
      order.length < columns.length && note(`The ${SHOWN} that stand out most, of ${columns.length} columns.`)];
  }

  // Back to the data

  beginBack(place) {
    const i = this.map.nearest(...place);
    this.probe = { row: i >= 0 ? this.rowOf(i) : null };
    this.backTo(this.map.toData(...place));
  }
  backTo(at) {
    this.probe.at = at;
    this.show();
    this.ask("back", { at, row: this.probe.row }, ({ cells, error, share }) => {
      if (!this.probe) return;
      Object.assign(this.probe, { cells, error, share, found: at });
      this.live.textContent = `Pre-image found, error ${figure(error, 3)}`;
      this.show();
    });
  }
  backNodes({ row, cells, found, error, share }) {
    const rest = row === null ? "the 10 nearest rows" : `row ${row}`;
    const text = `Pre-image at (${found.map((v) => figure(v, 3)).join(", ")}): squared error ${figure(error)}, `
      + `${percent(share)} of the variance. Other components as in ${rest}.`;
    return [make("h2", {}, "Back to data"), make("p", { class: "small", "data-error": error }, text),
      this.tableOf([{ cells }], [[cells, "pre-image"]])];
  }

  get step() {
    return this.steps?.[Number(this.walkSlider.value)];
  }
  play() {
    clearInterval(this.playing);
    if (!this.steps) {
      const { pins } = this;
      this.ask("walk", { rows: pins.map((i) => this.rowOf(i)) }, ({ rows, arrays: [x, y] }) => {
        if (pins !== this.pins) return; // others by now, or of another model
        this.steps = rows.map((cells, i) => ({ cells, at: [x[i], y[i]] }));
        this.play();
      });
      return;
    }
    const last = this.steps.length - 1;
    Object.assign(this.walkSlider, { max: last, value: this.still.matches ? Math.round(last / 2) : 0 });
    this.show();
    if (!this.still.matches) this.playing = setInterval(() => {
      if (this.walkSlider.value >= last) clearInterval(this.playing);
      this.walkSlider.stepUp();
      this.show();
    }, FRAME);
  }
  pause() {
    clearInterval(this.playing);
    this.show();
  }
  stepNodes(pinned) {
    const [{ cells }, step] = [this.step, `${this.steps.indexOf(this.step) + 1} of ${this.steps.length}`];
    const [a, b] = pinned.map((item) => [item.cells, `row ${item.row} ${item.mark}`]);
    const pictures = [a, [cells, `step ${step}`], b].filter((item) => item);
    return [make("h2", {}, "Walk"),
      note(`Step ${step} from A to B: the pre-images of the straight line between them.`, "small"),
      this.tableOf([{ cells }], pictures)];
  }

  // Selection

  setTool(tool) {
    for (const item of this.tools.children) press(item, item.dataset.name === tool);
    this.tool = tool;
    this.putDown();
    this.show();
  }
  closeLasso() {
    if (this.lasso.length > 2) this.choose(this.map.inside(this.lasso).map((i) => this.rowOf(i)));
    this.lasso = [];
    this.show();
  }
  choose(rows) {
    const [n, picked, none] = [rows.length, new Set(rows), "No rows selected: use the lasso, or the alarm."];
    this.chosen = n ? Uint8Array.from(this.map.x, (_, i) => picked.has(this.rowOf(i))) : null;
    this.picked = rows;
    this.live.textContent = this.selectedText.textContent = n ? `${count(n, "row")} selected.` : none;
    this.rowsButton.disabled = !n;
    this.redraw();
  }
  clear() {
    this.focus = -1;
    this.putDown();
    this.setPins([]);
    this.choose([]);
  }
  showAll() {
    this.map.showAll();
    this.straight.showAll();
    this.redraw();
  }

  // Linear PCA beside the map, pictures on it

  gotLinear({ shares, scree, arrays: [x, y] }) {
    this.straightShares = shares;
    this.straight.setPoints(x, y, false);
    this.straight.name.textContent = `linear PCA: ${axisName(0, shares)} × ${axisName(1, shares)}`;
    this.showFacts(this.model);
    this.drawScree(scree);
  }
  toggleLinear() {
    const shown = this.straight.node.hidden;
    this.straight.node.hidden = !shown;
    this.plots.classList.toggle("two", shown);
    press(this.linearButton, shown);
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
    this.screeShares = shares;
    const [q, straight] = [this.model.components, (this.straightShares || []).slice(0, shares.length)];
    const top = Math.max(...shares, ...straight, 1e-9);
    const step = (WIDE - 4) / shares.length;
    const bars = shares.map((share, j) => {
      const y = Math.min(FOOT - 1, upward(share / top));
      return make("svg:rect", { x: 2 + j * step, y, width: Math.max(1, step - 1.5), height: FOOT - y,
        class: j < q ? "held" : "free" }, make("svg:title", {}, axisName(j, shares)));
    });
    const points = joined(straight.map((share, j) => [2 + (j + 0.5) * step, upward(share / top)]));
    Object.assign(this.scree, { max: shares.length, value: q });
    this.scree.style.setProperty("--thumb", `${100 / shares.length}%`); // its places are the bars
    const told = `Shares of ${count(shares.length, "component")}; the model has ${q}`;
    setChart(this.scree, told, told, [bars, make("svg:polyline", { points, class: "straight" })],
      ["1", String(shares.length), percent(top)]);
  }
  setComponents() {
    this.fields.components.value = this.scree.value;
    this.refit();
  }

  gotNovelty(answer) {
    this.alarm = answer;
    Object.assign(this.limit, { max: answer.limits.length - 1, value: answer.start });
    this.showAlarm();
  }
  showAlarm() {
    const { limits, flagged, expected, name, law } = this.alarm;
    const [k, last, low, high] = [this.limit.valueAsNumber, limits.length - 1 || 1, limits.at(-1), limits[0]];
    const place = (v, j) => [2 + (j / last) * (WIDE - 4), upward((v - low) / (high - low || 1))];
    const [down, across] = place(limits[k], k);
    const told = `Limit ${figure(limits[k])} (${name}) flags ${count(flagged[k], "row")}; `
      + `${figure(expected[k], 3)} expected by chance, by ${law}.`;
    this.alarmText.textContent = told;
    setChart(this.limit, "Novelty of the rows, largest first", told,
      [make("svg:polyline", { class: "curve", points: joined(limits.map(place)) }),
        make("svg:path", { class: "limit", d: `M0 ${across}H${WIDE}M${down} 4V${FOOT}` }),
        make("svg:circle", { class: "b", cx: down, cy: across, r: 4.5 })], ["most unusual", "most usual", ""]);
    this.flagButton.disabled = !flagged[k];
  }
  showFlagged() {
    this.choose(Array.from(this.alarm.arrays[1].subarray(0, this.alarm.flagged[this.limit.value])));
  }

  // Out

  export(kind) {
    this.ask(kind, { rows: this.picked }, ({ name, arrays: [bytes] }) => {
      const address = URL.createObjectURL(new Blob([bytes]));
      make("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
      this.say(`${name} is among your downloads.`);
    });
  }
  showRecipe(kind = this.recipeKind) {
    this.recipeKind = kind;
    for (const tab of this.recipeTabs.children) press(tab, tab.dataset.name === kind);
    this.recipe.textContent = this.model.recipe[kind];
  }
  copy() {
    const refused = "The browser does not allow copying: select the lines.";
    navigator.clipboard.writeText(this.recipe.textContent).then(() => this.say("Copied."), () => this.say(refused));
  }
  openFile(file = this.file.files[0]) {
    if (!file) return;
    this.say("Reading the table …");
    this.file.value = "";
    this.ask("table", file, (info) => this.opened(info), "text/csv");
  }

  // What is said

  say(text) {
    this.status.textContent = text;
  }
  fail(text = "") {
    this.errorText.textContent = text;
    this.error.hidden = !text;
  }
  failed(error, kind) {
    if (this.over) return; // it is said why
    this.over = error.status === OVER;
    this.fail((error.status === INTERRUPTED ? "" : FAILURES[kind] || "") + error.message);
    this.say(this.model ? "The model before is still shown." : "");
    if (kind === "fit" && this.model?.settings) this.showSettings(this.model.settings);
  }
  ended() {
    if (this.closed) return;
    if (!this.over) this.fail(STOPPED);
    this.over = true;
    this.progress.hidden = this.stopButton.hidden = true;
    this.say("Not connected");
  }
  showBusy({ kind, done }) {
    this.progress.hidden = this.stopButton.hidden = kind !== "fit" && kind !== "table";
    this.progress.value = done || 0;
  }

  close() {
    this.closed = true;
    clearInterval(this.playing);
    this.closing.abort();
    for (const plot of [this.map, this.straight]) plot.sizes.disconnect();
    this.root.remove();
  }
}

// Charts: the wide ones below a slider, and the small ones in the table of a row.
const drawing = (name, box, parts) => make("svg:svg", { viewBox: box, role: "img", "aria-label": name }, parts);
const upward = (share) => FOOT - share * (FOOT - 8);
function setChart(slider, name, told, marks, [left, right, top]) {
  const label = (x, y, anchor, text) => make("svg:text", { x, y, "text-anchor": anchor }, text);
  fill(slider.previousElementSibling, drawing(name, `0 0 ${WIDE} ${HIGH}`, [marks, label(2, HIGH - 2, "start", left),
    label(WIDE - 2, HIGH - 2, "end", right), label(WIDE - 2, 10, "end", top)]));
  slider.setAttribute("aria-valuetext", told);
}

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
  const waiting = new Map(); // under random names: each view of a widget hears the answers to all of them
  model.on("msg:custom", ({ id, error }, [bytes]) => {
    const { done, failed } = waiting.get(id) || {};
    waiting.delete(id);
    if (error) failed?.(new Error(error));
    else done?.(unpack(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)));
  });
  return {
    ask: (kind, body) => new Promise((done, failed) => {
      const id = Math.random();
      waiting.set(id, { done, failed });
      model.send({ id, kind, body });
    }),
  };
}

export function render({ model, el }) {
  if (model.get) el.innerHTML = model.get("markup");
  const app = new App(model.ask ? model : overWidget(model), el);
  el.explorer = app; // for the tests
  return () => app.close();
}

export default { render };
