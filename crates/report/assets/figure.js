// What all figures share: colors of the page's style sheet, axes, lines, a legend
// that works with a keyboard, and lazy drawing.

const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
const MARKS = ["circle", "square", "diamond", "triangle-up", "x", "cross"];
const COLORS = 7;
const PRINT_WIDTH = 640;
const MODEBAR = 36; // height of the buttons shown on hover, in pixels

// Plotly interprets some markup in names; user text is literal.
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const color = (i) => css("--c" + (i % COLORS));
const narrow = () => window.innerWidth < 544;
const printing = () => matchMedia("print").matches;
const json = (id) => JSON.parse(document.getElementById(id).textContent);

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A column as the page carries it: [decimals, values] or [decimals, value, count].
function unpack([decimals, values, count]) {
  const whole = Array.isArray(values) ? values : Array(count).fill(values);
  return whole.map((value) => value === null ? null : value / 10 ** decimals);
}

function axis(title, more) {
  return Object.assign({
    title: { text: plain(title), standoff: 8, font: { size: 12 } }, automargin: true,
    gridcolor: css("--hair"), linecolor: css("--rule"), tickcolor: css("--rule"), tickfont: { size: 12 },
    showline: true, ticks: "outside", ticklen: 4, zeroline: false, fixedrange: false,
  }, more);
}

function layout(more) {
  return Object.assign({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: css("--sans"), size: 12, color: css("--ink") },
    // The buttons shown on hover have a strip of their own above the data.
    margin: { l: 10, r: narrow() ? 10 : 16, t: narrow() ? 10 : MODEBAR, b: 10 }, hovermode: "x unified", showlegend: false,
    modebar: { orientation: "h", bgcolor: "rgba(0,0,0,0)", color: css("--faint"), activecolor: css("--ink") },
    hoverlabel: { bgcolor: css("--paper"), bordercolor: css("--rule"), font: { family: css("--sans"), size: 12, color: css("--ink") } },
  }, more);
}

function line(x, y, name, i, more) {
  return Object.assign({
    x, y, name: plain(name), type: "scatter", mode: "lines+markers", connectgaps: false,
    line: { color: color(i), dash: DASHES[Math.floor(i / COLORS) % DASHES.length], width: 1.8 },
    marker: { color: color(i), symbol: MARKS[i % MARKS.length], size: 7 },
    hovertemplate: "%{y:,.4~g}",
  }, more);
}

// A line over seconds: no marks, unless there is only one.
const seconds = (x, y, name, i, more) => line(x, y, name, i, Object.assign({ mode: x.length > 1 ? "lines" : "markers" }, more));

// A logarithmic axis where times spread by more than this, so that one outlier does not
// flatten all the others.
const WIDE = 20;

function isWide(values) {
  const positive = values.flat().filter((value) => value > 0).sort((a, b) => a - b);
  return positive.length > 1 && positive[positive.length - 1] > WIDE * positive[0];
}

const logarithmic = new Map(); // by the id of a figure: what a reader chose

// An axis of times, logarithmic where `values` spread widely or a reader wants it so.
function timeAxis(id, values, more) {
  const log = logarithmic.get(id) ?? isWide(values);
  return axis("response time, ms", Object.assign(log ? { type: "log", dtick: narrow() ? 1 : "D2" } : { type: "linear", rangemode: "tozero" }, more));
}

// A button that changes a figure's axis of times, in front of its legend.
function scaleToggle(place, id) {
  const log = place.layout[figures.get(id).times]?.type === "log";
  const button = element("button", { type: "button", class: "scale", "aria-pressed": String(log) }, "Logarithmic");
  button.addEventListener("click", () => {
    logarithmic.set(id, !log);
    draw(id);
    place.parentElement.querySelector("button.scale").focus();
  });
  place.parentElement.querySelector("button.scale")?.remove();
  place.before(button);
}

// Categories of CPU time from the bottom of the stack, idle last and hardly there.
const cpuColor = (category) => css("--cpu-" + category);

const figures = new Map(); // by the id of their place: what draws them, and what is off

// Registers a figure: `make` returns [traces, layout]; `zoomed` is called after a zoom; `times`
// is its axis of times, which may be logarithmic.
function figure(id, make, { zoomed, times } = {}) {
  figures.set(id, { make, zoomed, times, drawn: false, off: figures.get(id)?.off ?? new Map() });
}

