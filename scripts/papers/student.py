"""Student's t and the Benjamini-Hochberg procedure."""

import math

# Convergence of the continued fraction, and of the bisection.
STEPS = 300
SMALL = 1e-300


def beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8, by Lentz's method)."""
    c, d = 1.0, 1.0 / max(1.0 - (a + b) * x / (a + 1), SMALL)
    value = d
    for m in range(1, STEPS):
        for top in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / (1.0 + top * d or SMALL)
            c = 1.0 + top / c or SMALL
            value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return value


def beta(a, b, x):
    """The regularized incomplete beta function."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b


def upper_tail(t, degrees):
    """The probability that Student's t is larger."""
    half = 0.5 * beta(degrees / 2, 0.5, degrees / (degrees + t * t))
    return half if t >= 0 else 1.0 - half


def quantile(share, degrees):
    """The value that Student's t exceeds with the probability 1 - share, which is above a half."""
    low, high = 0.0, 1.0
    while upper_tail(high, degrees) > 1 - share:
        high *= 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_tail(middle, degrees) > 1 - share else (low, middle)
    return high


def discoveries(p_values, rate):
    """Which of the hypotheses are rejected, so that on average at most this share of the rejections is wrong (Benjamini
    and Hochberg, Journal of the Royal Statistical Society B 57, 1995)."""
    ranked = sorted(p for p in p_values if p is not None)
    limits = [p for rank, p in enumerate(ranked, 1) if p <= rate * rank / len(ranked)]
    most = max(limits, default=-1.0)
    return [p is not None and p <= most for p in p_values]
