// The figures of one trial, which share their clock: a zoom of one is a zoom of all.

const OPEN = ["CPU", "Disks"]; // shown at first
const PANEL = 92, GAP = 20, FRAME = 60; // heights in pixels: a panel, between two, around all
const TIME = "time since the start of the load, s";

let shown = null; // the trial whose figures are there
let range = null; // its zoom
const wanted = new Map(); // figures that were turned on or off

function shadow(aside) {
  return aside.map(([x0, x1]) => ({ type: "rect", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1, fillcolor: css("--rule"), opacity: 0.22, line: { width: 0 }, layer: "below" }));
}

// When something happened: an upright line.
function lines(events) {
  const line = { color: css("--ink"), width: 1, dash: "dot" };
  return events.map(([at]) => ({ type: "line", xref: "x", yref: "paper", x0: at, x1: at, y0: 0, y1: 1, line }));
}

// The names of these lines, one below the other, so that they do not overlap, and towards the middle, so that they fit.
function marked(events, [begin, end]) {
  return events.map(([x, text], i) => ({
    text: plain(text), x, y: 1 - 0.065 * (i % 12), xref: "x", yref: "paper", xanchor: x > (begin + end) / 2 ? "right" : "left", yanchor: "top", showarrow: false,
    font: { size: 11, color: css("--ink") }, bgcolor: css("--paper"), borderpad: 1,
  }));
}

// Where throughput changed its level: the levels as lines, the place as an upright one.
function levels({ aside, changes, t }) {
  if (!changes.length) return [];
  const times = unpack(t), begin = aside.find(([, , phase]) => phase === "warmup")?.[1] ?? times[0];
  const end = aside.find(([, , phase]) => phase === "drain")?.[0] ?? times[times.length - 1];
  const rule = { color: css("--ink"), width: 1.4, dash: "dash" };
  const shape = (x0, x1, y0, y1) => ({ type: "line", xref: "x", yref: "y", x0, x1, y0, y1, line: rule });
  const starts = [begin, ...changes.map(([at]) => at)], ends = [...starts.slice(1), end];
  const heights = [changes[0][1], ...changes.map(([, , after]) => after)];
  return [
    ...heights.map((y, i) => shape(starts[i], ends[i], y, y)),
    ...changes.map(([at, before, after]) => shape(at, at, before, after)),
  ];
}

// By themselves, axes have room for the names of their marks, far beyond the data.
const within = ([minallowed, maxallowed]) => ({ autorangeoptions: { minallowed, maxallowed } });

// From the start of a trial's load to its end.
function whole({ load }) {
  const times = unpack(load.t).slice(-1).concat(load.aside.map(([, end]) => end));
  return [0, Math.max(...times)];
}

function clock(data, more) {
  return axis(TIME, Object.assign(within(whole(data)), range ? { range: [...range] } : {}, more));
}

function loadFigure(data) {
  const { load } = data, t = unpack(load.t);
  // No line leads through a gap in which other variants ran.
  const look = load.apart ? { mode: "markers" } : {}, ms = { yaxis: "y2", hovertemplate: "%{y:,.4~g} ms", ...look };
  const traces = [seconds(t, unpack(load.tps), "transactions/s", 0, { label: "transactions/s", ...look })];
  ["mean", "p95", "p99", "max"].forEach((what, j) =>
    traces.push(seconds(t, unpack(load[what]), what, j + 1, Object.assign({ label: what, visible: what !== "max" }, ms))));
  if (load.backlog) traces.push(seconds(t, unpack(load.backlog), "backlog", 5, { label: "backlog", visible: false, ...look }));
  if (load.delay) traces.push(seconds(t, unpack(load.delay), "generator delay, p99", 6, Object.assign({ label: "generator delay, p99", visible: false }, ms)));
  const notes = load.aside.filter(([, , phase]) => phase === "warmup" && !narrow()).map(([x0]) => ({
    text: "warm-up", x: x0, y: 0.5, xref: "x", yref: "paper", xanchor: "left", yanchor: "middle", showarrow: false, font: { size: 11, color: css("--faint") },
  }));
  notes.push(...marked(load.events, whole(data)));
  return [traces, layout({
    height: 400, shapes: [...shadow(load.aside), ...levels(load), ...lines(load.events)], annotations: notes, xaxis: clock(data, { anchor: "y2" }),
    yaxis: axis("transactions/s", { domain: [0.54, 1], rangemode: "tozero" }),
    yaxis2: timeAxis("figure-load", unpack(load.p99), { domain: [0, 0.46], dtick: undefined }),
  })];
}

