// The tour: the explorer answers from RECORDING, and a few steps show what it does. Visitors may point, drag and move the width.
const NOT_HERE = "This is a recording, which has only some of the answers. pip install 'mercer[explore]' runs the explorer itself.";
const REST = 5500; // milliseconds of one step
const opened = (key) => unpack(Uint8Array.from(atob(RECORDING[key]), (c) => c.charCodeAt(0)).buffer);
const known = opened("rows");
const [cells, causes, novelty, below, p] = known.arrays;
const [n, d] = [known.targets.length, cells.length / known.targets.length];
const grids = new Map(); // answers to "back", unpacked at the first use

const answers = {
  open: () => opened("open"),
  fit: ({ settings, axes }) => {
    const found = `fit ${Number(Math.log10(settings.width).toFixed(1))}`;
    const answer = found in RECORDING ? opened(found) : { settings: null };
    const same = Object.keys(settings).every((name) => name === "width" || settings[name] === answer.settings?.[name]);
    if (!same || axes.join() !== "0,1") throw new Error(NOT_HERE);
    return answer;
  },
  colour: ({ model, by }) => opened(`colour ${model} ${by.column || by}`),
  row: ({ model, row, causes: wanted }) => {
    const at = (Number(model.slice(1)) - 1) * n + row;
    const part = (values) => Array.from(values.subarray(row * d, (row + 1) * d));
    return { row, cells: part(cells), causes: wanted && model === "m1" ? part(causes) : null, novelty: novelty[at], below: below[at], p: p[at],
      law: known.law, reason: "", prediction: null, target: known.targets[row] };
  },
  pictures: ({ rows }) => {
    const [values] = opened("pictures m1").arrays;
    return { arrays: [Float32Array.from(rows.flatMap((row) => Array.from(values.subarray(row * d, (row + 1) * d))))] };
  },
  back: ({ model, at }) => {
    if (!grids.has(model)) grids.set(model, Object.keys(RECORDING).filter((key) => key.startsWith(`back ${model} `)).map(opened));
    const far = (answer) => Math.hypot(answer.at[0] - at[0], answer.at[1] - at[1]);
    const found = grids.get(model).reduce((best, answer) => (far(answer) < far(best) ? answer : best));
    return { ...found, cells: Array.from(found.arrays[0]) };
  },
  walk: ({ model, rows }) => {
    if (model !== "m1" || rows.join() !== known.pair.join()) throw new Error(NOT_HERE);
    return opened("walk m1");
  },
};
const link = {
  async ask(kind, body) {
    if (answers[kind]) return answers[kind](body);
    if (`${kind} ${body.model}` in RECORDING) return opened(`${kind} ${body.model}`);
    throw new Error(NOT_HERE);
  },
};

const root = document.getElementById("explorer");
render({ model: link, el: root });
const app = root.explorer;
const begin = app.beginBack.bind(app);
app.beginBack = (place) => {
  begin(place);
  app.probe.row = null; // what is recorded has the other components of the nearest rows
};
const pause = (milliseconds) => new Promise((rested) => setTimeout(rested, app.still.matches ? 0 : milliseconds));
const ready = async () => {
  while (!app.alarm || Object.values(app.lines).some((line) => line.busy)) await new Promise((rested) => setTimeout(rested, 20));
};
const moveWidth = async (value) => {
  app.fields.width.value = value;
  app.refit();
  await ready();
  await pause(900);
};

const steps = [
  ["Each point is a handwritten digit, placed by the first two components of kernel PCA.", () => {}],
  ["Point at a row: its picture, how unusual it is, and the pixels that make it so.", () => app.hover(known.pair[0])],
  ["Pin two rows and walk between them: each step is a pre-image, brought back from feature space.", async () => {
    for (const i of known.pair) app.pin(i);
    await ready();
    app.play();
  }],
  ["Drag anywhere: the pre-image under the pointer, live, with its error.", async (still) => {
    app.setTool("back");
    const [from, to] = known.pair.map((i) => app.map.place(i));
    app.beginBack(from);
    for (let t = 0; t <= 1 && still(); t += 0.04, await pause(90)) app.backTo(app.map.toData(from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t - 90 * Math.sin(Math.PI * t)));
  }],
  ["Move the width of the kernel: the model is refitted, and the points glide to their new places.", async (still) => {
    for (const value of [0.5, 1, 0.5, 0, -0.5, 0]) if (still()) await moveWidth(value);
  }],
  ["Linear PCA of the same rows, beside it.", () => app.toggleLinear()],
  ["The alarm: a limit of the novelty, how many rows it flags, and how many are expected by chance.", async () => {
    app.flagButton.scrollIntoView({ block: "nearest" });
    app.showFlagged();
  }],
  ["Take away the rows, the model, and the lines that make it again. Now it is yours: point, drag, or move the width.", () => app.recipe.scrollIntoView({ block: "nearest" })],
];

async function restart() {
  scrollTo(0, 0); // in a narrow window, the last steps leave the map
  app.setTool("look");
  app.hover(-1);
  app.clear();
  if (!app.straight.node.hidden) app.toggleLinear();
  if (app.settings().width !== 1) await moveWidth(0);
  await ready();
}
const caption = make("p", { role: "status" });
let [now, turn] = [0, 0];
async function show(i) {
  const mine = (turn += 1);
  const still = () => mine === turn;
  now = clamp(i, 0, steps.length - 1);
  caption.textContent = `${now + 1} of ${steps.length} · ${steps[now][0]}`;
  await restart();
  if (still()) await steps[now][1](still);
  return still;
}
async function play(from) {
  for (let i = from; i < steps.length; i++) {
    const still = await show(i);
    await pause(REST);
    if (!still()) return;
  }
}
const button = (label, onclick, attributes = {}) => Object.assign(make("button", attributes, label), { onclick });
fill(document.querySelector(".tour"), button("Play", () => play(now === steps.length - 1 ? 0 : now)), button("←", () => show(now - 1), { "aria-label": "Step before" }),
  button("→", () => show(now + 1), { "aria-label": "Next step" }), caption);
caption.textContent = "A tour of mercer explore in eight steps, from a recording. Press Play.";
window.tour = { app, steps, show, ready }; // for the tests
