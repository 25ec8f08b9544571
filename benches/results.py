"""Formats results, and writes them to benches/RESULTS.md."""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import sys
import time

from server import busy_s, started_s, stolen_s

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


class Host:
    """CPU time of the host that does not belong to the experiment."""

    def __init__(self):
        self.began = self.read()

    def read(self):
        # Programs that the script started and waited for, and those that still run.
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        stolen = stolen_s()
        return time.monotonic(), busy_s() - stolen - ended.ru_utime - ended.ru_stime - started_s(), stolen

    def used(self):
        """Mean CPU use of other processes, in CPUs, and steal, in percent of all CPUs."""
        took_s, busy, stolen = (after - before for before, after in zip(self.began, self.read(), strict=True))
        return max(0.0, busy / took_s), 100 * stolen / took_s / os.cpu_count()


SCRIPT = Host()


def host(model=""):
    """Date, number of CPUs, and what others used of them: the start of the last line of a section."""
    others, steal_pct = SCRIPT.used()
    return (f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}; {model}{os.cpu_count()} CPUs (steal {steal_pct:.1f} %, "
            f"other processes {others:.2f} CPUs)")


def outcomes(path):
    """The outcomes stored in a file, without a last line that was cut short by a kill."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def store(path, outcome):
    """Appends an outcome to a file of outcomes."""
    with path.open("a") as log:
        log.write(json.dumps(outcome) + "\n")


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
