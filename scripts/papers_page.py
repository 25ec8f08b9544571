"""The page of the papers, from the CSV files of the runs and the claims in papers.toml."""

import re
from collections import Counter

import papers_chart
import papers_run
from papers_statistics import HOLDS, FAMILY_LEVEL, Finding, Ratio, decide, region

LIMIT_PCT = 5.0  # A start is left out if the hypervisor or other programs took more than this share of CPU time.
VERDICTS = ["inside", "equivalent", "outside", "undecided", "not testable"]
NONE = "–"


def number(text):
    return float(text) if text not in (None, "") else None


def value_of(trial, spec):
    """A column of a trial, or the sum of several; either may be divided by another column."""
    spec, _, per = spec.partition(" / ")
    found = [number(trial.get(column)) for column in spec.split(" + ")]
    divisor = number(trial.get(per)) if per else 1.0
    return None if None in found or not divisor else sum(found) / divisor


def has(trial, point):
    return all(trial.get(key) == str(value) for key, value in point.items())


def is_disturbed(trial):
    return any((number(trial[column]) or 0.0) > LIMIT_PCT for column in ("steal_pct", "others_pct"))


def is_usable(trial):
    return trial["outcome"] == "completed" and not is_disturbed(trial)


def at(trials, point):
    """{repeat: trial} at a point, which must identify one trial of each repeat."""
    found = [trial for trial in trials if has(trial, point)]
    by_repeat = {trial["repeat"]: trial for trial in found}
    if len(by_repeat) < len(found):
        raise papers_run.Refused(f"{point} is more than one point of its study")
    return by_repeat


def points_of(claim):
    """Both points that a claim compares."""
    common = claim.get("where", {})
    sides = (claim.get(side, {}) for side in ("of", "over"))
    return [common | side if isinstance(side, dict) else common for side in sides]


def mean(values):
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def highest(trials, column):
    return max((value for trial in trials if (value := number(trial[column])) is not None), default=None)


def paired(trials, of, over, columns):
    """Pairs of the starts that count, the trials behind them (of all starts if none counts), and how many were left out."""
    of, over = at(trials, of), at(trials, over)
    starts = [(of[repeat], over[repeat]) for repeat in of if repeat in over]
    kept = [pair for pair in starts if all(map(is_usable, pair))]
    values = [(value_of(one, columns[0]), value_of(other, columns[1])) for one, other in kept]
    pairs = [pair for pair in values if None not in pair]
    return pairs, [trial for pair in kept or starts for trial in pair], len(starts) - len(pairs)


def find(claim, runs):
    finding = Finding(claim)
    if "untestable" in claim:
        finding.verdict, finding.why = "not testable", claim["untestable"]
        return finding
    if claim["recipe"] not in runs:
        finding.why = "not run yet"
        return finding
    _, trials = runs[claim["recipe"]]
    points = points_of(claim)
    if any(trial["emulated"] == "yes" and any(has(trial, point) for point in points) for trial in trials):
        finding.verdict, finding.why = "not testable", "the CPUs of a side are emulated here"
        return finding
    pairs, kept, finding.left_out = paired(trials, *points, papers_run.columns_of(claim))
    finding.ratio = Ratio.of(pairs)
    zeros = len(pairs) - len(finding.ratio.logs)
    finding.left_out += zeros
    finding.steal, finding.others = highest(kept, "steal_pct"), highest(kept, "others_pct")
    finding.why = "a side is zero" if zeros else finding.ratio.unfit()
    return finding


# Words and tables.


def grid(header, rows, words=1):
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def shown(value):
    if value is None:
        return NONE
    size = abs(value)
    return f"{value:,.{0 if size >= 1000 else 1 if size >= 100 else 2}f}"


def ratio_text(ratio):
    if ratio.value is None:
        return NONE
    ends = ratio.interval()
    return shown(ratio.value) + (f" ({shown(ends[0])} to {shown(ends[1])})" if ends else "")


def theirs_text(claim, margins):
    kind = claim.get("kind", "ratio")
    if kind in ("higher", "lower"):
        return f"{'above' if kind == 'higher' else 'below'} {claim.get('bound', 1)}"
    ratio = claim["ratio"] if kind == "ratio" else 1.0
    value = shown(ratio) if kind == "ratio" else "no effect"
    return f"{value}, margin {100 * (region(claim, margins)[1] / ratio - 1):.0f} %"


