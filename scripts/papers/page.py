"""Writes docs/papers.md and its charts from the kept results."""

import math
import os
import statistics

import chart
from claims import NOT_TESTABLE, TESTED, Paired
from recipes import MOST_STEAL, ROOT, Refused, value

PAGE = ROOT / "docs" / "papers.md"
IMAGES = ROOT / "docs" / "images"
ABSENT = "–"


def grid(header, rows, words=1):
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def digits(value):
    if value is None:
        return ABSENT
    places = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    return f"{value:,.{places}f}"


def counted(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def listed(words):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


# Charts and their tables.


class Chart:
    """A curve of a paper beside the same one here, by the values of an axis."""

    def __init__(self, entry, kept):
        self.entry = entry
        self.paper = {str(place): value for place, value in entry.get("paper", {}).items()}
        trials = kept.trials if kept else []
        places = [trial[entry["by"]] for trial in trials if trial.get(entry["by"])] + list(self.paper)
        places = list(dict.fromkeys(places))
        self.places = sorted(places, key=float) if all(place.replace(".", "").isdigit() for place in places) else places
        self.trials = {place: kept.at(entry.get("where", {}) | {entry["by"]: place}) if kept else {} for place in self.places}

    def numbers(self, place):
        numbers = (value(trial, self.entry["column"]) for trial in self.trials[place].values())
        return [number for number in numbers if number is not None]

    def relative(self):
        """dyno's curve relative to its first point, with intervals over the starts of both."""
        first = next((place for place in self.places if self.numbers(place)), None)
        points, bands = {}, {}
        for place in self.places:
            pairs = [(value(trial, self.entry["column"]), value(self.trials[first][repeat], self.entry["column"]))
                     for repeat, trial in self.trials[place].items() if repeat in self.trials[first]] if first else []
            paired = Paired([new / base for new, base in pairs if new and base])
            if paired.count:
                points[place] = paired.ratio
                bands[place] = paired.interval() or (paired.ratio, paired.ratio)
        return chart.Curve("dyno", points, bands)

    def of_paper(self):
        first = next(iter(self.paper.values()), None)
        return chart.Curve("the paper", {place: value / first for place, value in self.paper.items()})

    def svg(self):
        return chart.svg(f"{self.entry['title']}, relative to the first point", self.entry["x"], self.places,
                         [self.of_paper(), self.relative()])

    def table(self):
        rows = []
        for place in self.places:
            numbers = self.numbers(place)
            mean = statistics.mean(numbers) if numbers else None
            half = ""
            if len(numbers) > 1:
                spread = Paired([math.exp(number / mean) for number in numbers]) if mean else None
                half = f" ± {digits(interval_half(spread) * mean)}" if spread else ""
            shares = [[float(trial[key] or 0) for trial in self.trials[place].values()] for key in ("cpu.steal", "others.cpu")]
            theirs = self.paper.get(place)
            rows.append([place, ABSENT if theirs is None else f"{theirs:,}", digits(mean) + half, str(len(numbers)),
                         *(digits(max(share)) if share else ABSENT for share in shares)])
        header = [self.entry["x"], "the paper", "dyno", "starts", "most steal, %", "most others, %"]
        return grid(header, rows)


def interval_half(paired):
    """Half of the interval of the logarithms' mean."""
    low, high = paired.interval()
    return (math.log(high) - math.log(low)) / 2


# Claims.


def claim_row(claim):
    entry = claim.entry
    if claim.paired is None:
        here, starts, shares = claim.reason, ABSENT, [ABSENT, ABSENT]
    else:
        low, high = claim.paired.interval()
        here = f"{claim.paired.ratio:.3f} ({low:.3f} to {high:.3f})"
        starts, shares = str(claim.paired.count), [digits(max(claim.steal)), digits(max(claim.others))]
    low, high = claim.band()
    wanted = {"higher": "above 1", "lower": "below 1"}.get(claim.kind) or f"{low:.3f} to {high:.3f}"
    note = f" *{entry['note']}*" if "note" in entry else ""
    where = f" [{claim.recipe}](#{claim.recipe})" if claim.recipe else ""
    return [str(claim.number), f"{', '.join(entry['shows'])}: {claim.says}{note}{where}",
            f"{entry['ratio']:g}" if "ratio" in entry else ABSENT, ABSENT if entry.get("untestable") else wanted, here,
            claim.verdict, starts, *shares]


def claims_table(claims):
    header = ["", "claim", "the paper's ratio", "agrees from … to", "ratio here (95 % interval)", "verdict", "starts",
              "most steal, %", "most others, %"]
    return grid(header, [claim_row(claim) for claim in claims], 2)


def numbers_of(claims, *verdicts):
    return [claim for claim in claims if claim.verdict in verdicts]


def verdict_text(paper, claims):
    """What holds, what contradicts, and what this machine cannot show, in a paragraph."""
    tested = [claim for claim in claims if claim.is_testable]
    holds, contradicts = numbers_of(claims, "inside", "equivalent"), numbers_of(claims, "outside")
    undecided = numbers_of(claims, "undecided")
    text = [f"Of {counted(len(claims), 'claim')}, {len(tested)} can be tested here: {len(holds)} hold, {len(contradicts)} "
            f"{'is' if len(contradicts) == 1 else 'are'} contradicted, and {len(undecided)} "
            f"{'is' if len(undecided) == 1 else 'are'} undecided."]
    if holds:
        text.append(f"**What holds:** claims {listed([str(claim.number) for claim in holds])}." if len(holds) > 1
                    else f"**What holds:** claim {holds[0].number}.")
    if contradicts:
        each = (f"claim {claim.number} (here {claim.paired.ratio:.2f})" for claim in contradicts)
        text.append(f"**What is contradicted:** {listed(list(each))}.")
    text.append(f"**What this machine cannot show:** {paper['here']}")
    return " ".join(text)


def coverage(paper, claims, charts, all_kept):
    """Whether each table and figure was measured, told from the results that there are."""
    left_out = {name: one["why"] for one in paper.get("omitted", []) for name in one["shows"]}
    partly = {name: one["why"] for one in paper.get("partly", []) for name in one["shows"]}
    measured = {name for one in charts if one.relative().points for name in one.entry["shows"]}
    measured |= {name for claim in claims if claim.paired for name in claim.entry["shows"]}
    planned = {}
    for entry in [claim.entry for claim in claims if claim.recipe] + [one.entry for one in charts]:
        for name in entry["shows"]:
            planned.setdefault(name, []).append(entry["recipe"])
    found = {}
    for name in paper["contents"]:
        missing = [recipe for recipe in planned.get(name, []) if all_kept.get(recipe) is None]
        if name in left_out:
            found[name] = ("omitted", left_out[name])
        elif name not in measured:
            reasons = [claim.reason for claim in claims if name in claim.entry["shows"] and claim.reason]
            found[name] = ("not measured", reasons[0] if reasons else "its study has no result")
        elif name in partly or missing:
            found[name] = ("partly", partly.get(name) or f"{', '.join(dict.fromkeys(missing))} has no result")
        else:
            found[name] = ("measured", "")
    return found


def paper_text(paper, claims, all_kept, drawn):
    charts = [Chart(entry, all_kept.get(entry["recipe"])) for entry in paper.get("chart", [])]
    claims = [claim for claim in claims if claim.paper == paper["id"]]
    text = [f"## {paper['id']}: {paper['title']}", paper["question"], verdict_text(paper, claims)]
    if charts and charts[0].relative().points:
        name = f"papers-{paper['id']}.svg"
        drawn[name] = charts[0].svg()
        text.append(f"![{charts[0].entry['title']}: the paper's curve and dyno's](images/{name})")
    text += ["### Claims", claims_table(claims)]
    for one in charts:
        entry = one.entry
        recipe = entry["recipe"]
        text += [f"### {entry['title']}", f"{', '.join(entry['shows'])} of the paper; `{entry['column']}`, "
                 f"[{recipe}](#{recipe}).", one.table()]
    found = coverage(paper, claims, charts, all_kept)
    text += ["### Tables and figures", grid(["", "state", "what is missing"], [[name, *state] for name, state in found.items()], 3)]
    return "\n\n".join(text), claims, found


def overview(papers):
    rows = []
    for paper, (_, claims, found) in papers:
        states = [state for state, _ in found.values()]
        rows.append([f"[{paper['id']}](#{anchor(paper)}): {paper['title']}", str(sum(claim.is_testable for claim in claims)),
                     *(str(len(numbers_of(claims, verdict))) for verdict in (*TESTED, NOT_TESTABLE)),
                     *(str(states.count(state)) for state in ("measured", "partly", "not measured", "omitted"))])
    total = [str(sum(int(row[place]) for row in rows)) for place in range(1, len(rows[0]))]
    header = ["paper", "claims testable here", *TESTED, NOT_TESTABLE, "tables and figures measured", "partly", "not measured",
              "omitted"]
    return grid(header, [*rows, ["all", *total]])


def anchor(paper):
    kept = (letter for letter in f"{paper['id']}-{paper['title']}".lower().replace(" ", "-"))
    return "".join(letter for letter in kept if letter.isalnum() or letter in "-_")


def recipes_text(recipes, all_kept):
    text = ["## How it was measured"]
    for name, recipe in recipes.items():
        kept = all_kept.get(name)
        words = [f"<a id=\"{name}\"></a>**{name}**: [{recipe.study}.toml](../studies/{recipe.study}.toml), `{recipe.shown()}`."]
        if kept is None:
            words.append("No result.")
        else:
            outcomes = [trial for trial in kept.trials if trial["outcome"] != "completed"]
            words.append(f"{counted(len(kept.trials), 'trial')} ([papers/{name}.csv](papers/{name}.csv)), {kept.head['servers']}, "
                         f"{kept.head['date']}; {len(kept.rejected)} left out because more than {MOST_STEAL:.0f} % of CPU time was "
                         f"stolen, {len(outcomes)} not completed.")
            reasons = dict.fromkeys(trial["reason"] for trial in outcomes if trial["reason"])
            words += [f"Not completed: {reason}." for reason in reasons]
        text.append("- " + " ".join(words))
    return "\n\n".join([text[0], "\n".join(text[1:])])


def intro(all_kept, claims):
    heads = [kept.head for kept in all_kept.values() if kept]
    wrote = "no recipe has been run yet"
    if heads:
        hosts = dict.fromkeys(head["host"] for head in heads)
        wrote = (f"dyno {heads[0]['dyno']}, build {heads[0]['build']}; {'; '.join(hosts)}; "
                 f"{min(head['date'] for head in heads)} to {max(head['date'] for head in heads)}")
    tested = [claim for claim in claims if claim.is_testable]
    decided = [claim for claim in tested if claim.verdict != "undecided"]
    share = f" ({100 * len(decided) / len(tested):.0f} %)" if tested else ""
    rejected = sum(len(kept.rejected) for kept in all_kept.values() if kept)
    return f"""# Five papers, measured again

dyno repeats five published studies of MySQL in small, and tests what they claim: {len(claims)} claims, of which
{len(tested)} can be tested on this machine and {len(decided)}{share} are decided. `python3 scripts/papers` runs the studies and
writes this page ({wrote}).

Absolute values cannot agree with those of other hardware; shapes can. A claim is therefore a ratio of two numbers. Each point was
started several times, and the ratio here is the geometric mean over starts of both sides, with Student's 95 % interval. The
ratio that agrees was fixed beforehand: a factor of {1.25:g} around the paper's, or {1.15:g} around 1 for "no effect", unless the
claim says otherwise. A claim is *inside* (*equivalent* if it is about no effect) if the ratio is shown to be in that range, *outside* if it is
shown not to be, and *undecided* if neither. All tests are one family: on average, at most 5 % of the verdicts are wrong
(Benjamini and Hochberg). Trials during which more than {MOST_STEAL:.0f} % of the CPU time was stolen by other virtual machines do not
count ({rejected} of all). "Most steal" and "most others" are the highest shares of CPU time that other virtual machines, and
other programs on this host, took from a trial that counts.

The studies run in their small sizes; `--set sizes=paper` has the papers' sizes."""


def write(data, recipes, all_kept, claims):
    """Writes the page and the charts; returns the text."""
    drawn = {}
    papers = [(paper, paper_text(paper, claims, all_kept, drawn)) for paper in data["paper"]]
    text = "\n\n".join([intro(all_kept, claims), overview(papers), *(text for _, (text, _, _) in papers),
                        recipes_text(recipes, all_kept)]) + "\n"
    return text, drawn


def check(text, drawn):
    """Refuses a page or charts that are not those in docs."""
    for path, content in [(PAGE, text), *((IMAGES / name, content) for name, content in drawn.items())]:
        if not path.exists() or path.read_text() != content:
            raise Refused(f"{path.relative_to(ROOT)} is not what docs/papers says: run python3 scripts/papers --page")


def store(text, drawn):
    PAGE.write_text(text)
    for old in IMAGES.glob("papers-*.svg"):
        old.unlink()
    for name, content in drawn.items():
        (IMAGES / name).write_text(content)
    print(f"{os.path.relpath(PAGE)} and {counted(len(drawn), 'chart')} written")
