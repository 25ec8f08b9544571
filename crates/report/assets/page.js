// The page itself: which trial is shown, links to trials, copying, printing.

const trialOf = (hash) => Number(/^#trial-(\d+)$/.exec(hash)?.[1] ?? 0);

function listenToTrials() {
  const select = document.getElementById("trial");
  if (!select) return;
  select.addEventListener("change", () => showTrial(Number(select.value)));
  document.getElementById("earlier").addEventListener("click", () => showTrial(shown - 1));
  document.getElementById("later").addEventListener("click", () => showTrial(shown + 1));
  // A link to a trial that is hidden has to show it before it can lead there.
  window.addEventListener("hashchange", () => {
    const number = trialOf(location.hash);
    if (!number) return;
    showTrial(number);
    document.getElementById("trials").scrollIntoView();
    select.focus({ preventScroll: true });
  });
  showTrial(trialOf(location.hash) || overview.best);
}

function offerCopies() {
  for (const box of document.querySelectorAll(".copy")) {
    const button = element("button", { type: "button" }, "Copy");
    const said = element("span", { role: "status" });
    button.addEventListener("click", async () => {
      const code = box.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        said.textContent = "Copied";
      } catch {
        // Without leave to write, what is to be copied is at least selected.
        getSelection().selectAllChildren(code);
        said.textContent = "Selected: press Ctrl+C";
      }
      setTimeout(() => { said.textContent = ""; }, 4000);
    });
    box.prepend(element("span", { class: "buttons" }, button, said));
  }
}

// A table that is wider than its box scrolls there; one with a verdict, which must not be off the screen, is shown as
// cards instead.
function fitTables() {
  const widths = new Map(); // of each box when it was last fitted
  const fit = (box) => {
    if (widths.get(box) === innerWidth || !box.clientWidth) return;
    widths.set(box, innerWidth);
    box.classList.remove("cards", "scrolls");
    if (box.scrollWidth <= box.clientWidth + 1) return;
    const isCards = box.querySelector(".verdict");
    box.classList.add(isCards ? "cards" : "scrolls");
    if (isCards) nameCells(box.querySelector("table"));
  };
  const seen = new ResizeObserver((entries) => { if (!printing()) entries.forEach((entry) => fit(entry.target)); });
  document.querySelectorAll(".scroll").forEach((box) => seen.observe(box));
}

// Each cell of a card says what it is. In the page itself, these names would be a fifth of a long report.
function nameCells(table) {
  const heads = [...[...table.tHead.rows].at(-1).cells];
  const groups = [...table.querySelectorAll(".groups th")].flatMap((group) => Array(group.colSpan).fill(`${group.textContent}: `));
  const keys = table.querySelector(".groups td")?.colSpan ?? 0;
  const names = heads.map((head, place) => (groups[place - keys] ?? "") + head.textContent);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, place) => { cell.dataset.head = names[place]; });
}

function listenToPaper() {
  const again = () => drawAgain(printing());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  matchMedia("print").addEventListener("change", again);
  // Paper cannot unfold: what is folded is opened and drawn before it is printed.
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((fold) => { if (!fold.closest("[hidden]")) fold.open = true; });
    drawAgain(true);
  });
  window.addEventListener("afterprint", () => drawAgain(false));
}

showOverview();
listenToTrials();
offerCopies();
fitTables();
listenToPaper();
document.documentElement.dataset.ready = "true";