def anchor(name):
    return re.sub(r"[^a-z0-9-]", "", f"run {name}".lower().replace(" ", "-"))


def links(name, recipe):
    path = papers_run.study(name, recipe)
    return f"[{path.removeprefix('studies/')}](../{path}), [command](#{anchor(name)})"


def claims_text(found, data):
    rows = []
    for one in found:
        claim = one.claim
        remarks = f"*{claim['note']}*" if "note" in claim else ""
        verdict = f"{one.verdict}: {one.why}" if one.why else f"**{one.verdict}**"
        theirs = NONE if "untestable" in claim else theirs_text(claim, data["margin"])
        starts = f"{len(one.ratio.logs)}" + (f" ({one.left_out} left out)" if one.left_out else "")
        name = claim.get("recipe")
        rows.append([
            " ".join(filter(None, [claim["says"], remarks])), ", ".join(claim["shows"]), theirs, ratio_text(one.ratio), verdict,
            starts, shown(one.steal), shown(one.others), links(name, data["recipe"][name]) if name else NONE,
        ])
    header = ["claim", "in the paper", "paper's ratio", "dyno's ratio", "verdict", "starts", "steal, %", "others, %", "study"]
    return grid(header, rows, words=2)


def in_order(value):
    """Numbers by size; names stay in the order of the study."""
    return float(value) if papers_chart.is_number(value) else 0.0


def curve(chart, runs):
    """{value: trials} of a chart's axis."""
    _, trials = runs.get(chart["recipe"], ({}, []))
    values = {}
    for trial in trials:
        if has(trial, chart.get("where", {})):
            values.setdefault(trial[chart["by"]], []).append(trial)
    return dict(sorted(values.items(), key=lambda one: in_order(one[0])))


def chart_text(chart, runs, data):
    points = curve(chart, runs)
    paper = {str(key): value for key, value in chart["paper"].items()}
    rows = []
    for value in sorted(dict.fromkeys([*points, *paper]), key=in_order):
        all_trials = points.get(value, [])
        kept = [trial for trial in all_trials if is_usable(trial)]
        own = [found for trial in kept if (found := value_of(trial, chart["column"])) is not None]
        spread = f" ({shown(min(own))} to {shown(max(own))})" if own else ""
        emulated = " (emulated)" if any(trial["emulated"] == "yes" for trial in all_trials) else ""
        left_out = len(all_trials) - len(own)
        rows.append([
            value + emulated, shown(paper.get(value)), shown(mean(own)) + spread,
            f"{len(own)}" + (f" ({left_out} left out)" if left_out else ""), shown(highest(kept or all_trials, "steal_pct")), shown(highest(kept or all_trials, "others_pct")),
        ])
    recipe = chart["recipe"]
    head = f"**{chart['title']}** ({', '.join(chart['shows'])}), {links(recipe, data['recipe'][recipe])}"
    where = ", ".join(f"`{key}` = {value}" for key, value in chart.get("where", {}).items())
    header = [chart["x"], "paper", f"dyno: {chart['column']}, mean (lowest to highest start)", "starts", "steal, %", "others, %"]
    return "\n\n".join([f"{head}{'; ' if where else ''}{where}:", grid(header, rows)])


def picture(paper, runs):
    """The SVG of a paper's first chart, or None."""
    chart = next(iter(paper.get("chart", [])), None)
    points = curve(chart, runs) if chart else {}
    theirs = {str(key): value for key, value in chart["paper"].items()} if chart else {}
    usable = [value for value in points if any(map(is_usable, points[value]))]
    both = [value for value in usable if value in theirs] or usable
    if not both:
        return None
    first = min(both, key=float) if all(map(papers_chart.is_number, both)) else both[0]
    ours = {}
    for value in usable:
        sides = [chart.get("where", {}) | {chart["by"]: one} for one in (value, first)]
        pairs, *_ = paired(runs[chart["recipe"]][1], *sides, [chart["column"]] * 2)
        ratio = Ratio.of(pairs)
        if ratio.value is not None:
            ours[value] = (ratio.value, *(ratio.interval() or (None, None)))
    base = theirs.get(first)
    theirs = {key: value / base for key, value in theirs.items()} if base else {}
    return papers_chart.svg(chart["title"], chart["x"], theirs, ours)


