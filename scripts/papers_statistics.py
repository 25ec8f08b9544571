"""Verdicts on the papers' claims: ratios of paired starts, with Student's t, as one family of tests."""

import math
from dataclasses import dataclass, field

FAMILY_LEVEL = 0.05
CONFIDENCE = 0.95
# Fewer pairs than this do not show how much they vary.
FEWEST_PAIRS = 3
HOLDS = ("inside", "equivalent")


def beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(1.0 - (a + b) * x / (a + 1.0), tiny)
    result = d
    for m in range(1, 500):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + numerator * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + numerator / c
            c = c if abs(c) > tiny else tiny
            result *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return result


def incomplete_beta(a, b, x):
    """The regularized incomplete beta function."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * beta_fraction(a, b, x) / a
    return 1.0 - math.exp(log_front) * beta_fraction(b, a, 1.0 - x) / b


def t_above(t, freedom):
    """The probability that Student's t is above `t`."""
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    tail = incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t)) / 2.0
    return tail if t >= 0 else 1.0 - tail


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
    """Decides all findings as one family, by Benjamini and Yekutieli: of all verdicts on the page, at most 5 % are
    expected to be wrong. Holm's method would bound the probability of even one wrong verdict, which a reader of dozens
    of claims does not need, and leave many claims undecided. Claims that share a point, as `of` in one and as `over` in
    the other, are negatively dependent, which the method of Benjamini and Hochberg does not allow."""
    tested = []
    for finding in findings:
        if finding.verdict == "undecided" and not finding.why and not finding.ratio.unfit():
            tested.append((*tests(finding, margins), finding))
    tested.sort(key=lambda one: one[0])
    level = FAMILY_LEVEL / sum(len(tested) / rank for rank in range(1, len(tested) + 1)) if tested else 0.0
    ranks = [rank for rank, (p, *_) in enumerate(tested, 1) if p <= rank * level]
    for _, verdict, finding in tested[: max(ranks, default=0)]:
        finding.verdict = verdict
