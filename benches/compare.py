"""Measures how long a comparison of two results takes. Called by compare.sh, which documents the options."""

import pathlib
import statistics
import subprocess
import tempfile
import time

from lab import DYNO, SERVER, Lab
from results import host, options, say, spread, verdict, write

TURNS = 10


def results(lab):
    """Two results of a hundred trials: four numbers of users, with 25 repeats each."""
    seconds = 2 if lab.is_quick else 5
    for pool in ("32M", "128M"):
        lab.hundred(f'title = "Pool of {pool}"\n{SERVER.replace("128M", pool)}[data]\ntables = 4\nrows = 25_000\n[load]\n'
                    f'warmup = "0s"\ntime = "{seconds}s"\n[sweep]\n"load.threads" = [4, 8, 16, 32]\n')
        yield lab.out


def taken(lab, words):
    """The duration of each run of the process, in seconds."""
    times = []
    for turn in range(TURNS):
        began = time.monotonic()
        subprocess.run([DYNO, *(word.replace("TURN", str(turn)) for word in words)], env=lab.env, cwd=lab.place, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.monotonic() - began)
    return times


def main():
    args = options("compare.sh").parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="dyno-compare-", dir="/var/tmp") as place:
        lab = Lab(pathlib.Path(place), args.quick)
        base, new = map(str, results(lab))
        for what, words in (("as text", ["compare", base, new]),
                            ("with its page", ["compare", base, new, "--out", "compared-TURN"])):
            times = taken(lab, words)
            rows.append(f"| two results of 100 trials compared, {what}, s | {spread(times, 3)} | "
                        f"{verdict(statistics.median(times), 1)} |")
            say(rows[-1])
    lines = ["## How long a comparison takes", "",
             f"Two results of four points with 25 repeats each, copied from real trials; duration of the process, "
             f"median (lowest–highest) of {TURNS} runs.", "",
             "| what | measured | goal |", "|---|---|---|", *rows, "",
             f"{host()}."]
    write(args, "compare", lines, "compare.sh")


if __name__ == "__main__":
    main()