// One panel below the other, one for each unit.
function monitorFigure(data, { stacked, panels }) {
  const t = unpack(data.t), traces = [], axes = {}, inside = panels.length * (PANEL + GAP) - GAP;
  const gap = GAP / inside, each = PANEL / inside;
  panels.forEach((panel, p) => {
    const y = p ? "y" + (p + 1) : "y", top = 1 - p * (each + gap);
    const names = panel.lines.every((l) => l.name.includes("CPU")) ? "CPU time" : "";
    axes["yaxis" + (p ? p + 1 : "")] = axis([names, panel.unit].filter(Boolean).join(", "), Object.assign(
      { domain: [Math.max(0, top - each), top], rangemode: "tozero", nticks: 5 }, stacked ? { range: [0, 100] } : {}));
    // Colors begin anew in each panel, so that reads look alike in all.
    panel.lines.forEach((l, i) => {
      const category = l.name.replace("CPU ", "");
      const fill = stacked ? { stackgroup: "cpu", mode: "lines", line: { width: 0 }, fillcolor: cpuColor(category), swatch: "block", hovertemplate: "%{y:.1f} %" } : {};
      traces.push(seconds(t, unpack(l.y), stacked ? category : l.name, i, Object.assign({ label: stacked ? category : l.name, panel: panels.length > 1 ? panel.unit || "count" : "", yaxis: y, visible: !l.part }, fill)));
    });
  });
  const last = panels.length > 1 ? "y" + panels.length : "y";
  const order = (trace) => overview.cpu.indexOf(trace.name);
  const kept = stacked ? traces.filter((trace) => trace.y.some((value) => value > 0)).sort((a, b) => order(a) - order(b)) : traces;
  return [kept, layout(Object.assign({
    height: stacked ? 240 : FRAME + Math.max(inside, 150), shapes: shadow(data.load.aside), xaxis: clock(data, { anchor: last }),
  }, axes))];
}

function coresFigure({ cores }) {
  const shares = cores.shares.map(unpack);
  const traces = cpuBars(cores.names.map(plain), overview.cpu, (c) => shares[c]);
  return [traces, layout({ height: 230, barmode: "stack", bargap: cores.names.length > 24 ? 0.1 : 0.3, xaxis: axis("core", { type: "category", showgrid: false }), yaxis: axis("CPU time, %", { range: [0, 100] }) })];
}

// The mean of each value with those within 100 ms of it.
function smooth(t, values) {
  let sum = 0, first = 0, next = 0;
  return t.map((at) => {
    while (next < t.length && t[next] <= at + 0.1) sum += values[next++];
    while (t[first] < at - 0.1) sum -= values[first++];
    return sum / (next - first);
  });
}

// The transactions around a fault, and when what happened.
function faultFigure({ t, tps, step_ms: step, marks }) {
  const times = unpack(t), values = unpack(tps);
  const each = `every ${step} ms`, mean = "mean of 0.2 s";
  const traces = [
    seconds(times, values, each, 0, { label: each, opacity: 0.35, line: { color: color(0), width: 1, shape: "vh" } }),
    seconds(times, smooth(times, values), mean, 1, { label: mean }),
  ];
  const ends = [times[0], times[times.length - 1]];
  const annotations = marked(marks.map(([x, text]) => [x, `${text} ${x.toFixed(2)}`]), ends);
  return [traces, layout({
    height: 340, shapes: lines(marks), annotations, xaxis: axis("time since the fault's effect, s", within(ends)),
    yaxis: axis("transactions/s", { rangemode: "tozero" }),
  })];
}

