// Looks at reports in a browser, as a reader would. Called by tests/integration/browser.rs with a
// directory that holds one report, with its CSV files, in each of its directories.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const dir = process.argv[2];
const LIMIT_S = 600;
setTimeout(() => { console.error(`not done after ${LIMIT_S} s`); process.exit(1); }, LIMIT_S * 1000).unref();

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
});

// RFC 4180: the lines of a file as objects.
function csv(path) {
  const rows = [[]];
  let field = "", quoted = false;
  const text = readFileSync(path, "utf8");
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') { field += '"'; i++; }
      else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === "," || c === "\n") { rows.at(-1).push(field); field = ""; if (c === "\n") rows.push([]); }
    else if (c !== "\r") field += c;
  }
  const [head, ...lines] = rows.filter((row) => row.length);
  return lines.map((line) => Object.fromEntries(head.map((name, i) => [name, line[i]])));
}

// A number as shown must be the exact one, rounded to the digits that are shown.
function sameNumber(shown, exact, what) {
  if (shown === "–") return assert.equal(exact, "", what);
  const plain = shown.replaceAll(",", ""), decimals = plain.split(".")[1]?.length ?? 0;
  const off = Math.abs(Number(plain) - Number(exact));
  assert.ok(off <= 0.5000001 * 10 ** -decimals, `${what}: the page says ${shown}, the CSV ${exact}`);
}

function sameEstimate(shown, value, half, what) {
  // A percentile's range is on the page alone.
  const [mean, error] = shown.replace(/( \((n = \d+|[\d.,]+–[\d.,]+)\))+$/, "").split(" ± ");
  sameNumber(mean, value, what);
  if (error === undefined) assert.equal(half, "", what);
  else sameNumber(error, half, what + " ±");
}

// Opens a report; whatever it complains of or asks for is collected.
async function open(name, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage(), faults = [];
  page.on("console", (message) => faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) faults.push(`request: ${request.url()}`); });
  const url = pathToFileURL(join(dir, name, "report.html")).href;
  await page.goto(url);
  if (options.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready]");
  return { page, close: async () => { assert.deepEqual(faults, [], name); await context.close(); } };
}

const grid = (table) => table.evaluate((t) => [...t.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim())));

// Scrolls to a figure, which is drawn then.
async function figure(plot) {
  await plot.scrollIntoViewIfNeeded();
  await plot.locator(".main-svg").first().waitFor();
  return plot;
}

// Scrolls past every figure that is there and gives what each has drawn.
async function figures(page) {
  for (const plot of await page.locator(".plot:visible").all()) await figure(plot);
  return page.evaluate(() => Object.fromEntries([...document.querySelectorAll(".plot")].filter((p) => p.data).map((p) => [p.id, {
    traces: p.data.map(({ name, x, y, visible, type, error_y }) => ({ name, x, y, visible, type, error: error_y?.array })),
    lines: p.querySelectorAll(".scatterlayer .trace path.js-line").length,
    fills: p.querySelectorAll(".scatterlayer .trace path.js-fill").length,
    bars: p.querySelectorAll(".barlayer .point path").length,
    width: p.querySelector(".main-svg").getBoundingClientRect().width,
  }])));
}

async function noOverflow(page, what) {
  const [wide, room, culprit] = await page.evaluate(() => {
    const room = document.documentElement.clientWidth;
    const out = [...document.querySelectorAll("body *")].find((e) => !e.closest(".scroll, .skip, svg") && e.getBoundingClientRect().right > room + 1);
    return [document.documentElement.scrollWidth, room, out?.outerHTML.slice(0, 120)];
  });
  assert.ok(wide <= room, `${what}: the page is ${wide} px wide in ${room}: ${culprit}`);
}

async function picture(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(dir, name + ".png"), fullPage: true });
}

