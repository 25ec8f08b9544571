"""Checks the highest rate of a search against the server. Called by find_max.sh, which documents the options."""

import json
import os
import pathlib
import subprocess
import tempfile

from results import host, options, say, write
from server import Server, fail

DYNO = os.environ["DYNO"]
# The rates below the interval, which must keep the limit, and above it, which must not, as shares of its ends.
BELOW, ABOVE = 0.9, 1.1
USERS = 64
DATA = ["--workload", "oltp_read_write", "--tables", "4", "--rows", "20000"]


class Bench:
    """Drives one private server."""

    def __init__(self, place, args):
        self.place, self.args, self.count = place, args, 0
        self.server = Server(place / "server")
        self.bench("--time", "1s")

    def bench(self, *options):
        """Runs a benchmark; returns its result."""
        self.count += 1
        out = self.place / f"out-{self.count}"
        command = [DYNO, "bench", self.server.url(), *DATA, "--threads", str(USERS), "--out", str(out), *options]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode:
            fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
        return json.loads((out / "result.json").read_text())

    def search(self):
        """Runs a search; returns its result, and its rate with half of the interval, or None without an interval."""
        options = ["--find-max", "--p99", f"{self.args.limit_ms}ms", "--warmup", "2s", "--time", f"{self.args.step}s"]
        (found,) = self.bench(*options)["searches"]
        rate = found["rate"]
        return found, (rate["value"], rate["half_width"]) if rate and rate["half_width"] else None

    def p99_at(self, rate):
        """The 99th percentile at a rate, in milliseconds; infinite if arrivals exceeded throughput."""
        (trial,) = self.bench("--rate", f"{rate:.1f}", "--arrivals", "poisson", "--warmup", "2s", "--time",
                              f"{self.args.check}s")["trials"]
        is_overloaded = any(warning["kind"] == "overloaded" for warning in trial["warnings"])
        return float("inf") if is_overloaded else trial["response_ms"]["p99"]


def row(number, bench):
    """A search and its two checks: a line of the table, and whether each check succeeded."""
    found, interval = bench.search()
    ended = f"{found['end']['how']}, {len(found['steps'])} steps"
    if interval is None:
        return f"| {number} | none | {ended} | | |", (False, False)
    value, half = interval
    below, above = bench.p99_at(BELOW * (value - half)), bench.p99_at(ABOVE * (value + half))
    limit = bench.args.limit_ms
    return (f"| {number} | {value:.0f} ({value - half:.0f} to {value + half:.0f}) | {ended} | {below:.1f} | {above:.1f} |",
            (below < limit, above >= limit))


def main():
    parser = options("find_max.sh")
    parser.add_argument("--searches", type=int, default=10)
    parser.add_argument("--limit-ms", type=int, default=50)
    parser.add_argument("--step", type=int, default=12)
    parser.add_argument("--check", type=int, default=60)
    args = parser.parse_args()
    if args.quick:
        args.searches, args.step, args.check = 1, 2, 5
    rows, held, broke = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="dyno-find-max-", dir="/var/tmp") as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        (place / "server").mkdir()
        bench = Bench(place, args)
        version = bench.server.version()
        for number in range(1, args.searches + 1):
            line, (holds, breaks) = row(number, bench)
            rows.append(line)
            held, broke = held + holds, broke + breaks
            say(line)
        bench.server.stop()
    lines = ["## The highest rate, checked against the server", "",
             f"Searches with `--p99 {args.limit_ms}ms` on a private MariaDB: read-write, {USERS} users, 4 tables of 20,000 rows, steps "
             f"of {args.step} s; client and server on the same CPUs. After each search, the server was driven for {args.check} s at "
             f"{BELOW} of the lower end of the interval and at {ABOVE} of its upper end. Infinite: arrivals exceeded throughput.", "",
             f"| search | highest rate/s | ended | p99 at {BELOW} of the lower end, ms | p99 at {ABOVE} of the upper end, ms |",
             "|---|---|---|---|---|", *rows, "",
             f"The lower rate kept the limit in {held} of {args.searches}; the upper one exceeded it in {broke} (goal: 9 of 10).", "",
             f"{host()}; {version}."]
    write(args, "find_max", lines, "find_max.sh")


if __name__ == "__main__":
    main()
