// The figures of the whole study: against the swept key, and all distributions.

const overview = json("overview");

// Values that grow by factors (1, 2, 4, 8 …) get a logarithmic axis.
function sweepAxis({ key, numeric, x }) {
  if (!numeric) return axis(key, { type: "category" });
  const sizes = x.map(Number);
  const factors = sizes.length > 3 && sizes[0] > 0 && sizes.every((v, i) => i === 0 || v / sizes[i - 1] >= 1.4);
  const ticks = sizes.length <= 14 ? { tickmode: "array", tickvals: sizes, ticktext: x } : {};
  return axis(key, Object.assign({ type: factors ? "log" : "linear" }, ticks));
}

const abscissa = ({ numeric, x }) => numeric ? x.map(Number) : x.map(plain);

// Variants are not joined by a line.
const joined = ({ key }) => (key === "variant" ? { mode: "markers" } : {});

const values = (marks) => marks.map(({ value }) => value);

// Half of an interval up and down, but never below zero, where no throughput and no time is.
const band = (marks, i) => marks.some(({ half }) => half !== null) ? {
  type: "data", symmetric: false, array: marks.map(({ half }) => half ?? 0), arrayminus: marks.map(({ value, half }) => Math.min(half ?? 0, value ?? 0)),
  color: color(i), thickness: 1.3, width: 4,
} : undefined;

// The runs of points that have too few for an interval.
function singleRuns(x, marks, of) {
  const all = marks.flatMap(({ runs }, k) => runs.map((value) => [x[k], value]));
  if (!all.length) return [];
  return [{
    x: all.map(([at]) => at), y: all.map(([, value]) => value), name: `${of.name}, single runs`, label: `${of.label}, single runs`, type: "scatter", mode: "markers", swatch: "ring",
    marker: { color: of.marker.color, symbol: "circle-open", size: 6, opacity: 0.8 }, hovertemplate: "%{y:,.4~g}", visible: of.visible ?? true,
  }];
}

function sweepTps() {
  const { sweep } = overview, x = abscissa(sweep);
  const traces = sweep.lines.flatMap((l, i) => {
    const label = l.name || "transactions/s";
    const mean = line(x, values(l.tps), label, i, { label, error_y: band(l.tps, i), ...joined(sweep) });
    return [mean, ...singleRuns(x, l.tps, mean)];
  });
  return [traces, layout({ xaxis: sweepAxis(sweep), yaxis: axis("transactions/s", { rangemode: "tozero" }) })];
}

// One line shows mean and tail in colors; of several, p95 is hidden at first.
function sweepMs() {
  const { sweep } = overview, x = abscissa(sweep), several = sweep.lines.length > 1, traces = [];
  sweep.lines.forEach((l, i) => ["mean", "p95", "p99"].forEach((what, j) => {
    const k = several ? i : j, label = several ? `${l.name}, ${what}` : what;
    const t = line(x, values(l[what]), label, k, {
      label, error_y: what === "mean" ? band(l.mean, k) : undefined, visible: !(several && what === "p95"), ...joined(sweep),
    });
    Object.assign(t.line, { dash: DASHES[j] });
    t.marker.symbol = MARKS[j];
    traces.push(t, ...(what === "mean" ? singleRuns(x, l.mean, t) : []));
  }));
  return [traces, layout({ xaxis: sweepAxis(sweep), yaxis: axis("response time, ms", { rangemode: "tozero" }) })];
}

// Bars: what the CPUs did at each point, to 100 %.
function sweepCpu() {
  const { sweep, cpu } = overview, several = sweep.lines.length > 1;
  const x = several
    ? [sweep.lines.flatMap((l) => sweep.x.map(() => plain(l.name))), sweep.lines.flatMap(() => sweep.x.map(plain))]
    : sweep.x.map(plain);
  const traces = cpuBars(x, cpu, (c) => sweep.lines.flatMap((l) => values(l.cpu[c])));
  const shape = layout({ barmode: "stack", bargap: 0.3, xaxis: axis(sweep.key, { type: several ? "multicategory" : "category", showgrid: false, tickson: "labels" }), yaxis: axis("CPU time, %", { range: [0, 100] }) });
  return [traces, shape];
}

