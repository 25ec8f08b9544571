"use strict";
// Draws the figures of the report from the numbers in #data. Runs from a file,
// without a network; colours are those of the page's style sheet.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const drawn = new Map();
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
  const MARKS = ["circle", "square", "diamond", "triangle-up", "x", "cross"];
  // Plotly reads a little markup in names; what was typed is meant literally.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (i) => css("--c" + (i % 7));
  const narrow = () => window.innerWidth < 544;

  function axis(title, more) {
    return Object.assign({
      title: { text: title, standoff: 8, font: { size: 13 } }, automargin: true,
      gridcolor: css("--hair"), linecolor: css("--rule"), tickcolor: css("--rule"),
      showline: true, ticks: "outside", ticklen: 4, zeroline: false, fixedrange: false,
    }, more);
  }

  function layout(more) {
    return Object.assign({
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: css("--ink") },
      margin: { l: 10, r: narrow() ? 12 : 38, t: 34, b: 10 }, hovermode: "x unified",
      modebar: { orientation: "v", bgcolor: "rgba(0,0,0,0)", color: css("--rule"), activecolor: css("--ink") },
      hoverlabel: { bgcolor: css("--paper"), bordercolor: css("--rule"), font: { color: css("--ink") } },
      legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    }, more);
  }

  function line(x, y, name, i, more) {
    return Object.assign({
      x, y, name: plain(name), type: "scatter", mode: "lines+markers", connectgaps: false,
      line: { color: colour(i), dash: DASHES[Math.floor(i / 7) % 5], width: 1.8 },
      marker: { color: colour(i), symbol: MARKS[i % 6], size: 7 },
      hovertemplate: "%{y:,.4~g}",
    }, more);
  }

  const band = (half, i) => half.some((h) => h !== null)
    ? { type: "data", array: half.map((h) => h ?? 0), color: colour(i), thickness: 1.2, width: 4 } : undefined;

  // Values that grow by factors (1, 2, 4, 8 …) get a logarithmic axis.
  function sweepAxis(sweep) {
    if (!sweep.numeric) return axis(plain(sweep.key), { type: "category" });
    const values = [...new Set(sweep.lines.flatMap((l) => l.x.map(Number)))].sort((a, b) => a - b);
    const factors = values.length > 3 && values[0] > 0 && values.every((v, i) => i === 0 || v / values[i - 1] >= 1.4);
    const ticks = values.length <= 14 ? { tickmode: "array", tickvals: values, ticktext: values.map(String) } : {};
    return axis(plain(sweep.key), Object.assign({ type: factors ? "log" : "linear" }, ticks));
  }

  const abscissa = (sweep, l) => sweep.numeric ? l.x.map(Number) : l.x.map(plain);

  function sweepTps() {
    const sweep = data.sweep;
    const traces = sweep.lines.map((l, i) => line(abscissa(sweep, l), l.tps, l.name || "transactions/s", i, { error_y: band(l.tps_half, i) }));
    return [traces, layout({ xaxis: sweepAxis(sweep), yaxis: axis("transactions/s", { rangemode: "tozero" }), showlegend: traces.length > 1 })];
  }

  function sweepMs() {
    const sweep = data.sweep, traces = [];
    sweep.lines.forEach((l, i) => {
      const several = sweep.lines.length > 1, of = several ? l.name + ", " : "";
      ["mean", "p95", "p99"].forEach((what, j) => {
        const k = several ? i : j;
        const t = line(abscissa(sweep, l), l[what], of + what, k, { error_y: what === "mean" ? band(l.mean_half, k) : undefined });
        t.line.dash = DASHES[j]; t.marker.symbol = MARKS[j];
        traces.push(t);
      });
    });
    return [traces, layout({ xaxis: sweepAxis(sweep), yaxis: axis("response time, ms", { rangemode: "tozero" }), showlegend: true })];
  }

  // x is 1/(1-q): each further nine takes the same room.
  function curves() {
    const traces = data.curves.filter((c) => c.quantile.length).map((c, i) => {
      const x = c.quantile.map((q) => q < 1 ? 1 / (1 - q) : Math.max(c.count, 1));
      const text = c.quantile.map((q) => q < 1 ? "p" + +(q * 100).toFixed(5) : "max");
      return line(x, c.ms, c.name, i, { mode: "lines", text, hovertemplate: "%{text}: %{y:,.4~g} ms" });
    });
    const most = Math.max(1, ...data.curves.map((c) => c.count));
    const ticks = [[1, "0"], [2, "50 %"], [10, "90 %"], [100, "99 %"], [1e3, "99.9 %"], [1e4, "99.99 %"], [1e5, "99.999 %"], [1e6, "99.9999 %"]]
      .filter(([x]) => x <= most && !(narrow() && x === 2));
    return [traces, layout({
      hovermode: "closest", showlegend: traces.length > 1,
      xaxis: axis("percentile", { type: "log", tickmode: "array", tickvals: ticks.map((t) => t[0]), ticktext: ticks.map((t) => t[1]) }),
      yaxis: axis("response time, ms", { rangemode: "tozero" }),
    })];
  }

  function series(s) {
    const lines = (y, name, i, more) => line(s.t, y, name, i, Object.assign({ mode: s.t.length > 1 ? "lines" : "markers" }, more));
    const traces = [lines(s.tps, "transactions/s", 0)];
    ["mean", "p95", "p99"].forEach((what, j) => traces.push(lines(s[what], what, j + 1, { yaxis: "y2", hovertemplate: "%{y:,.4~g} ms" })));
    traces.push(lines(s.max, "max", 6, { yaxis: "y2", visible: "legendonly", hovertemplate: "%{y:,.4~g} ms" }));
    if (s.backlog) traces.push(lines(s.backlog, "backlog", 5, { visible: "legendonly" }));
    const shapes = s.aside.map(([x0, x1]) => ({ type: "rect", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1, fillcolor: css("--rule"), opacity: 0.22, line: { width: 0 }, layer: "below" }));
    const notes = s.aside.filter(([x0, x1, phase]) => phase === "warmup" && !narrow()).map(([x0]) => ({
      text: "warm-up", x: x0, y: 0.56, xref: "x", yref: "paper", xanchor: "left", yanchor: "bottom", showarrow: false, font: { size: 11, color: css("--faint") },
    }));
    return [traces, layout({
      shapes, annotations: notes, showlegend: true,
      xaxis: axis("seconds from the start of the load", { anchor: "y2" }),
      yaxis: axis("transactions/s", { domain: [0.56, 1], rangemode: "tozero" }),
      yaxis2: axis("response time, ms", { domain: [0, 0.48], rangemode: "tozero" }),
    })];
  }

  function draw(id, make) {
    const place = document.getElementById(id);
    if (!place || place.offsetWidth === 0) return;
    const [traces, shape] = make();
    drawn.set(id, make);
    Plotly.react(place, traces, shape, {
      responsive: true, displaylogo: false, scrollZoom: false,
      // By itself Plotly offers to send the numbers to its makers' servers.
      showSendToCloud: false, plotlyServerURL: "", topojsonURL: "",
      modeBarButtonsToRemove: ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"],
      displayModeBar: narrow() ? false : "hover",
    });
  }

  const figures = [];
  if (data.sweep) figures.push(["sweep-tps", sweepTps], ["sweep-ms", sweepMs]);
  figures.push(["curves", curves]);
  data.series.forEach((s, i) => figures.push(["series-" + i, () => series(s)]));

  // A figure is drawn when it comes near: a study can have hundreds.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      const figure = figures.find(([id]) => id === entry.target.id);
      if (figure && !drawn.has(figure[0])) draw(...figure);
    }
  }, { rootMargin: "600px" });
  for (const [id] of figures) {
    const place = document.getElementById(id);
    if (place) near.observe(place);
  }

  const again = () => drawn.forEach((make, id) => draw(id, make));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  matchMedia("print").addEventListener("change", again);
  // Paper cannot unfold: everything is opened and drawn before it is printed.
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    figures.forEach(([id, make]) => draw(id, make));
  });
  document.documentElement.dataset.ready = "true";
})();
