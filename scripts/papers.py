#!/usr/bin/env python3
"""Write docs/papers.md: every table and figure of five papers beside what dyno measures on this machine.

  scripts/papers.py RESULTS               run the studies that have no complete result in the directory RESULTS
                                          (about 35 minutes on two cores), then write the page
  scripts/papers.py RESULTS STUDY...      run only these
  scripts/papers.py RESULTS --page        run nothing; write the page from the results that are there

scripts/papers.toml has the papers' values and the studies' overrides. Set DYNO to use another program than
target/release/dyno. Needs python3 3.11 or later; the studies of platforms and storage need root. An interrupted run
continues with the first incomplete trial.
"""

import csv
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "papers.md"
DYNO = os.environ.get("DYNO", str(ROOT / "target" / "release" / "dyno"))
# The paper's values say which of two rows is larger only if they differ by more than this share.
SAME_SHARE = 0.01
RATES = {"before": "before, tps", "during": "during, tps", "after": "after, tps"}
TIMES = {
    "outage_s": "no accepted write, s",
    "first_write_s": "first write after, s",
    "rejoined_s": "back in service after, s",
}


# Of each column of each table: pairs of rows in the paper's order, in the opposite one, and undecided.
PAIRS = []


class Cell:
    """A number with its interval: half of it, or both ends where it is not symmetric."""

    def __init__(self, value=None, half=None, low=None, high=None):
        self.value, self.half = value, half
        self.low, self.high = low, high
        if half is not None and value is not None:
            self.low, self.high = value - half, value + half

    @classmethod
    def of(cls, line):
        value, half, low, high = (number(line.get(name)) for name in ("estimate", "half_width", "low", "high"))
        return cls(value, half, low, high)

    def __add__(self, other):
        if None in (self.value, other.value):
            return Cell()
        halves = None if None in (self.half, other.half) else self.half + other.half
        return Cell(self.value + other.value, halves)

    def shown(self, unit=""):
        if self.value is None:
            return "–"
        scale = 2**20 if unit == "MiB" else 1
        ends = [end / scale for end in (self.low, self.high) if end is not None]
        value = self.value / scale
        digits = decimals(value)
        text = f"{value:,.{digits}f}"
        if self.half is not None:
            text += f" ± {self.half / scale:,.{digits}f}"
        elif len(ends) == 2:
            text += f" ({ends[0]:,.{digits}f} to {ends[1]:,.{digits}f})"
        return f"{text} {unit}".strip()


def decimals(value):
    return 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2


def number(text):
    return float(text) if text not in (None, "") else None


def plain(value):
    """A value of a paper."""
    return value or "–" if isinstance(value, str) else f"{value:,}"


