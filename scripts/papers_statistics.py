"""Verdicts on the papers' claims: ratios of paired starts, with Student's t, as one family of tests."""

import math
from dataclasses import dataclass, field

FAMILY_LEVEL = 0.05
CONFIDENCE = 0.95
# Fewer pairs than this do not show how much they vary.
FEWEST_PAIRS = 3
HOLDS = ("inside", "equivalent")


def t_above(t, freedom):
    """The probability that Student's t is above `t`, for a whole number of degrees (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    angle, odd = math.atan(t / math.sqrt(freedom)), freedom % 2
    term, total = math.cos(angle) if odd else 1.0, 0.0
    for at in range(odd, freedom - 1, 2):
        term *= (at - 1) / at * math.cos(angle) ** 2 if at > 1 else 1.0
        total += term
    total *= math.sin(angle)
    return (1.0 - (2.0 / math.pi * (angle + total) if odd else total)) / 2.0


def t_quantile(confidence, freedom):
    """The t that holds `confidence` of the distribution between -t and t."""
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if 2 * t_above(middle, freedom) > 1 - confidence else (low, middle)
    return high


@dataclass
class Ratio:
    """The mean logarithm of paired ratios."""

    logs: list

    @classmethod
    def of(cls, pairs):
        """The ratio of pairs, without those that have a zero, which has no logarithm."""
        return cls([math.log(of / over) for of, over in pairs if of and over])

    @property
    def mean(self):
        return sum(self.logs) / len(self.logs)

    @property
    def error(self):
        count = len(self.logs)
        return math.sqrt(sum((one - self.mean) ** 2 for one in self.logs) / (count - 1) / count)

    @property
    def value(self):
        return math.exp(self.mean) if self.logs else None

    def interval(self):
        """Both ends of the 95 % interval, or None."""
        if len(self.logs) < FEWEST_PAIRS:
            return None
        half = t_quantile(CONFIDENCE, len(self.logs) - 1) * self.error
        return math.exp(self.mean - half), math.exp(self.mean + half)

    def p_above(self, ratio):
        """The p-value of the hypothesis that the true ratio is at most `ratio`."""
        if ratio == 0.0 or math.isinf(ratio):
            return 0.0 if ratio == 0.0 else 1.0
        return t_above((self.mean - math.log(ratio)) / self.error, len(self.logs) - 1)

    def unfit(self):
        """Why the pairs cannot be tested, or ""."""
        if len(self.logs) < FEWEST_PAIRS:
            return "too few starts left"
        return "" if self.error > 0.0 else "the ratios have no spread"


def region(claim, margins):
    """The ratios that agree with a claim. A margin covers at most half of the distance to 1, on a logarithmic scale, so
    that an effect and no effect never agree with the same claim."""
    kind = claim.get("kind", "ratio")
    if kind in ("higher", "lower"):
        bound = claim.get("bound", 1.0)
        return (bound, math.inf) if kind == "higher" else (0.0, bound)
    ratio = claim["ratio"] if kind == "ratio" else 1.0
    factor = 1 + claim.get("margin", margins[kind])
    factor = min(factor, math.exp(abs(math.log(ratio)) / 2)) if kind == "ratio" else factor
    return ratio / factor, ratio * factor


@dataclass
class Finding:
    """What dyno found on a claim."""

    claim: dict
    ratio: Ratio = field(default_factory=lambda: Ratio([]))
    left_out: int = 0
    steal: float | None = None
    others: float | None = None
    verdict: str = "undecided"
    why: str = ""


def tests(finding, margins):
    """(p-value, verdict) of the more likely verdict. The ratio cannot be both inside and outside, so one of the two
    hypotheses is true, and the pair counts as one test."""
    low, high = region(finding.claim, margins)
    above, below = finding.ratio.p_above, lambda end: 1.0 - finding.ratio.p_above(end)
    p_inside = max(above(low), below(high))
    ends = (low > 0.0) + math.isfinite(high)
    p_outside = min(1.0, ends * min(below(low), above(high)))
    inside = "equivalent" if finding.claim.get("kind") == "none" else "inside"
    return min((p_inside, inside), (p_outside, "outside"))


def decide(findings, margins):
    """Decides all findings as one family, by Benjamini and Hochberg: of all verdicts on the page, at most 5 % are expected
    to be wrong. Holm's method would bound the probability of even one wrong verdict, which a reader of dozens of claims
    does not need, and leave many claims undecided. The method is proven for independent claims; those of one recipe share
    points and trials. Williams, Jones, and Tukey (1999) recommend it for comparisons that share points nevertheless, and
    papers_test.py simulates it with the points and trials of these claims."""
    tested = []
    for finding in findings:
        if finding.verdict == "undecided" and not finding.why and not finding.ratio.unfit():
            tested.append((*tests(finding, margins), finding))
    tested.sort(key=lambda one: one[0])
    ranks = [rank for rank, (p, *_) in enumerate(tested, 1) if p <= rank * FAMILY_LEVEL / len(tested)]
    for _, verdict, finding in tested[: max(ranks, default=0)]:
        finding.verdict = verdict