function draw(id) {
  const place = document.getElementById(id), known = figures.get(id);
  if (!place || !known || place.offsetWidth === 0) return;
  const [traces, shape] = known.make();
  for (const trace of traces) {
    const off = known.off.get(trace.name) ?? trace.visible === false;
    trace.visible = !off;
  }
  if (printing()) shape.width = PRINT_WIDTH;
  known.drawn = true;
  Plotly.react(place, traces, shape, {
    responsive: !printing(), displaylogo: false, scrollZoom: false,
    // By itself Plotly offers to send the numbers to its makers' servers.
    showSendToCloud: false, plotlyServerURL: "", topojsonURL: "",
    modeBarButtonsToRemove: ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"],
    displayModeBar: narrow() ? false : "hover",
  });
  if (!place.hasAttribute("tabindex")) {
    listenToKeys(place);
    if (known.zoomed) place.on("plotly_relayout", (change) => known.zoomed(place, change));
  }
  legend(place, traces, known.off);
  if (known.times) scaleToggle(place, id);
}

// A button for each line, outside the drawing, for keyboards and touch screens.
function legend(place, traces, off) {
  const old = place.parentElement.querySelector(".legend");
  const focused = old ? [...old.querySelectorAll("button")].indexOf(document.activeElement) : -1;
  old?.remove();
  if (traces.filter(({ label }) => label !== undefined).length < 2) return;
  const box = element("div", { class: "legend", role: "group", "aria-label": "Lines of this figure" });
  let group = box;
  traces.forEach((trace, i) => {
    // A line without a label is part of the one of the same name.
    if (trace.label === undefined) return;
    if (trace.panel && trace.panel !== traces[i - 1]?.panel) {
      group = element("span", { class: "panel" }, element("span", {}, trace.panel));
      box.append(group);
    }
    const swatch = element("span", { class: trace.swatch ?? "swatch", "aria-hidden": "true" });
    const tint = trace.fillcolor ?? trace.line?.color ?? trace.marker.color;
    if (trace.swatch === "ring") swatch.style.borderColor = tint;
    else if (trace.swatch) swatch.style.backgroundColor = tint;
    else { swatch.style.borderTopColor = tint; swatch.style.borderTopStyle = { dash: "dashed", dot: "dotted" }[trace.line?.dash] ?? "solid"; }
    const name = document.createElement("span");
    name.textContent = trace.label;
    const button = element("button", { type: "button", "aria-pressed": String(trace.visible) }, swatch, name);
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      off.set(trace.name, !on);
      const parts = traces.flatMap((other, k) => k === i || (other.label === undefined && other.name === trace.name) ? [k] : []);
      Plotly.restyle(place, { visible: on }, parts);
    });
    group.append(button);
  });
  place.before(box);
  if (focused >= 0) box.querySelectorAll("button")[focused]?.focus();
}

// Zoom without a mouse: + and - about the middle, arrows move, 0 shows all.
function listenToKeys(place) {
  place.tabIndex = 0;
  place.setAttribute("aria-keyshortcuts", "+ - 0 ArrowLeft ArrowRight");
  place.addEventListener("keydown", (event) => {
    const [low, high] = place.layout.xaxis.range.map(Number), width = high - low;
    const range = {
      "+": [low + width / 4, high - width / 4], "=": [low + width / 4, high - width / 4],
      "-": [low - width / 2, high + width / 2],
      ArrowLeft: [low - width / 8, high - width / 8], ArrowRight: [low + width / 8, high + width / 8],
    }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || (!range && event.key !== "0")) return;
    event.preventDefault();
    Plotly.relayout(place, range ? { "xaxis.range": range } : { "xaxis.autorange": true });
  });
}

// A figure is drawn when it is scrolled near: a study can have hundreds.
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting && !figures.get(entry.target.id)?.drawn) draw(entry.target.id);
  }
}, { rootMargin: "600px" });

function watch(id) {
  const place = document.getElementById(id);
  if (place) near.observe(place);
}

function drawAgain(all) {
  figures.forEach((known, id) => { if (known.drawn || all) draw(id); });
}