// A stack of bars, `values(c)` of category `c` bottom up; categories without any time are left out.
function cpuBars(x, categories, values) {
  return categories.map((category, c) => ({
    x, y: values(c), name: category, label: category, type: "bar", swatch: "block",
    marker: { color: cpuColor(category), line: { width: 0 } }, hovertemplate: "%{y:.1f} %",
  })).filter((trace) => trace.y.some((value) => value > 0));
}

// Response time against throughput: a curve for each search, with its marks.
function searches() {
  const found = overview.searches, traces = [];
  const most = Math.max(...found.flatMap((s) => [...s.curve, ...s.overloaded].map(({ tps }) => tps)));
  found.forEach((s, i) => {
    // One search has a color for each mark, several have one each.
    const tint = (k) => found.length > 1 ? i : k;
    const named = (what) => s.name ? `${s.name}, ${what}` : what;
    const add = (points, what, k, more) => {
      if (!points.length) return;
      const text = points.map(({ rate }) => `${rate.toLocaleString("en")}/s requested`);
      const label = named(what);
      const ms = points.map(({ ms }) => ms);
      traces.push(line(points.map(({ tps }) => tps), values(ms), label, tint(k), Object.assign({
        label, text, error_y: band(ms, tint(k)), hovertemplate: "%{y:,.4~g} ms at %{x:,.4~g}/s (%{text})",
      }, more)));
    };
    const mark = (k, symbol, size) => ({ mode: "markers", marker: { symbol, size, color: color(tint(k)), line: { width: 2, color: color(tint(k)) } } });
    add(s.curve, s.column, 0);
    if (s.highest) {
      const label = named("highest rate within the limit");
      traces.push(line([s.highest.value], [s.limit], label, tint(2), Object.assign(mark(2, "diamond", 11), {
        label, error_x: band([s.highest], tint(2)), hovertemplate: "%{x:,.4~g}/s",
      })));
    }
    add(s.knee, "knee", 3, mark(3, "circle-open", 17));
    add(s.overloaded, "arrivals exceeded throughput", 1, mark(1, "x-thin-open", 9));
  });
  const limits = found.filter((s, i) => found.findIndex((other) => other.limit === s.limit) === i);
  for (const { limit } of limits) {
    traces.push(line([0, most], [limit, limit], `limit ${limit} ms`, found.length, {
      label: `limit, ${limit} ms`, mode: "lines", hovertemplate: "%{y:,.4~g} ms",
      line: { color: css("--faint"), dash: "dot", width: 1.5 },
    }));
  }
  return [traces, layout({
    hovermode: "closest", xaxis: axis("transactions/s", { rangemode: "tozero" }),
    yaxis: axis("response time, ms", { type: "log" }),
  })];
}

// Marks for measurements, lines for the laws; only the first law is shown at first.
function scale() {
  const { key, lines } = overview.scale, several = lines.length > 1, traces = [];
  lines.forEach((l, i) => {
    const named = (what) => several ? `${l.name}, ${what}` : what;
    const add = (x, y, what, k, more) => traces.push(line(x, y, named(what), k, Object.assign({ label: named(what) }, more)));
    add(l.x, values(l.tps), "measured", i, { mode: "markers", swatch: "block", error_y: band(l.tps, i) });
    if (!l.at.length) return;
    const laws = [["USL", l.usl], ["Amdahl", l.amdahl]];
    laws.forEach(([law, y], j) => {
      if (y.every((value) => value === null)) return;
      add(l.at, y, law, i, { mode: "lines", visible: j === 0, line: { color: color(several || !j ? i : i + j), dash: DASHES[j], width: 1.8 } });
    });
  });
  return [traces, layout({ hovermode: "closest", xaxis: axis(key, { rangemode: "tozero" }), yaxis: axis("transactions/s", { rangemode: "tozero" }) })];
}

// From pale to deep: colors for ordered lines.
function ramp(share) {
  const ends = ["--ramp0", "--ramp1"].map((name) => [1, 3, 5].map((i) => parseInt(css(name).slice(i, i + 2), 16)));
  return `rgb(${ends[0].map((from, i) => Math.round(from + share * (ends[1][i] - from))).join()})`;
}

