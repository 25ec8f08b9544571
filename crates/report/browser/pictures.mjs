// Makes the pictures of the README. Called by scripts/pictures.sh with what dyno printed, its
// report, and the directory for terminal.svg and report.png.

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [terminal, report, images] = process.argv.slice(2);
const PAGE_WIDTH_PX = 900, MOST_HEIGHT_PX = 1800;
const LINE_PX = 18, CHARACTER_PX = 7.8, MARGIN_PX = 20, BAR_PX = 28;

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function terminalSvg(lines) {
  const columns = Math.max(...lines.map((line) => [...line].length));
  const width = Math.ceil(columns * CHARACTER_PX) + 2 * MARGIN_PX;
  const height = lines.length * LINE_PX + BAR_PX + 2 * MARGIN_PX;
  const dots = ["#ff5f56", "#ffbd2e", "#27c93f"].map((color, i) => `<circle cx="${18 + 18 * i}" cy="16" r="5.5" fill="${color}"/>`);
  const rows = lines.map((line, i) => {
    const y = BAR_PX + MARGIN_PX + LINE_PX * (i + 0.75);
    // Readers of SVG collapse plain spaces.
    const text = escaped(line).replaceAll(" ", "\u00a0");
    // The width is fixed, because fonts differ from one reader to the next.
    const length = ([...line].length * CHARACTER_PX).toFixed(1);
    return line && `<text x="${MARGIN_PX}" y="${y}" textLength="${length}"${line.startsWith("$ ") ? ' fill="#8fd694"' : ""}>${text}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<rect width="100%" height="100%" rx="8" fill="#1e2430"/>
${dots.join("")}
<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#d8dee9">
${rows.filter(Boolean).join("\n")}
</g>
</svg>
`;
}

writeFileSync(join(images, "terminal.svg"), terminalSvg(readFileSync(terminal, "utf8").trimEnd().split("\n")));

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: PAGE_WIDTH_PX, height: MOST_HEIGHT_PX } });
await page.goto(pathToFileURL(resolve(report)).href);
await page.waitForSelector("html[data-ready]");
// From the title to the end of the first figure.
const figure = page.locator("figure:has(.plot)").first();
await figure.scrollIntoViewIfNeeded();
await figure.locator(".main-svg").first().waitFor();
await page.evaluate(() => scrollTo(0, 0));
const { y, height } = await figure.boundingBox();
await page.screenshot({
  path: join(images, "report.png"),
  fullPage: true,
  clip: { x: 0, y: 0, width: PAGE_WIDTH_PX, height: Math.min(y + height + MARGIN_PX, MOST_HEIGHT_PX) },
});
await browser.close();
