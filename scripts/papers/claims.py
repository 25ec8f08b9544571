"""Tests the claims of the papers against what the recipes measured."""

import math
import statistics

import student
from recipes import value

FALSE_DISCOVERIES = 0.05
FEWEST_PAIRS = 3
TESTED = ("inside", "equivalent", "outside", "undecided")
NOT_TESTABLE = "not testable here"


class Paired:
    """Ratios of two sides, one for each start."""

    def __init__(self, ratios):
        self.count = len(ratios)
        logs = [math.log(ratio) for ratio in ratios]
        self.mean = statistics.mean(logs) if logs else None
        self.error = statistics.stdev(logs) / math.sqrt(self.count) if self.count > 1 else None

    @property
    def ratio(self):
        return None if self.mean is None else math.exp(self.mean)

    def interval(self):
        """The 95 % confidence interval of the ratio; None with fewer than two starts."""
        if self.error is None:
            return None
        half = student.quantile(0.975, self.count - 1) * self.error
        return math.exp(self.mean - half), math.exp(self.mean + half)

    def p_above(self, limit):
        """The p-value of the test that the mean is above a limit, given as a logarithm."""
        if limit == -math.inf:
            return 0.0
        # Without any spread, the mean is exact.
        t = (self.mean - limit) / max(self.error, 1e-12)
        return student.upper_tail(t, self.count - 1)

    def p_below(self, limit):
        return 0.0 if limit == math.inf else 1.0 - self.p_above(limit)


class Claim:
    """A claim with the region in which the ratio must lie to agree."""

    def __init__(self, number, entry, margins):
        self.number = number
        self.entry = entry
        self.paper, self.says = entry["paper"], entry["says"]
        self.kind = entry.get("kind", "ratio")
        self.recipe = entry.get("recipe")
        self.reason = entry.get("untestable")
        margin = entry.get("margin", margins["none" if self.kind == "none" else "ratio"])
        middle = math.log(entry.get("ratio", 1.0))
        half = math.log1p(margin)
        self.region = {
            "ratio": (middle - half, middle + half),
            "none": (-half, half),
            "higher": (0.0, math.inf),
            "lower": (-math.inf, 0.0),
        }[self.kind]
        self.is_testable = self.reason is None
        self.paired, self.steal, self.others, self.verdict = None, None, None, None

    def sides(self):
        """The point and the column of both sides."""
        entry = self.entry
        where = entry.get("where", {})
        if "fault" in entry:
            return [(where, f"fault{entry['fault']}.{entry[side]}_tps") for side in ("of", "over")]
        columns = entry["column"], entry.get("over_column", entry["column"])
        return [(where | entry.get(side, {}), column) for side, column in zip(("of", "over"), columns)]

    def measure(self, kept):
        """Takes the pairs from the recipe's trials, unless there are too few, or they were emulated."""
        if self.reason:
            return
        if kept is None:
            self.reason = "its study has no result"
            return
        (of, of_column), (over, over_column) = self.sides()
        news, bases = kept.at(of), kept.at(over)
        pairs = [(news[repeat], bases[repeat]) for repeat in news if repeat in bases]
        if any(trial["platform"] == "emulated" for pair in pairs for trial in pair):
            self.reason, self.is_testable = "the machine was emulated", False
            return
        numbers = [(value(new, of_column), value(base, over_column)) for new, base in pairs]
        ratios = [new / base for new, base in numbers if new and base and new > 0 and base > 0]
        if len(ratios) < FEWEST_PAIRS:
            self.reason = f"{len(ratios)} starts count on both sides, fewer than {FEWEST_PAIRS}"
            return
        self.paired = Paired(ratios)
        self.steal, self.others = ([float(trial[key] or 0) for pair in pairs for trial in pair]
                                   for key in ("cpu.steal", "others.cpu"))

    def p_values(self):
        """Of the hypotheses that the ratio is not in the region, and that it is."""
        if self.paired is None:
            return None, None
        low, high = self.region
        inside = max(self.paired.p_above(low), self.paired.p_below(high))
        beyond = [self.paired.p_below(low)] if low > -math.inf else []
        beyond += [self.paired.p_above(high)] if high < math.inf else []
        return inside, min(beyond)

    def band(self):
        """The region as ratios."""
        return tuple(math.exp(end) for end in self.region)


def judge(claims):
    """Gives all claims their verdicts, as one family of tests.

    Of each claim, two hypotheses are tested: that its ratio is not in the region, by two one-sided tests (Schuirmann 1987),
    and that it is. Of all verdicts, on average at most 5 % are wrong.
    """
    tested = [p for claim in claims for p in claim.p_values()]
    rejected = student.discoveries(tested, FALSE_DISCOVERIES)
    for claim, inside, outside in zip(claims, rejected[::2], rejected[1::2]):
        if not claim.is_testable:
            claim.verdict = NOT_TESTABLE
        elif inside:
            claim.verdict = "equivalent" if claim.kind == "none" else "inside"
        else:
            claim.verdict = "outside" if outside else "undecided"
