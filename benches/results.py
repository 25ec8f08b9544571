"""Formats results, and writes them to benches/RESULTS.md."""

import re
import statistics
import sys
import time


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def spread(values, digits):
    """Median and range."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def verdict(value, limit, at_least=False):
    met = value >= limit if at_least else value <= limit
    return f"{'≥' if at_least else '≤'} {limit:.2f} {'met' if met else '**missed**'}"


def put(text, name, lines, script="run.sh"):
    """Replaces a part that an earlier run wrote, or appends it."""
    begin, end = f"<!-- {name}: written by {script} -->", f"<!-- {name}: end -->"
    part = "\n".join([begin, *lines, end])
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(text):
        return pattern.sub(lambda _: part, text)
    return f"{text.rstrip()}\n\n{part}\n".lstrip()