// Which of many lines are shown at first: evenly spread ones.
function spread(all, most) {
  const step = Math.max(1, (all.length - 1) / (most - 1));
  return Array.from({ length: most }, (_, k) => all[Math.round(k * step)]).filter((one) => one !== undefined);
}

// x is 1/(1-q): each further nine takes the same room. Of many curves some are shown,
// evenly spread. Two sides of a point share its color, and the second is dashed.
function curves() {
  const drawn = overview.curves.filter((c) => c.quantile.length), paired = drawn.some((c) => c.pair), MOST = paired ? 4 : 8;
  const points = [...new Set(drawn.map((c, k) => c.pair ? c.pair[0] : k))];
  const shown = spread(points, MOST);
  const ordered = overview.sweep?.numeric && overview.sweep.lines.length === 1 && drawn.length > 2;
  const traces = drawn.map((c, k) => {
    const x = c.quantile.map((q) => q < 1 ? 1 / (1 - q) : Math.max(c.count, 1));
    const text = c.quantile.map((q) => q < 1 ? "p" + +(q * 100).toFixed(5) : "max");
    const [point, side] = c.pair ?? [k, 0], place = shown.indexOf(point);
    const hue = points.length === 1 ? side : place < 0 ? points.indexOf(point) : place;
    const trace = line(x, c.ms, c.name, hue, {
      label: c.name, mode: "lines", text, visible: place >= 0, hovertemplate: "%{text}: %{y:,.4~g} ms",
    });
    if (paired) trace.line.dash = DASHES[side];
    if (ordered) Object.assign(trace.line, { color: ramp(k / (drawn.length - 1)), dash: "solid" });
    return trace;
  });
  const most = Math.max(1, ...drawn.map((c) => c.count));
  const ticks = [[1, "0"], [2, "50 %"], [10, "90 %"], [100, "99 %"], [1e3, "99.9 %"], [1e4, "99.99 %"], [1e5, "99.999 %"], [1e6, "99.9999 %"]]
    .filter(([x]) => x <= most && !(narrow() && x === 2));
  return [traces, layout({
    hovermode: "closest",
    xaxis: axis("percentile", { type: "log", tickmode: "array", tickvals: ticks.map((t) => t[0]), ticktext: ticks.map((t) => t[1]) }),
    yaxis: timeAxis("curves", traces.filter((t) => t.visible).map((t) => t.y)),
  })];
}

// The repeats of each point, faint and as one line with gaps between them, and their median. Each value is a step as long as its second.
function recovery() {
  const points = overview.recoveries, shown = spread([...points.keys()], 8), faint = [], bold = [];
  points.forEach(({ name, from, median, n, repeats }, k) => {
    const place = shown.indexOf(k), x = n.map((_, i) => from + i + 0.5);
    const add = (to, x, y, width, more) => {
      const trace = line(x, y, name, place < 0 ? k : place, Object.assign({ mode: "lines", visible: place >= 0 }, more));
      Object.assign(trace.line, { shape: "hvh", width });
      to.push(trace);
    };
    const text = n.map((many, i) => `${from + i} to ${from + i + 1} s, ${many === 1 ? "1 repeat" : `median of ${many} repeats`}`);
    add(bold, x, unpack(median), 3, { label: name, text, hovertemplate: "%{y:,.4~g}/s, %{text}" });
    if (!repeats.length) return;
    add(faint, repeats.flatMap(() => [...x, null]), repeats.flatMap((values) => [...unpack(values), null]), 1, { opacity: 0.35, hoverinfo: "skip" });
  });
  return [[...faint, ...bold], layout({
    hovermode: "closest", shapes: lines([[0]]), xaxis: axis("time since the fault's effect, s"), yaxis: axis("transactions/s", { rangemode: "tozero" }),
  })];
}

function showOverview() {
  if (overview.sweep) {
    figure("sweep-tps", sweepTps);
    figure("sweep-ms", sweepMs);
    if (overview.sweep.cpu) figure("sweep-cpu", sweepCpu);
  }
  if (overview.searches.length) figure("searches", searches);
  if (overview.scale) figure("scale", scale);
  figure("curves", curves, { times: "yaxis" });
  figure("recovery", recovery);
  for (const id of ["recovery", "searches", "scale", "sweep-tps", "sweep-ms", "sweep-cpu", "curves"]) watch(id);
}
