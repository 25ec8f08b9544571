"""Draws a curve of a paper and dyno's, each relative to its first point, as SVG."""

from html import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 44, 56
STYLE = """
  svg { color-scheme: light dark; --text: #222; --grid: #ddd; --paper: #b35900; --dyno: #1a5fb4; --ground: #fff }
  @media (prefers-color-scheme: dark) {
    svg { --text: #ddd; --grid: #444; --paper: #ffa348; --dyno: #78aeed; --ground: #1d1d1d }
  }
  text { font: 13px sans-serif; fill: var(--text) }
  .title { font-size: 15px; font-weight: 600 }
  .small { font-size: 12px }
  .grid { stroke: var(--grid) }
  .paper { stroke: var(--paper); fill: none; stroke-width: 2.5; stroke-dasharray: 6 4 }
  .dyno { stroke: var(--dyno); fill: none; stroke-width: 2.5 }
  .band { fill: var(--dyno); opacity: 0.2 }
  .dot.paper { fill: var(--paper); stroke: none }
  .dot.dyno { fill: var(--dyno); stroke: none }
""".strip("\n")


class Curve:
    """Points by their place on the axis; `bands` has the interval of some of them."""

    def __init__(self, name, points, bands=None):
        self.name, self.points, self.bands = name, points, bands or {}


def ticks(highest):
    """Round values from 0 to at least the highest one."""
    step = next(step for step in (0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if highest / step <= 6)
    return [step * k for k in range(int(highest / step - 1e-9) + 2)]


def svg(title, axis, places, curves):
    """`places` are the labels of the horizontal axis, in order."""
    ends = [end for curve in curves for low_high in curve.bands.values() for end in low_high]
    scale = ticks(max([value for curve in curves for value in curve.points.values()] + ends))
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(place):
        return LEFT + inner_width * (places.index(place) + 0.5) / len(places)

    def y(value):
        return TOP + inner_height * (1 - value / scale[-1])

    def path(points):
        return " ".join(f"{'L' if k else 'M'}{x(place):.1f},{y(value):.1f}" for k, (place, value) in enumerate(points))

    names = "; ".join(f"{curve.name}: " + ", ".join(f"{place} {value:.2f}" for place, value in curve.points.items())
                      for curve in curves)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">Relative to the first point. {escape(names)}.</desc>',
        f"<style>\n{STYLE}\n</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="var(--ground)"/>',
        f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>',
    ]
    for value in scale:
        parts.append(f'<path class="grid" d="M{LEFT},{y(value):.1f}H{WIDTH - RIGHT}"/>'
                     f'<text class="small" x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for place in places:
        parts.append(f'<text class="small" x="{x(place):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
                     f'{escape(place)}</text>')
    parts.append(f'<text x="{LEFT + inner_width / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(axis)}</text>')
    for curve, name in zip(curves, ("paper", "dyno")):
        points = [(place, curve.points[place]) for place in places if place in curve.points]
        banded = [place for place, _ in points if place in curve.bands]
        if banded:
            edge = [(place, curve.bands[place][1]) for place in banded]
            back = [(place, curve.bands[place][0]) for place in reversed(banded)]
            parts.append(f'<path class="band" d="{path(edge + back)}Z"/>')
        parts.append(f'<path class="{name}" d="{path(points)}"/>')
        parts += [f'<circle class="dot {name}" cx="{x(place):.1f}" cy="{y(value):.1f}" r="4"/>' for place, value in points]
    for k, (curve, name) in enumerate(zip(curves, ("paper", "dyno"))):
        left = WIDTH - RIGHT - 250 + 125 * k
        parts.append(f'<path class="{name}" d="M{left},34h26"/><text x="{left + 32}" y="38">{escape(curve.name)}</text>')
    return "\n".join([*parts, "</svg>", ""])