// All figures that a trial can have: [title, caption, what draws it].
function kinds(data, name) {
  const list = [];
  if (unpack(data.load.t).length) list.push(["Load", `${name}, second by second: transactions per second above, response time below. Shaded: outside the measurement. ${data.words}`, () => loadFigure(data)]);
  (data.faults ?? []).forEach((fault, i) => list.push([`Fault ${i + 1}`,
    `${name}, ${fault.name}: transactions around it, every ${fault.step_ms} ms. The lines say when what happened, in seconds from the fault's effect.`, () => faultFigure(fault)]));
  for (const group of data.monitors) {
    const caption = group.stacked ? "CPU time of the host, second by second, all cores together" : `${group.title.toLowerCase()}, second by second`;
    list.push([group.title, `${name}: ${caption}. Shaded: outside the measurement.`, () => monitorFigure(data, group)]);
  }
  if (data.cores) list.push(["Cores", `${name}: CPU time of each core during the measurement.`, () => coresFigure(data)]);
  return list;
}

const isOn = (title) => wanted.get(title) ?? (title === "Load" || title === "Fault 1" || OPEN.includes(title));
const idOf = (title) => "figure-" + title.toLowerCase().replace(/[^a-z0-9]+/g, "-");

// Has all figures of the clock show the same stretch.
function zoomed(place, change) {
  const to = change["xaxis.range"] ?? [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  if (change["xaxis.autorange"]) range = null;
  else if (to[0] !== undefined && String(to) !== String(range)) range = to;
  else return;
  for (const other of document.querySelectorAll("#figures .plot")) {
    const known = figures.get(other.id);
    const same = String(range) === String(other.layout?.xaxis.autorange ? null : other.layout?.xaxis.range);
    if (other !== place && known.drawn && known.zoomed && !same) {
      Plotly.relayout(other, range ? { "xaxis.range": [...range] } : { "xaxis.autorange": true });
    }
  }
}

// Gives a figure its place.
function place(box, [title, caption, make]) {
  const id = idOf(title), words = document.createElement("figcaption");
  words.textContent = caption;
  const plot = element("div", { class: "plot", id, role: "img", "aria-label": caption });
  box.append(element("figure", {}, plot, words));
  const times = title === "Load" ? "yaxis2" : undefined;
  figure(id, make, { zoomed: title === "Cores" || title.startsWith("Fault") ? undefined : zoomed, times });
  plot.style.height = make()[1].height + "px";
  watch(id);
}

function showFigures(data, name) {
  const box = document.getElementById("figures"), toggles = document.getElementById("toggles");
  const focused = [...toggles.children].indexOf(document.activeElement);
  box.querySelectorAll(".plot").forEach((plot) => { near.unobserve(plot); Plotly.purge(plot); figures.get(plot.id).drawn = false; });
  [...figures.keys()].filter((id) => id.startsWith("figure-")).forEach((id) => { if (!kinds(data, name).some(([title]) => idOf(title) === id)) figures.delete(id); });
  box.replaceChildren();
  toggles.replaceChildren();
  for (const kind of kinds(data, name)) {
    const [title] = kind, button = element("button", { type: "button", "aria-pressed": String(isOn(title)) }, title);
    button.addEventListener("click", () => { wanted.set(title, !isOn(title)); showFigures(data, name); });
    toggles.append(button);
    if (isOn(title)) place(box, kind);
  }
  toggles.hidden = toggles.children.length < 2;
  if (focused >= 0) toggles.children[focused]?.focus();
}

// Shows one trial and hides the others.
function showTrial(number) {
  const article = document.getElementById("trial-" + number);
  if (!article || number === shown) return;
  document.querySelectorAll(".trial").forEach((other) => { other.hidden = other !== article; });
  [shown, range] = [number, null];
  const select = document.getElementById("trial");
  select.value = String(number);
  document.getElementById("earlier").disabled = number <= 1;
  document.getElementById("later").disabled = number >= select.options.length;
  showFigures(json("series-" + number), overview.names[number - 1]);
}