def csv_lines(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def grid(header, rows, words=1):
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def short(key):
    return key.rsplit(".", 1)[-1]


def unit(column):
    return "MiB" if column.endswith("_bytes") else ""


# Tables: rows are values of the axes in `by`.


def measured(result, part):
    """{row: {column: cell}} from the study's own tables."""
    wanted = {column for spec in part["columns"] for column in spec.split(" + ")}
    found = {}
    for line in csv_lines(result / "tables.csv"):
        axes = dict(pair.split("=", 1) for pair in line["of"].split(", ") if pair)
        axes[short(line["key"])] = line["value"]
        if line["variant"]:
            axes["variant"] = line["variant"]
        where = part.get("where", {})
        if line["column"] not in wanted or any(axes.get(key) != value for key, value in where.items()):
            continue
        row = ", ".join(axes.get(key, "") for key in part["by"])
        found.setdefault(row, {}).setdefault(line["column"], Cell.of(line))
    return found


def sum_of(cells, spec):
    first, *rest = [cells.get(column, Cell()) for column in spec.split(" + ")]
    return sum(rest, first)


def table_text(result, part):
    paper = part.get("rows", {})
    cells = measured(result, part)
    own = {row: [sum_of(found, spec) for spec in part["columns"]] for row, found in cells.items()}
    headings = list(part["columns"].values())
    rows = list(own) + [row for row in paper if row not in own]
    if all(row.isdigit() for row in rows):
        rows.sort(key=int)
    in_paper = [any(values[place] != "" for values in paper.values()) for place in range(len(headings))]
    header = [", ".join(part["by"])]
    for place, heading in enumerate(headings):
        header += [f"paper: {heading}", f"dyno: {heading}"] if in_paper[place] else [heading]
    lines = []
    for row in rows:
        line = [row]
        for place, spec in enumerate(part["columns"]):
            theirs = paper.get(row, [""] * len(headings))[place]
            line += [plain(theirs)] if in_paper[place] else []
            line.append(own[row][place].shown(unit(spec)) if row in own else "–")
        lines.append(line)
    texts = [grid(header, lines)]
    shapes = [shape(headings[place], paper, own, place) for place in range(len(headings))]
    shapes = [f"- {words}" for words in shapes if words]
    return "\n\n".join(texts + (["\n".join(shapes)] if shapes else []))


def shape(heading, paper, own, place):
    """Where the curve rises and bends, and whether pairs of rows have the paper's order."""
    theirs = {row: values[place] for row, values in paper.items() if isinstance(values[place], (int, float))}
    ours = {row: cells[place] for row, cells in own.items() if cells[place].value is not None}
    both = [row for row in theirs if row in ours]
    words = []
    if len(both) > 1 and all(row.isdigit() for row in ours):
        both.sort(key=int)
        first, last = both[0], both[-1]
        if theirs[first] and ours[first].value:
            of_paper, of_dyno = theirs[last] / theirs[first], ours[last].value / ours[first].value
            words.append(f"from {first} to {last}, × {of_paper:.2f} in the paper and × {of_dyno:.2f} here")
        top = max(ours, key=lambda row: ours[row].value)
        words.append(f"highest at {max(theirs, key=theirs.get)} in the paper and at {top} here")
    same, other, unclear = pairs(theirs, ours, both)
    if same + other + unclear:
        PAIRS.append((same, other, unclear))
        words.append(f"pairs of rows: {same} in the paper's order, {other} in the opposite one, {unclear} undecided")
    return f"**{heading}**: {'; '.join(words)}." if words else ""


def pairs(theirs, ours, rows):
    """Of the pairs that differ in the paper, how many have its order here; undecided where intervals overlap."""
    same = other = unclear = 0
    for one, two in combinations(rows, 2):
        if abs(theirs[one] - theirs[two]) <= SAME_SHARE * max(abs(theirs[one]), abs(theirs[two])):
            continue
        ends = [ours[one].low, ours[one].high, ours[two].low, ours[two].high]
        if None in ends or (ends[0] <= ends[3] and ends[2] <= ends[1]):
            unclear += 1
        elif (ours[one].value > ours[two].value) == (theirs[one] > theirs[two]):
            same += 1
        else:
            other += 1
    return same, other, unclear


# Two platforms: in the paper's shape, a column for each value of the axis.


def platforms_text(result, part):
    base, new = part["variants"]
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        command = [DYNO, "compare", result, "--base", base, "--new", new, "--out", out]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = csv_lines(out / "compare.csv")
    if done.returncode != 0:
        return f"No comparison: {done.stderr.strip()}"
    values = part["values"]
    at = {(line[part["axis"]], line["column"]): line for line in lines}
    rows = []
    for column, heading in part["columns"].items():
        paper = part["paper"][column]
        found = [at.get((value, column), {}) for value in values]
        for side, own, theirs in [(base, "base", "base"), (new, "new", "new")]:
            rows.append([f"paper: {part[theirs]} {heading}", *map(plain, paper[theirs])])
            rows.append([f"dyno: {side} {heading}", *(side_of(line, own).shown() for line in found)])
        rows.append([f"paper: {heading} delta, %", *map(plain, paper["delta_pct"])])
        rows.append([f"dyno: {heading} delta, %", *(delta(line).shown() for line in found)])
        verdicts = [line.get("verdict", "–") for line in found]
        if not all(verdict.startswith("not tested") for verdict in verdicts):
            rows.append(["dyno: verdict", *verdicts])
    header = [short(part["axis"]), *values]
    note = "Delta: the change with the opposite sign, as in the paper, so that a loss of throughput is positive."
    return grid(header, rows) + "\n\n" + note


def side_of(line, side):
    return Cell(number(line.get(side)), number(line.get(f"{side}.half_width")))


def delta(line):
    """The change with the opposite sign."""
    value, low, high = (number(line.get(f"change_pct{end}")) for end in ("", ".high", ".low"))
    opposite = [None if end is None else -end for end in (value, low, high)]
    return Cell(opposite[0], None, opposite[1], opposite[2])


# Faults: throughput before, during and after.


def faults_text(result, part):
    rows = []
    for name, rates in part.get("paper", {}).items():
        shown = [plain(rates[key]) if key in rates else "–" for key in RATES]
        rows.append([f"paper: {name}", *shown, change(rates["before"], rates["after"]), *("–" for _ in TIMES), ""])
    for trial in content(result)["trials"]:
        planned = trial["setup"]["planned"]
        label = "" if planned["label"] == "single" else f"{planned['label']}: "
        for fault in trial["faults"]:
            found = fault["recovery"] or {}
            rates = [found.get(key) or {} for key in RATES]
            rates = [Cell(rate.get("value"), rate.get("half_width")) for rate in rates]
            device = f", device {fault['device']}" if fault.get("device") else ""
            name = f"dyno: {label}{fault['kind'].replace('_', ' ')} {fault['target']}{device} at {fault['asked_s']:.0f} s"
            times = [Cell(found.get(key)).shown() for key in TIMES]
            share = change(rates[0].value, rates[2].value)
            rows.append([name, *(rate.shown() for rate in rates), share, *times, remarks(fault)])
    header = ["", *RATES.values(), "after against before, %", *TIMES.values(), "remarks"]
    return "\n\n".join([grid(header, rows), *ledgers(result)])


def remarks(fault):
    words = []
    if fault.get("crash"):
        words.append(f"the server ended at {fault['crash']['at_s']:.1f} s")
    if fault.get("scrub"):
        words.append("{found} errors found, {corrected} corrected, {uncorrectable} uncorrectable".format(**fault["scrub"]))
    if fault.get("error"):
        words.append(fault["error"].splitlines()[0])
    return "; ".join(words)


def ledgers(result):
    """What became of acknowledged transactions, and trials that did not end as planned."""
    lines = []
    for trial in content(result)["trials"]:
        label = trial["setup"]["planned"]["label"]
        for one in trial["ledgers"]:
            lines.append(f"- Ledger ({label}): {one['acknowledged']:,} transactions acknowledged, {one['lost']} lost.")
        how = trial["outcome"]
        if how["how"] != "completed":
            lines.append(f"- Trial ({label}) {how['how']}: {how.get('reason') or how.get('error', '')}")
    return ["\n".join(lines)] if lines else []


def change(before, after):
    return f"{100 * (after / before - 1):+.1f}" if before and after is not None else "–"


# Answers of dyno itself: leader boards, and how many servers a load needs.


def answer_text(result, part):
    others = [result.parent / name for name in part.get("also", [])]
    all_results = [result, *(other for other in others if content(other))]
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        command = [DYNO, part["command"][0], *all_results, *part["command"][1:], "--out", out]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return f"No answer: {done.stderr.strip()}"
        page = (out / f"{part['command'][0]}.md").read_text()
    # A board's name stands above its table.
    blocks = [block.strip() for block in page.split("\n\n")]
    is_named = part["command"][0] == "rank"
    tables = [
        text
        for before, block in zip(blocks, blocks[1:])
        if block.startswith("|")
        for text in ([before, block] if is_named else [block])
    ]
    texts = []
    for board in part.get("boards", []):
        lines = [[str(cell) for cell in row] for row in board["rows"]]
        texts.append(f"Paper: {board['title']}\n\n" + grid(board["columns"], lines))
    if "paper" in part:
        texts.append(f"Paper: {part['paper']}")
    texts.append("dyno, by `" + " ".join(["dyno", part["command"][0], "RESULT", *part["command"][1:]]) + "`:")
    return "\n\n".join(texts + tables)


KINDS = {"table": table_text, "platforms": platforms_text, "faults": faults_text, "answer": answer_text}


# The page.


def content(result):
    path = result / "result.json"
    return json.loads(path.read_text()) if path.exists() else None


def is_complete(result):
    found = content(result)
    return found is not None and len(found["trials"]) >= found["design"]["trials"]


def command_line(results, name, of_run):
    """The command that made a result, or would make it, without places of this machine."""
    found = content(results / name)
    words = shlex.split(found["environment"]["command"]) if found else []
    settings = [value for option, value in zip(words, words[1:]) if option == "--set"]
    settings = settings if found else of_run.get("set", [])
    return " ".join(["dyno run", f"studies/{of_run.get('of', name)}.toml", *(f"--set '{one}'" for one in settings)])


def setup_text(found):
    """Engines, platforms and repeats of a result, in a sentence."""
    setups = [trial["setup"] for trial in found["trials"]]
    engines = dict.fromkeys(setup["engine"] for setup in setups if setup["engine"])
    platforms = dict.fromkeys(setup["platform"] for setup in setups if setup.get("platform"))
    trials = found["design"]["repeats"]
    text = f"{', '.join(engines)}; {'one trial' if trials == 1 else f'{trials} trials'} of each point"
    if platforms:
        text += f"; platform: {', '.join(platforms)}"
    return text + "."


def part_text(results, part, studies):
    study = part["study"]
    text = [f"### {part['title']}", f"Shown in the paper as: {', '.join(part['shows'])}."]
    if "note" in part:
        text.append(part["note"])
    text += [f"`{command_line(results, name, studies[name])}`" for name in [study, *part.get("also", [])]]
    found = content(results / study)
    if found is None or not found["trials"]:
        return "\n\n".join([*text, f"**No result.** {reason(results, study)}"])
    text.append(setup_text(found))
    if len(found["trials"]) < found["design"]["trials"]:
        text.append(f"Incomplete: {len(found['trials'])} of {found['design']['trials']} trials.")
    text.append(KINDS[part.get("kind", "table")](results / study, part))
    return "\n\n".join(text)


def reason(results, study):
    log = results / f"{study}.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    errors = [line for line in lines if "error" in line.lower()]
    return f"dyno: {errors[0].strip()}" if errors else "The study has not been run here."


def paper_text(results, paper, studies):
    text = [f"## {paper['title']}", paper["question"], f"On this machine: {paper['here']}"]
    text += [part_text(results, part, studies) for part in paper["part"]]
    left_out = [f"- {', '.join(one['shows'])}: {one['why']}" for one in paper.get("omitted", [])]
    if left_out:
        text += ["### Not measured", "\n".join(left_out)]
    return "\n\n".join(text)


def intro(results):
    found = (content(results / name.name) for name in sorted(results.iterdir()) if name.is_dir())
    one = next((result["environment"] for result in found if result), None)
    wrote = "no study has been run yet"
    if one:
        host = [f"dyno {one['dyno_version']}", f"{one.get('cores', '?')} CPUs"]
        host += [str(one[key]) for key in ("cpu_model", "os", "kernel") if one.get(key)]
        host += [f"{(one.get('memory_bytes') or 0) / 2**30:.0f} GiB of memory"]
        host += [f"virtualization: {one.get('virtualisation') or 'none detected'}"]
        wrote = f"{one['started'][:10]}; {', '.join(host)}"
    return f"""# Five papers, measured again

dyno repeats five published studies of MySQL; above each table is the command that measured it. This page has every table
and figure of the papers beside dyno's own numbers, except those listed under "Not measured": what agrees in shape, and what
cannot agree on this machine. `scripts/papers.py` wrote it ({wrote}).

The studies run in their small sizes, further shortened by the overrides that stand above each table; `--set
sizes=paper` has the papers' sizes. Absolute values cannot agree with those of other hardware. ± and parentheses are
95 % confidence intervals; a number without one has none. – stands for what the paper does not state or dyno did not
measure. The values of the papers' figures are taken from their texts. Rows of a table that differ in the paper by more
than {100 * SAME_SHARE:.0f} % are compared in pairs; a pair is undecided where dyno's intervals overlap or there are none."""


def overview(results, papers, counts):
    """A line for each paper: what it has, what of it was measured, and how many pairs of rows have its order."""
    rows = []
    for paper, (same, other, unclear) in zip(papers, counts):
        done = [part for part in paper["part"] if (found := content(results / part["study"])) and found["trials"]]
        shown = {name for part in done for name in part["shows"]}
        left_out = {name for one in paper.get("omitted", []) for name in one["shows"]}
        wanted = len(paper["contents"]) - len(left_out)
        rows.append([paper["title"], f"{len(shown)} of {wanted}", str(same), str(other), str(unclear)])
    header = ["paper", "tables and figures with a result", "pairs in the paper's order", "in the opposite order", "undecided"]
    return grid(header, rows)


def run(results, name, of_run):
    result, log = results / name, results / f"{name}.log"
    if is_complete(result):
        return
    path = ROOT / "studies" / f"{of_run.get('of', name)}.toml"
    command = [DYNO, "run", path, "--out", result]
    command += ["--resume"] if result.exists() else []
    command += [word for one in of_run.get("set", []) for word in ("--set", one)]
    print(f"== {name}", end="", flush=True)
    begin = time.monotonic()
    with log.open("w") as file:
        code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode
    print(f": exit code {code} after {time.monotonic() - begin:.0f} s", flush=True)


def main():
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        sys.exit(__doc__)
    results = Path(words[0])
    results.mkdir(parents=True, exist_ok=True)
    data = tomllib.loads((ROOT / "scripts" / "papers.toml").read_text())
    studies = data["study"]
    if words[1:] != ["--page"]:
        for study in words[1:] or studies:
            run(results, study, studies[study])
    sections, counts = [], []
    for paper in data["paper"]:
        PAIRS.clear()
        sections.append(paper_text(results, paper, studies))
        counts.append([sum(counted) for counted in zip(*PAIRS)] or [0, 0, 0])
    text = [intro(results), overview(results, data["paper"], counts), *sections]
    PAGE.write_text("\n\n".join(text) + "\n")
    print(f"{PAGE} written")


main()
