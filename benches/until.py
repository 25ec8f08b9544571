"""Measures what ending trials when they are sure saves; called by until.sh, which says how."""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from results import put, say, verdict

HERE = pathlib.Path(__file__).resolve().parent
STUDIES = HERE.parent / "studies"
DYNO = os.environ["DYNO"]
GOAL = 3


def run(place, name, settings):
    """The trials of a study."""
    out = place / f"{name}-{len(list(place.iterdir()))}"
    words = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run([DYNO, "run", STUDIES / f"{name}.toml", "--out", out, *words], cwd=place,
                          env={**os.environ, "DYNO_CACHE_DIR": str(place / "cache")},
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"benches/until.sh: dyno run ended with {done.returncode}:\n{done.stderr}")
    return json.loads((out / "result.json").read_text())["trials"]


def half_width(trial):
    """Half of the interval of the throughput, in percent of it."""
    tps = trial["transactions"]["per_s"]
    return None if tps["half_width"] is None else 100 * tps["half_width"] / tps["value"]


def percent(value):
    return "none" if value is None else f"{value:.1f}"


def widths(trials):
    return ", ".join(percent(half_width(trial)) for trial in trials)


def fixed_length(trials, asked):
    """Seconds that would have been enough for the least sure of these trials: a width falls with the root of the
    length. None when a trial has no interval at all."""
    needed = [trial["measured_s"] * (half_width(trial) / asked) ** 2 for trial in trials if half_width(trial)]
    return max(needed) if len(needed) == len(trials) else None


def measure(place, name, args):
    """A line of the table for one study."""
    narrow = args.quick_settings.get(name, [])
    trials = run(place, name, [f"load.until.ci={args.ci}", f"load.until.max={args.max}", *narrow])
    lengths = [trial["measured_s"] for trial in trials]
    sure = sum((trial.get("ended") or {}).get("why") == "sure" for trial in trials)
    longest, at_most, total = max(lengths), trials[0]["setup"]["time_s"], sum(lengths)
    fixed_trials = run(place, name, [f"load.time={longest:.0f}s", *narrow])
    needed = fixed_length(fixed_trials, float(args.ci.rstrip("%")))
    times = [None if needed is None else needed * len(trials) / total, longest * len(trials) / total,
             at_most * len(trials) / total]
    shown = "none" if needed is None else f"{needed:.0f}"
    verdict_of = "" if needed is None else f" ({verdict(times[0], GOAL, at_least=True)})"
    row = (f"| `{name}.toml` | {sure} of {len(trials)} | {', '.join(f'{length:.0f}' for length in lengths)} | "
           f"{widths(trials)} | {total:.0f} | {widths(fixed_trials)} | {shown} | "
           f"{percent(times[0])}{verdict_of} | {times[1]:.1f} | {times[2]:.1f} |")
    say(row)
    return row


def main():
    parser = argparse.ArgumentParser(prog="benches/until.sh", description="See benches/until.sh --help.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--ci", default="5%")
    parser.add_argument("--max", default="10m")
    parser.add_argument("--out")
    args = parser.parse_args()
    out = args.out or ("-" if args.quick else str(HERE / "RESULTS.md"))
    args.quick_settings = {}
    if args.quick:
        args.ci, args.max = "50%", "30s"
        args.quick_settings = {"quickstart": ["load.threads=2"], "p2-scale-up": ["sweep.topology.instances=[1, 2]"]}
    with tempfile.TemporaryDirectory(prefix="dyno-until-", dir="/var/tmp") as place:
        place = pathlib.Path(place)
        # Servers run as another user, who must get there.
        place.chmod(0o755)
        rows = [measure(place, name, args) for name in ("quickstart", "p2-scale-up")]
    lines = ["## What ending when sure saves", "",
             f"Studies as they are shipped, each trial ended when its mean throughput was known to ±{args.ci} (`load.until`, "
             f"at most {args.max}); then again, each trial as long as the longest of these. Seconds of measurement, without "
             "warm-ups; half widths in % of the mean. A fixed length has to do for the least sure trial. For the same "
             "interval it is taken from the second run: the width of an interval falls with the root of the length.", "",
             "| study | sure | length of each trial | half width | all | half width, each as long as the longest | fixed length "
             "for the same interval | fixed / until sure | longest / until sure | longest allowed / until sure |",
             "|---|---|---|---|---|---|---|---|---|---|", *rows, "",
             f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}; {os.cpu_count()} CPUs shared by all servers and dyno."]
    if out == "-":
        print("\n".join(lines))
        return
    path = pathlib.Path(out)
    path.write_text(put(path.read_text() if path.exists() else "", "until", lines, "until.sh"))
    say(f"written: {path}")


if __name__ == "__main__":
    main()