const checks = {
  async "figures of the study are drawn from the CSV's numbers"() {
    const { page, close } = await open("whole", { viewport: { width: 1280, height: 900 } });
    const drawn = await figures(page), cells = csv(join(dir, "whole", "tables.csv"));
    const column = (name) => cells.filter((cell) => cell.column === name);
    const [tps] = drawn["sweep-tps"].traces;
    assert.deepEqual(tps.x, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual(tps.y, column("tps").map((cell) => Number(cell.estimate)));
    assert.match(await page.locator("figure:has(#sweep-tps) figcaption").textContent(), /Error bars: 95 %/);
    assert.deepEqual(tps.error, column("tps").map((cell) => Number(cell.half_width)));
    assert.deepEqual(drawn["sweep-ms"].traces.map((t) => t.name), ["mean", "p95", "p99"]);
    assert.deepEqual(drawn["sweep-ms"].traces[2].y, column("response_ms.p99").map((cell) => Number(cell.estimate)));
    assert.equal(drawn["sweep-ms"].lines, 3);
    const cpu = drawn["sweep-cpu"].traces;
    assert.deepEqual(cpu.map((t) => t.name), ["user", "system", "softirq", "steal", "iowait", "idle"], "what never happened is left out");
    for (let i = 0; i < 8; i++) {
      const sum = cpu.reduce((all, t) => all + t.y[i], 0);
      assert.ok(Math.abs(sum - 100) < 0.5, `CPU time at ${i + 1} instances is ${sum} %`);
    }
    assert.equal(drawn["sweep-cpu"].bars, 6 * 8);
    assert.equal(drawn.curves.traces.length, 8, "one for each point");
    await page.evaluate(() => scrollTo(0, 0));
    await picture(page, "desktop");
    await close();
  },

  async "figures of a trial are drawn, zoom together and follow the choice"() {
    const { page, close } = await open("whole", { viewport: { width: 1280, height: 900 } });
    const drawn = await figures(page);
    const load = drawn["figure-load"];
    assert.deepEqual(load.traces.map((t) => t.name), ["transactions/s", "mean", "p95", "p99", "max"]);
    for (const trace of load.traces) assert.equal(trace.y.length, 70, "the drain is no second");
    assert.equal(load.lines, 4, "max waits to be asked for");
    assert.ok(drawn["figure-cpu"].fills >= 5);
    assert.ok(drawn["figure-cpu"].traces.every((t) => t.y.length === 71));
    assert.ok("figure-disks" in drawn && !("figure-network" in drawn));

    const before = await page.locator("#figure-load").evaluate((p) => p.data[0].y[20]);
    await page.selectOption("#trial", { index: 5 });
    await figures(page);
    assert.equal(await page.locator(".trial:visible").count(), 1);
    assert.equal(await page.locator(".trial:visible").getAttribute("id"), "trial-6");
    const after = await page.locator("#figure-load").evaluate((p) => p.data[0].y[20]);
    assert.notEqual(before, after);
    const [row] = csv(join(dir, "whole", "results.csv")).filter((line) => line.number === "6");
    const rates = await page.locator("#figure-load").evaluate((p) => p.data[0].y.slice(10, 70));
    const mean = rates.reduce((a, b) => a + b) / rates.length;
    assert.ok(Math.abs(mean / Number(row.tps) - 1) < 0.001, `the seconds' mean ${mean} is the trial's ${row.tps}`);

    await page.locator("#figure-load").evaluate((p) => Plotly.relayout(p, { "xaxis.range": [20, 40] }));
    await page.waitForFunction(() => Math.abs(document.getElementById("figure-cpu").layout.xaxis.range[0] - 20) < 1e-6);

    await page.locator("#later").click();
    assert.equal(await page.locator("#trial").inputValue(), "7");
    await page.goto(page.url().split("#")[0] + "#trial-3");
    await page.waitForFunction(() => document.getElementById("trial").value === "3");
    await close();
  },

  async "numbers in the tables are the CSV's"() {
    for (const name of ["whole", "incomplete", "variants"]) {
      const { page, close } = await open(name);
      const tables = page.locator("#results ~ .scroll table, #results ~ details table");
      const cells = csv(join(dir, name, "tables.csv")), count = Number(cells.at(-1).table);
      for (let number = 1; number <= count; number++) {
        const shown = await grid(tables.nth(number - 1));
        const lines = cells.filter((cell) => cell.table === String(number));
        const groups = [...new Set(lines.map((line) => line.variant))];
        const columns = [...new Set(lines.map((line) => line.column))];
        const rows = shown.slice(groups.length > 1 ? 2 : 1), each = (rows[0].length - 1) / groups.length;
        assert.equal(rows.length * groups.length * columns.length, lines.length);
        for (const row of rows) groups.forEach((group, g) => columns.forEach((column, c) => {
          const line = lines.find((l) => l.value === row[0] && l.variant === group && l.column === column);
          sameEstimate(row[1 + g * each + c], line.estimate, line.half_width, `${name} ${number} ${row[0]} ${group} ${column}`);
        }));
      }
      // Between the study's own tables and this one may be answers to what it asks.
      let [head, ...rows] = await grid(tables.nth(count));
      for (let next = count + 1; !head.includes("trial"); next++) [head, ...rows] = await grid(tables.nth(next));
      const trials = csv(join(dir, name, "results.csv"));
      assert.equal(rows.length, trials.length);
      const at = (row, column) => row[head.indexOf(column)];
      rows.forEach((row, i) => {
        const trial = trials[i];
        assert.equal(at(row, "trial"), trial.number);
        sameEstimate(at(row, "tps"), trial.tps, trial["tps.half_width"], `trial ${i} tps`);
        sameEstimate(at(row, "mean"), trial["response_ms.mean"], trial["response_ms.mean.half_width"], `trial ${i} mean`);
        for (const what of ["p50", "p95", "p99", "max"]) sameNumber(at(row, what), trial["response_ms." + what], `trial ${i} ${what}`);
        sameNumber(at(row, "errors"), trial.errors, `trial ${i} errors`);
      });
      await close();
    }
  },

  async "what failed is said, and is in no figure"() {
    const { page, close } = await open("incomplete");
    const notice = await page.locator("section.notice").first().textContent();
    assert.match(notice, /server 2 died: signal 9/);
    assert.match(notice, /trials 22 to 24 are missing/);
    const drawn = await figures(page);
    assert.equal(drawn["sweep-tps"].traces[0].y[5], null, "both trials of six servers failed");
    await picture(page, "incomplete");
    await close();
  },

  async "variants stand side by side"() {
    const { page, close } = await open("variants", { viewport: { width: 1280, height: 900 } });
    const drawn = await figures(page);
    assert.deepEqual(drawn["sweep-tps"].traces.map((t) => t.name), ["ext4, threads=8", "ext4, threads=16", "btrfs, threads=8", "btrfs, threads=16"]);
    assert.deepEqual(await page.locator("table .groups th").allTextContents(), ["ext4", "btrfs", "ext4", "btrfs"]);
    await noOverflow(page, "variants");
    await picture(page, "variants");
    await close();
  },

  async "a keyboard reaches and works everything"() {
    const { page, close } = await open("whole", { viewport: { width: 1280, height: 900 } });
    await figures(page);
    await page.evaluate(() => { scrollTo(0, 0); document.activeElement.blur(); });
    const seen = new Set();
    for (let i = 0; i < 400; i++) {
      await page.keyboard.press("Tab");
      const focus = await page.evaluate(() => {
        const e = document.activeElement, style = getComputedStyle(e);
        return { name: e.id || e.className || e.textContent.trim(), body: e === document.body, outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1, inFigure: !!e.closest("figure .legend") };
      });
      if (focus.body) break;
      if (i === 0) assert.equal(focus.name, "skip");
      assert.ok(focus.outline, `the focus on ${focus.name} is not seen`);
      seen.add(focus.inFigure ? "legend" : focus.name);
    }
    for (const name of ["trial", "earlier", "later", "sweep-tps", "sweep-cpu", "figure-load", "legend", "scroll", "Copy", "Network"]) assert.ok(seen.has(name), `Tab does not reach ${name}: ${[...seen].join(", ")}`);

    await page.locator("#toggles button", { hasText: "Network" }).focus();
    await page.keyboard.press("Space");
    await page.locator("#figure-network").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Network", "the focus stays where it was");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#figure-network").count(), 0);

    await figures(page);
    const visible = () => page.locator("#figure-load").evaluate((p) => p.data[4].visible);
    const button = page.locator("figure:has(#figure-load) .legend button").nth(4);
    assert.deepEqual([await visible(), await button.getAttribute("aria-pressed")], [false, "false"]);
    await button.focus();
    await page.keyboard.press("Enter");
    assert.deepEqual([await visible(), await button.getAttribute("aria-pressed")], [true, "true"]);

    const range = () => page.locator("#figure-load").evaluate((p) => p.layout.xaxis.range);
    const [low, high] = await range();
    await page.locator("#figure-load").focus();
    await page.keyboard.press("+");
    const zoomed = await range();
    assert.ok(zoomed[1] - zoomed[0] < 0.6 * (high - low));
    await page.keyboard.press("0");
    assert.deepEqual(await range(), [low, high]);

    await page.locator("#trial").focus();
    const chosen = Number(await page.locator("#trial").inputValue());
    await page.keyboard.press("ArrowDown");
    assert.equal(Number(await page.locator("#trial").inputValue()), chosen + 1);
    assert.equal(await page.locator(".trial:visible").getAttribute("id"), `trial-${chosen + 1}`);
    await close();
  },

  async "the command and the study are there to be copied"() {
    const { page, close } = await open("whole", { permissions: ["clipboard-read", "clipboard-write"] });
    await page.locator(".copy button").first().click();
    await page.locator(".copy [role=status]").first().filter({ hasText: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "dyno run studies/p2-scale-up.toml --set load.time=60s");
    await close();
  },

  async "a phone shows it without scrolling sideways"() {
    for (const [name, width] of [["whole", 320], ["variants", 320], ["incomplete", 390], ["single", 320]]) {
      const { page, close } = await open(name, { viewport: { width, height: 700 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true });
      await page.evaluate(() => document.querySelectorAll("details").forEach((fold) => { fold.open = true; }));
      await page.evaluate(() => { for (const b of document.querySelectorAll("#toggles button[aria-pressed=false]")) document.querySelectorAll("#toggles button[aria-pressed=false]")[0]?.click(); });
      await figures(page);
      await noOverflow(page, `${name} at ${width} px`);
      await picture(page, `phone-${name}`);
      await close();
    }
  },

  async "verdicts are on the screen at every width, and nothing covers a number"() {
    const { page, close } = await open("variants", { viewport: { width: 1920, height: 800 } });
    await page.evaluate(() => document.querySelectorAll("details").forEach((fold) => { fold.open = true; }));
    for (const width of [1920, 1280, 768, 400]) {
      await page.setViewportSize({ width, height: 800 });
      await page.waitForFunction(() => [...document.querySelectorAll(".scroll")].every((box) =>
        !box.clientWidth || box.scrollWidth <= box.clientWidth + 1 || box.classList.contains("scrolls")));
      const found = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((box) => box.clientWidth).map((box) => {
        const cells = [...box.querySelectorAll("tbody th, tbody td")].map((cell) => cell.getBoundingClientRect());
        const verdicts = [...box.querySelectorAll("tbody .verdict")].map((cell) => cell.getBoundingClientRect());
        return {
          caption: box.querySelector("caption").textContent.slice(0, 40), cells: cells.length, verdicts: verdicts.length, scrolls: box.classList.contains("scrolls"),
          out: verdicts.filter(({ left, right }) => left < 0 || right > innerWidth).length,
          cue: getComputedStyle(box.querySelector("caption"), "::after").content,
          // Of each cell and the next in its row.
          covered: cells.filter((cell, i) => cells[i + 1] && cells[i + 1].top === cell.top && cells[i + 1].left < cell.right - 1).length,
          wide: box.getBoundingClientRect().width,
        };
      }));
      const all = found.find(({ caption }) => caption.startsWith("One row per trial"));
      assert.ok(all.verdicts >= 21, "the trials have verdicts");
      for (const table of found) {
        const what = `${width} px: ${table.caption}`;
        assert.equal(table.out, 0, `${what}: verdicts are off the screen`);
        assert.equal(table.covered, 0, `${what}: cells overlap`);
        assert.ok(!table.scrolls || (table.verdicts === 0 && table.cue.includes("Scroll sideways")), `${what}: it scrolls without a cue`);
        assert.ok(width < 1280 || !table.verdicts || !table.scrolls, what);
      }
      if (width === 1920) assert.ok(Math.max(...found.map(({ wide }) => wide)) > 830 || found.every(({ scrolls }) => !scrolls), "a wide table uses the page");
      await noOverflow(page, `${width} px`);
      await picture(page, `width-${width}`);
    }
    await close();
  },

  async "runs that are too few for an interval are drawn themselves, and nothing below zero"() {
    for (const name of ["few", "apart"]) {
      const { page, close } = await open(name, { viewport: { width: 1280, height: 900 } });
      const drawn = await figures(page), trials = csv(join(dir, name, "results.csv"));
      const caption = await page.locator("figure:has(#sweep-tps) figcaption").textContent();
      const [mean, single] = drawn["sweep-tps"].traces;
      if (name === "few") {
        assert.equal(mean.error, undefined);
        assert.deepEqual([...single.y].sort((a, b) => a - b), trials.map((trial) => Number(trial.tps)).sort((a, b) => a - b));
        assert.match(caption, /single runs, too few .* for a confidence interval/);
        assert.doesNotMatch(caption, /Error bars/);
        assert.match(await page.locator("main").textContent(), /In parentheses: .*minimum and maximum of two or three trials/);
      } else {
        assert.ok(mean.error.every((half, i) => half > mean.y[i]), "the intervals are wider than the means");
        assert.equal(single, undefined);
      }
      for (const id of ["sweep-tps", "sweep-ms"]) {
        const low = await page.locator("#" + id).evaluate((p) => p.layout.yaxis.range[0]);
        assert.ok(low >= 0, `${name}: ${id} begins at ${low}`);
      }
      assert.doesNotMatch(await page.locator("main").textContent(), /\(-\d[\d.,]* to \+\d{3}/);
      await picture(page, name);
      await close();
    }
  },

  async "the axis of a trial ends with it, whatever is written there"() {
    for (const width of [1280, 400]) {
      const { page, close } = await open("failed", { viewport: { width, height: 900 } });
      const plot = await figure(page.locator("#figure-load"));
      const [begin, end] = await plot.evaluate((p) => p.layout.xaxis.range);
      assert.ok(begin >= 0 && end >= 70 && end <= 71, `from ${begin} to ${end} s`);
      const [left, right, room] = await plot.evaluate((p) => {
        const [note] = [...p.querySelectorAll(".annotation")].filter((a) => a.textContent.includes("primary")).map((a) => a.getBoundingClientRect());
        return [note.left, note.right, p.getBoundingClientRect().right];
      });
      assert.ok(left >= 0 && right <= room, "the name of the event is on the figure");
      await close();
    }
  },

  async "the buttons of a figure cover no data"() {
    const { page, close } = await open("whole", { viewport: { width: 1280, height: 900 } });
    await figures(page);
    for (const id of ["sweep-tps", "curves", "figure-load", "figure-cpu"]) {
      const plot = page.locator("#" + id);
      await plot.scrollIntoViewIfNeeded();
      await plot.hover();
      await plot.locator(".modebar-btn").first().waitFor();
      const overlap = await plot.evaluate((p) => {
        const buttons = p.querySelector(".modebar").getBoundingClientRect();
        const data = [...p.querySelectorAll(".subplot .bg, .bglayer .bg, .nsewdrag")].map((e) => e.getBoundingClientRect().top);
        return buttons.bottom - Math.min(...data);
      });
      assert.ok(overlap <= 0, `${id}: ${overlap} px of the data are below the buttons`);
    }
    await page.locator("#curves").hover();
    if (process.env.SCREENSHOTS) await page.screenshot({ path: join(dir, "buttons.png") });
    await close();
  },

  async "times that spread widely have a logarithmic axis, and a button for the other one"() {
    const { page, close } = await open("outlier", { viewport: { width: 1280, height: 900 } });
    await figure(page.locator("#curves"));
    const type = () => page.locator("#curves").evaluate((p) => p.layout.yaxis.type);
    const button = page.locator("figure:has(#curves) button.scale");
    assert.deepEqual([await type(), await button.getAttribute("aria-pressed")], ["log", "true"]);
    if (process.env.SCREENSHOTS) await page.locator("figure:has(#curves)").screenshot({ path: join(dir, "logarithmic.png") });
    await button.click();
    assert.deepEqual([await type(), await button.getAttribute("aria-pressed")], ["linear", "false"]);
    assert.equal(await page.evaluate(() => document.activeElement.className), "scale");
    await page.keyboard.press("Enter");
    assert.equal(await type(), "log");
    await close();
    const calm = await open("whole", { viewport: { width: 1280, height: 900 } });
    const curves = await figure(calm.page.locator("#curves"));
    assert.equal(await curves.evaluate((p) => p.layout.yaxis.type), "linear");
    await calm.close();
  },

  async "a rest of a second and the drain are no cliff"() {
    const { page, close } = await open("partial", { viewport: { width: 1280, height: 900 } });
    const plot = await figure(page.locator("#figure-load"));
    const [tps, t] = await plot.evaluate((p) => [p.data[0].y, p.data[0].x]);
    assert.equal(t.length, 70, "60 s of measurement after 10 s of warm-up");
    const least = Math.min(...tps);
    assert.ok(least > 0.5 * tps[30], `the curve falls to ${least}`);
    const caption = await page.locator("figure:has(#figure-load) figcaption").textContent();
    const [, said] = /between ([\d.,]+) and/.exec(caption);
    sameNumber(said, String(least), "the least of the caption");
    if (process.env.SCREENSHOTS) await page.locator("figure:has(#figure-load)").screenshot({ path: join(dir, "partial.png") });
    await close();
  },

  async "colors stand out, in the light and in the dark"() {
    for (const colorScheme of ["light", "dark"]) {
      const { page, close } = await open("whole", { colorScheme, viewport: { width: 1280, height: 900 } });
      const weak = await page.evaluate(() => {
        const style = getComputedStyle(document.documentElement), context = document.createElement("canvas").getContext("2d");
        const light = (name) => {
          context.fillStyle = style.getPropertyValue(name).trim();
          const [r, g, b] = [1, 3, 5].map((i) => parseInt(context.fillStyle.slice(i, i + 2), 16) / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
        const wanted = [["--ink", 7], ["--faint", 4.5], ["--link", 4.5], ...[0, 1, 2, 3, 4, 5, 6].map((i) => [`--c${i}`, 3])];
        return [...wanted.map(([name, least]) => [name, "--paper", least]), ["--warn", "--warn-paper", 4.5]].filter(([a, b, least]) => contrast(a, b) < least);
      });
      assert.deepEqual(weak, [], colorScheme);
      await figures(page);
      if (colorScheme === "dark") {
        await noOverflow(page, "dark");
        await page.evaluate(() => scrollTo(0, 0));
        await picture(page, "dark");
      }
      // A change of mind while the page is open is followed.
      const ink = () => page.locator("#sweep-tps").evaluate((p) => p.layout.font.color);
      const before = await ink();
      await page.emulateMedia({ colorScheme: colorScheme === "dark" ? "light" : "dark" });
      await page.waitForFunction((was) => document.getElementById("sweep-tps").layout.font.color !== was, before);
      await close();
    }
  },

  async "paper has the figures, drawn for its width"() {
    const { page, close } = await open("whole", { colorScheme: "dark", viewport: { width: 1280, height: 900 } });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.waitForFunction(() => [...document.querySelectorAll(".plot")].every((p) => p.layout?.width === 640));
    const drawn = await figures(page);
    assert.ok(Object.keys(drawn).length >= 7, "all are drawn, though nobody scrolled");
    for (const [id, { width, traces }] of Object.entries(drawn)) {
      assert.equal(width, 640, id);
      assert.ok(traces.length > 0, id);
    }
    assert.equal(await page.locator("#sweep-tps").evaluate((p) => p.layout.font.color), "#000");
    for (const control of ["#trial", ".toggles", ".modebar", ".copy button", "nav"]) assert.equal(await page.locator(control).first().isVisible(), false, control);
    const paper = await page.pdf({ format: "A4", path: process.env.SCREENSHOTS ? join(dir, "print.pdf") : undefined });
    assert.ok(paper.length > 50_000);
    await close();
  },

  async "without scripts all words and numbers are there"() {
    const { page, close } = await open("whole", { javaScriptEnabled: false });
    assert.equal(await page.locator(".trial:visible").count(), 32);
    assert.equal(await page.locator(".plot:visible").count(), 0);
    assert.equal(await page.locator("#trial").isVisible(), false);
    await close();
  },

  async "a hundred trials open at once: only what is near is drawn"() {
    const start = performance.now();
    const { page, close } = await open("hundred", { viewport: { width: 1280, height: 900 } });
    console.log(`104 trials were there after ${Math.round(performance.now() - start)} ms`);
    const drawn = () => page.evaluate(() => [...document.querySelectorAll(".plot")].filter((p) => p.data).map((p) => p.id));
    await page.locator("#scale .main-svg").first().waitFor();
    assert.ok(!(await drawn()).includes("figure-load"), "nobody has scrolled there");
    await page.locator("#trial").scrollIntoViewIfNeeded();
    await page.locator("#figure-load .main-svg").first().waitFor();
    assert.ok((await drawn()).length <= 8);
    await close();
  },

  async "hostile words stay words"() {
    const { page, close } = await open("hostile", { viewport: { width: 320, height: 700 } });
    await figures(page);
    assert.equal(await page.evaluate(() => typeof hacked), "undefined");
    assert.equal(await page.locator("img, main b").count(), 0);
    assert.match(await page.locator("h1").textContent(), /^<img src=x onerror="hacked = 1"><\/script>/);
    assert.match(await page.locator("figure:has(#curves) .legend button").first().textContent(), /<b>bold<\/b>/);
    await noOverflow(page, "hostile");
    await close();
  },

  async "the curve of a search, its limit and its knee"() {
    const { page, close } = await open("search", { viewport: { width: 1280, height: 900 } });
    const { searches, "sweep-tps": sweep } = await figures(page);
    assert.equal(sweep, undefined, "steps are no sweep");
    const names = ["response 99 %", "highest rate within the limit", "knee", "arrivals exceeded throughput", "limit 20 ms"];
    assert.deepEqual(searches.traces.map((t) => t.name), names);
    const [curve, held, knee, overloaded, limit] = searches.traces;
    assert.deepEqual(curve.x, [175, 350, 700, 766.8, 802.6], "a point for each rate, in order");
    assert.deepEqual(curve.y, [7.5, 8, 12, 17.5, 30], "the mean of the steps at a rate");
    assert.deepEqual([held.x, held.y], [[780], [20]], "the rate of all steps together, at the limit");
    assert.deepEqual([overloaded.x, limit.y], [[840], [20, 20]]);
    assert.ok(curve.x.includes(knee.x[0]));
    await noOverflow(page, "search");
    await picture(page, "search");
    await close();
  },

  async "repeats are aligned at the effect of their fault, with their median"() {
    const { page, close } = await open("faults", { viewport: { width: 1280, height: 900 } });
    const { recovery } = await figures(page), [faint, median, single] = recovery.traces;
    assert.deepEqual(recovery.traces.map((t) => t.name), ["async, 3 trials", "async, 3 trials", "galera, repeat 1"], "one repeat is a bold line alone");
    assert.deepEqual(median.x, Array.from({ length: 15 }, (_, i) => i - 4.5));
    assert.deepEqual(median.y, [...Array(5).fill(1000), 0, 0, ...Array(8).fill(1000)], "no transactions are a 0");
    assert.deepEqual(single.y, [...Array(5).fill(800), 0, ...Array(9).fill(800)]);
    const last = faint.y.slice(2 * 16);
    assert.deepEqual(last, [...Array(5).fill(1000), 0, 0, 0, 1000, ...Array(7).fill(null)], "no data are a gap");
    const buttons = page.locator("figure:has(#recovery) .legend button"), shown = () => page.locator("#recovery").evaluate((p) => p.data.map((t) => t.visible));
    assert.deepEqual(await buttons.allTextContents(), ["async, 3 trials", "galera, repeat 1"]);
    await buttons.first().click();
    assert.deepEqual(await shown(), [false, false, true], "one button for all lines of a variant");
    await buttons.first().click();
    assert.deepEqual(await shown(), [true, true, true]);
    await page.locator("#recovery").scrollIntoViewIfNeeded();
    const at = await page.locator("#recovery").evaluate((p) => {
      const { xaxis, yaxis } = p._fullLayout, { left, top } = p.getBoundingClientRect();
      return [left + xaxis._offset + xaxis.d2p(4.5), top + yaxis._offset + yaxis.d2p(1000)];
    });
    await page.mouse.move(...at);
    await page.locator("#recovery .hovertext", { hasText: "1,000/s, 4 to 5 s, median of 2 repeats" }).waitFor();
    await noOverflow(page, "faults");
    await picture(page, "faults");
    await close();
  },

  async "a single trial has no sweep"() {
    const { page, close } = await open("single");
    const drawn = await figures(page);
    assert.deepEqual(Object.keys(drawn), ["curves", "figure-load"]);
    await picture(page, "single");
    await close();
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  const start = performance.now();
  try {
    await check();
    console.log(`ok: ${name} (${Math.round(performance.now() - start)} ms)`);
  } catch (error) {
    failed++;
    console.error(`FAILED: ${name}\n${error.stack}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