# Coverage, from the points that were measured.


def wanted_points(paper, claims, item, runs):
    """{(recipe, point)} of everything that shows an item of a paper; a point is a tuple of pairs."""
    wanted = set()
    for chart in paper.get("chart", []):
        if item in chart["shows"]:
            points = [chart.get("where", {}) | {chart["by"]: value} for value in [*chart["paper"], *curve(chart, runs)]]
            wanted |= {(chart["recipe"], tuple(sorted(point.items()))) for point in points}
    for claim in claims:
        if item in claim["shows"] and "untestable" not in claim:
            wanted |= {(claim["recipe"], tuple(sorted(point.items()))) for point in points_of(claim)}
    return wanted


def state_of(paper, claims, item, runs):
    """(how much of a table or figure was measured, what is missing)."""
    missing, measured = [], 0
    for recipe, point in sorted(wanted_points(paper, claims, item, runs)):
        trials = [trial for trial in runs.get(recipe, ({}, []))[1] if has(trial, dict(point))]
        if any(is_usable(trial) and trial["emulated"] == "no" for trial in trials):
            measured += 1
            continue
        name = ", ".join(f"{key.rsplit('.', 1)[-1]} {value}" for key, value in point) or recipe
        reason = "only emulated" if any(map(is_usable, trials)) else "every start left out" if trials else "no result"
        missing.append(f"{name}: {reason}")
    reasons = [*paper.get("omitted", []), *paper.get("partly", []), *claims]
    why = missing + [one.get("why") or one.get("untestable", "") for one in reasons if item in one["shows"]]
    why = list(filter(None, dict.fromkeys(why)))
    return ("not measured" if not measured else "partly" if why else "measured"), "; ".join(why)


def coverage(paper, claims, runs):
    return {item: state_of(paper, claims, item, runs) for item in paper["contents"]}


# Sections.


def bare(says):
    """A claim without its source in parentheses and its period."""
    return re.sub(r" \([^()]*(\([^()]*\)[^()]*)*\)", "", says).rstrip(".")


def paragraph(paper, found):
    """What holds, what contradicts, and what this machine cannot show."""
    counts = Counter(one.verdict for one in found)
    testable = len(found) - counts["not testable"]
    words = []
    holds = [one for one in found if one.verdict in HOLDS]
    against = [one for one in found if one.verdict == "outside"]
    words.append(f"Of {len(found)} claims, {testable} can be tested here. Claims that hold: {len(holds)}; contradicted: ")
    words[-1] += f"{len(against)}; undecided: {counts['undecided']}."
    for heading, some in (("Holds", holds), ("Contradicted", against)):
        named = [f"{bare(one.claim['says'])} (here {shown(one.ratio.value)})" for one in some]
        words += [f"**{heading}:** {'; '.join(named)}."] if some else []
    return " ".join([*words, f"**This machine cannot show** {paper['here'].rstrip('.')}."])


def runs_text(names, runs, data):
    texts = []
    for name in names:
        texts += [f"#### Run {name}", f"`{papers_run.command(name, data['recipe'][name])}`"]
        if name not in runs:
            texts.append("No result yet.")
            continue
        head, trials = runs[name]
        disturbed = sum(map(is_disturbed, trials))
        failed = sum(trial["outcome"] != "completed" for trial in trials)
        texts.append(
            f"{len(trials)} of {head['planned trials']} trials, {disturbed} of them left out for steal or other programs, {failed} "
            f"not completed; {head['servers']}; {head['date'][:10]}; {head['build']}, commit {head['commit']}; {head['host']}. "
            f"[CSV](papers/{name}.csv)"
        )
        reasons = Counter(trial["reason"] for trial in trials if trial["outcome"] != "completed" and trial["reason"])
        texts += ["\n".join(f"- {count} ×: {reason[:200]}" for reason, count in reasons.items())] if reasons else []
    return texts


