"""Formats results, and writes them to benches/RESULTS.md."""

import argparse
import datetime
import os
import pathlib
import re
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def spread(values, digits):
    """Median and range."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def verdict(value, limit, at_least=False):
    met = value >= limit if at_least else value <= limit
    return f"{'≥' if at_least else '≤'} {limit:.2f} {'met' if met else '**missed**'}"


def options(script):
    """A parser with the options that all scripts share."""
    parser = argparse.ArgumentParser(prog=f"benches/{script}", description=f"See benches/{script} --help.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out")
    return parser


def host(model=""):
    """Date and number of CPUs: the start of the last line of a section."""
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}; {model}{os.cpu_count()} CPUs"


def write(args, name, lines, script):
    """Writes a section to the --out file, or prints it."""
    out = args.out or ("-" if args.quick else HERE / "RESULTS.md")
    if out == "-":
        print("\n".join(lines) + "\n", flush=True)
        return
    path = pathlib.Path(out)
    path.write_text(put(path.read_text() if path.exists() else "", name, lines, script))
    say(f"written: {path}")


def put(text, name, lines, script):
    """Replaces a part that an earlier run wrote, or appends it."""
    begin, end = f"<!-- {name}: written by {script} -->", f"<!-- {name}: end -->"
    part = "\n".join([begin, *lines, end])
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(text):
        return pattern.sub(lambda _: part, text)
    return f"{text.rstrip()}\n\n{part}\n".lstrip()
