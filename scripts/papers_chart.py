"""The chart of a paper: its curve and dyno's, each normalized to its first point."""

import math
from html import escape

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 66, 58
LOG_FROM = 8.0  # An axis is logarithmic if the ratio of its ends exceeds this.
STYLE = """
svg { --ground: #ffffff; --ink: #24292f; --grid: #d0d7de; --paper: #b35900; --dyno: #0969da; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #e6edf3; --grid: #30363d; --paper: #f0883e; --dyno: #58a6ff; }
}
.ground { fill: var(--ground); } text { fill: var(--ink); font: 13px system-ui, sans-serif; }
.title { font-size: 15px; font-weight: 600; } .grid { stroke: var(--grid); }
.paper { stroke: var(--paper); fill: var(--paper); } .dyno { stroke: var(--dyno); fill: var(--dyno); }
.line { fill: none; stroke-width: 2; } .band { fill-opacity: 0.2; stroke: none; } .paper.line { stroke-dasharray: 6 4; }
"""


def is_number(text):
    return text.replace(".", "", 1).isdigit()


def places(values):
    """A place from 0 to 1 for each value of the axis; names are equally spaced."""
    if len(values) < 2 or not all(is_number(value) and float(value) > 0 for value in values):
        return {value: (at + 0.5) / len(values) for at, value in enumerate(values)}
    numbers = [float(value) for value in values]
    scale = math.log if max(numbers) / min(numbers) > LOG_FROM else float
    low, high = scale(min(numbers)), scale(max(numbers))
    return {value: (scale(one) - low) / (high - low) for value, one in zip(values, numbers)}


def ticks(top):
    step = 10 ** math.floor(math.log10(top))
    step = next(part * step for part in (0.1, 0.2, 0.5, 1, 2) if top / (part * step) <= 6)
    return [at * step for at in range(int(top / step) + 1)]


def svg(title, x_label, paper, dyno):
    """`paper` is {value: ratio}, `dyno` {value: (ratio, low, high)}, where the ends may be None."""
    values = list(dict.fromkeys([*dyno, *paper]))
    if all(map(is_number, values)):
        values.sort(key=float)
    at = places(values)
    highest = max(1.0, *paper.values(), *(point[0] for point in dyno.values()))
    # A wide interval must not flatten the curves.
    top = 1.08 * min(2 * highest, max([highest, *(point[2] for point in dyno.values() if point[2] is not None)]))

    def x(value):
        return LEFT + 12 + at[value] * (WIDTH - LEFT - RIGHT - 24)

    def y(ratio):
        return HEIGHT - BOTTOM - ratio / top * (HEIGHT - TOP - BOTTOM)

    def path(points):
        return " ".join(f"{x(value):.1f},{y(ratio):.1f}" for value, ratio in points)

    parts = [f'<text class="title" x="{LEFT}" y="24">{escape(title)}</text>']
    legend = ([(LEFT, "paper", "the paper")] if paper else []) + [(LEFT + (130 if paper else 0), "dyno", "dyno, 95 % interval")]
    for start, kind, text in legend:
        parts.append(f'<line class="{kind} line" x1="{start}" x2="{start + 26}" y1="42" y2="42"/>')
        parts.append(f'<text x="{start + 32}" y="46">{text}</text>')
    for tick in ticks(top):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    # Long names alternate between two lines.
    long = sum(len(value) for value in values) > 75
    for place, value in enumerate(values):
        drop = 16 * (place % 2) if long else 0
        parts.append(f'<text x="{x(value):.1f}" y="{HEIGHT - BOTTOM + 17 + drop}" text-anchor="middle">{escape(value)}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">relative to the first point</text>')
    is_curve = all(map(is_number, values))
    ours = [value for value in values if value in dyno]
    banded = [value for value in ours if dyno[value][1] is not None]
    if is_curve:
        band = [(value, min(dyno[value][2], top)) for value in banded] + [(value, dyno[value][1]) for value in reversed(banded)]
        parts.append(f'<polygon class="dyno band" points="{path(band)}"/>' if band else "")
        parts.append(f'<polyline class="dyno line" points="{path([(value, dyno[value][0]) for value in ours])}"/>')
        parts.append(f'<polyline class="paper line" points="{path([(one, paper[one]) for one in values if one in paper])}"/>')
    else:
        ends = [(x(value), y(min(dyno[value][2], top)), y(dyno[value][1])) for value in banded]
        parts += [f'<line class="dyno line" x1="{at:.1f}" x2="{at:.1f}" y1="{high:.1f}" y2="{low:.1f}"/>' for at, high, low in ends]
    for value in values:
        if value in paper:
            parts.append(f'<rect class="paper" x="{x(value) - 4:.1f}" y="{y(paper[value]) - 4:.1f}" width="8" height="8"/>')
        if value in dyno:
            parts.append(f'<circle class="dyno" cx="{x(value):.1f}" cy="{y(dyno[value][0]):.1f}" r="4"/>')
    described = [f"{value}: the paper {paper[value]:.2f}" for value in values if value in paper]
    described += [f"{value}: dyno {dyno[value][0]:.2f}" for value in ours]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<desc>Relative to the first point by {escape(x_label)}. {escape('; '.join(described))}.</desc>",
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        *filter(None, parts),
        "</svg>",
        "",
    ])