def paper_text(paper, found, runs, data, has_picture):
    claims = [one.claim for one in found]
    used = [one.get("recipe") for one in [*claims, *paper.get("chart", [])]]
    text = [f"## {paper['id']}: {paper['title']}", paper["question"], paragraph(paper, found)]
    if has_picture:
        text.append(f"![{paper['chart'][0]['title']}](images/papers-{paper['id']}.svg)")
    text += [f"### Claims of {paper['id']}", claims_text(found, data)]
    text += [f"### Measurements of {paper['id']}", *(chart_text(chart, runs, data) for chart in paper.get("chart", []))]
    rows = [[item, state, why or NONE] for item, (state, why) in coverage(paper, claims, runs).items()]
    text += [f"### Coverage of {paper['id']}", grid(["table or figure", "state", "missing, and why"], rows, words=3)]
    return "\n\n".join([*text, f"### Runs of {paper['id']}", *runs_text([one for one in dict.fromkeys(used) if one], runs, data)])


def intro(runs, found, windows):
    trials = [trial for _, some in runs.values() for trial in some]
    testable = [one for one in found if one.verdict != "not testable"]
    decided = sum(one.verdict in (*HOLDS, "outside") for one in testable)
    return f"""# Five papers, measured again

dyno repeats five published studies of MySQL on a small scale. Absolute values are not comparable with those of other hardware,
so each claim of a paper is a ratio of two points, or of two times around a failure; both come from one run, of one build on one
host. `scripts/papers.py` produced the runs and this page. {decided} of {len(testable)} testable claims are decided.

Each repeat starts the servers again; the two points of a claim in one repeat are a pair. dyno's ratio is the geometric mean of
the pairs, with its 95 % interval in parentheses (Student's t on the logarithms). *Inside*: two one-sided tests show that the
ratio differs from the paper's by less than the margin; *equivalent*: the same, for a claim of no effect; *outside*: a test shows
that it differs by more than the margin; *undecided*: neither. Margins were fixed before anything was measured; the margin of an
effect is at most half of it, on a logarithmic scale, so that no effect is never inside. For a claim that states only a direction,
all ratios above, or below, the bound are inside. Of all verdicts on this page, at most {100 * FAMILY_LEVEL:.0f} % are expected
to be wrong (false discovery rate, Benjamini and Hochberg). The method is proven for independent claims, and these share points
and trials; on 1,000 simulated pages that share them alike, with ten starts each and all ratios next to a margin, 3.7 ± 0.8 % of
the verdicts were wrong (with half of the ratios there, 1.6 %). The intervals are not adjusted for multiple testing, so a claim may
be undecided although its interval lies outside the margin. There is no verdict if a pair has a zero or the pairs do not vary.

Claims about a failure compare throughput in fixed windows: *before*, the {windows['before']} s until the fault was due; *during*,
the {windows['during']} s from then on; *after*, the last {windows['after']} s before the next fault or the end. In a first series, the windows were 5, 5,
and 6 s; they decided little, so they were lengthened, and all failures were measured again.

*Steal* is CPU time that the hypervisor gave to other guests, and *others* is that of programs other than the servers and dyno,
as shares of all CPUs; tables show the highest value of the starts that count, or of all starts if none counts. A trial with more
than {LIMIT_PCT:.0f} % of either is left out, with its pair: {sum(map(is_disturbed, trials))} of {len(trials)} trials. {NONE} means
that a paper does not state a value or dyno did not measure it."""


def overview(data, found, runs):
    rows = []
    for paper in data["paper"]:
        own = [one for one in found if one.claim["paper"] == paper["id"]]
        counts = Counter(one.verdict for one in own)
        states = Counter(state for state, _ in coverage(paper, [one.claim for one in own], runs).values())
        rows.append([f"{paper['id']}: {paper['title']}", *(str(counts[verdict]) for verdict in VERDICTS)])
        rows[-1] += [str(states[state]) for state in ("measured", "partly", "not measured")]
    total = ["all", *(str(sum(int(row[place]) for row in rows)) for place in range(1, 9))]
    header = ["claims of", *VERDICTS, "tables and figures measured", "partly", "not measured"]
    return grid(header, [*rows, total])


def write(data, runs):
    """{path below docs: text} of the page and its charts."""
    found = [find(claim, runs) for claim in data["claim"]]
    decide(found, data["margin"])
    files, sections = {}, []
    for paper in data["paper"]:
        if drawing := picture(paper, runs):
            files[f"images/papers-{paper['id']}.svg"] = drawing
        own = [one for one in found if one.claim["paper"] == paper["id"]]
        sections.append(paper_text(paper, own, runs, data, bool(drawing)))
    page = [intro(runs, found, data["window"]), overview(data, found, runs), *sections]
    return files | {"papers.md": "\n\n".join(page) + "\n"}
