"""Measures what ending trials at a target precision saves. Called by until.sh, which documents the options."""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from results import HERE, host, options, say, write

STUDY = HERE.parent / "studies" / "quickstart.toml"
DYNO = os.environ["DYNO"]
# The first check of the rule (crates/measure/src/until.rs).
FIRST_LOOK_S = 240


def rerun(place, number, args):
    """Transactions in each second of each point: {point: (seconds of warm-up, [transactions per second])}."""
    out = place / f"run-{number}"
    settings = [f"load.time={args.length}s", f"load.warmup={args.warmup}s", f"sweep.load.threads={args.threads}"]
    words = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run([DYNO, "run", STUDY, "--out", out, *words], cwd=place,
                          env={**os.environ, "DYNO_CACHE_DIR": str(place / "cache")},
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"benches/until.sh: dyno run ended with {done.returncode}:\n{done.stderr}")
    found = {}
    for path in sorted((out / "trials").iterdir()):
        trial = json.loads((path / "trial.json").read_text())
        seconds = [json.loads(line) for line in (path / "series.jsonl").read_text().splitlines()]
        # Partial seconds are left out.
        whole = [second for second in seconds if second["seconds"] > 0.9]
        warmup = sum(second["phase"] == "warmup" for second in whole)
        kept = [second["tps"] for second in whole if second["phase"] in ("warmup", "measure")]
        found[", ".join(f"{axis}={value}" for axis, value in trial["setup"]["planned"]["point"].items())] = (warmup, kept)
    return found


def ends(runs, ci):
    """For each run, the length at which the rule ends it and half of the interval at that time, or None."""
    text = "".join(f"{warmup} {' '.join(map(str, seconds))}\n" for warmup, seconds in runs)
    command = ["cargo", "run", "--quiet", "--locked", "-p", "measure", "--example", "until", "--", str(ci / 100)]
    lines = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True, cwd=HERE.parent)
    words = [line.split() for line in lines.stdout.splitlines()]
    return [None if line == ["-"] else (int(line[0]), float(line[2])) for line in words]


def mean(values):
    return sum(values) / len(values)


def root_mean_square(values):
    return math.sqrt(mean([value * value for value in values]))


class Point:
    """All reruns of one point, and their overall mean."""

    def __init__(self, runs, ci):
        self.runs = [seconds[warmup:] for warmup, seconds in runs]
        self.reference = mean([mean(run) for run in self.runs])
        self.ended = ends(runs, ci)

    def length(self, run, end):
        return end[0] if end else len(run)

    def errors(self):
        """The error of each run's mean at its end, relative to the reference."""
        lengths = [self.length(run, end) for run, end in zip(self.runs, self.ended)]
        return [mean(run[:length]) / self.reference - 1 for run, length in zip(self.runs, lengths)]

    def errors_at(self, length):
        """The errors if all runs had this length."""
        return [mean(run[:length]) / self.reference - 1 for run in self.runs]

    def lengths(self):
        return [self.length(run, end) for run, end in zip(self.runs, self.ended)]

    def held(self):
        """For each run that reached the target precision: whether its interval contains the reference."""
        return [abs(mean(run[:end[0]]) - self.reference) <= end[1]
                for run, end in zip(self.runs, self.ended) if end]


def fixed_length(points, error):
    """The shortest length beyond which no fixed length has a larger error; None if even the longest does."""
    longest = min(len(run) for point in points for run in point.runs)
    enough = None
    for length in range(longest, 4, -1):
        if root_mean_square([e for point in points for e in point.errors_at(length)]) > error:
            break
        enough = length
    return enough


def row(name, points):
    error = root_mean_square([e for point in points for e in point.errors()])
    lengths = [length for point in points for length in point.lengths()]
    held = [one for point in points for one in point.held()]
    fixed = fixed_length(points, error)
    saved = "none" if fixed is None else f"{fixed / mean(lengths):.2f}"
    sure = f"{len(held)} of {len(lengths)}"
    holds = f"{sum(held)} of {len(held)}"
    line = (f"| {name} | {sure} | {mean(lengths):.0f} ({min(lengths)}–{max(lengths)}) | {100 * error:.2f} | {holds} | "
            f"{'longer than measured' if fixed is None else fixed} | {saved} |")
    say(line)
    return line


def main():
    parser = options("until.sh")
    parser.add_argument("--ci", type=float, default=10)
    parser.add_argument("--reruns", type=int, default=10)
    parser.add_argument("--length", type=int, default=600)
    parser.add_argument("--threads", default="[1, 8]")
    args = parser.parse_args()
    args.warmup = 2
    if args.quick:
        args.reruns, args.length, args.ci = 2, FIRST_LOOK_S + 30, 50
    with tempfile.TemporaryDirectory(prefix="dyno-until-", dir="/var/tmp") as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        reruns = []
        for number in range(args.reruns):
            say(f"rerun {number + 1} of {args.reruns}")
            reruns.append(rerun(place, number, args))
    points = {name: Point([run[name] for run in reruns], args.ci) for name in reruns[0]}
    rows = [row(name, [point]) for name, point in points.items()]
    rows.append(row("all", list(points.values())))
    lines = ["## What ending at a target precision saves", "",
             f"`studies/quickstart.toml` with `load.threads` {args.threads}, {args.reruns} times, with trials of {args.length} s. "
             f"The rule of `load.until` with ±{args.ci:g} % is replayed on the recorded seconds; a trial that it does not end "
             "counts with its full length. Error: root mean square of the deviation of the mean at the end from the mean of "
             "all reruns. Fixed length: the shortest length beyond which trials of equal length have no larger error.", "",
             "| point | reached | length, s: mean (range) | error, % | interval contains the mean | fixed length, s | fixed / until |",
             "|---|---|---|---|---|---|---|", *rows, "",
             f"{host()}."]
    write(args, "until", lines, "until.sh")


if __name__ == "__main__":
    main()
