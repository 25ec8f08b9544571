"""Checks the highest rate of a search against the server. Called by find_max.sh, which documents the options."""

import concurrent.futures
import datetime
import json
import os
import pathlib
import subprocess
import tempfile
import threading

from results import HERE, Host, options, outcomes, say, store, write
from server import Server, fail

DYNO = os.environ["DYNO"]
# The rates below the interval, which must keep the limit, and above it, which must not, as shares of its ends.
BELOW, ABOVE = 0.9, 1.1
# By what limits the server: the limit of the 99th percentile, users, how many searches run at a time, each with a server of
# its own, the load, and how the text tells it.
EXPERIMENTS = {
    "locks": (100, 128, 4, ["--script", HERE / "held_rows.sql"],
              "transactions that hold one of 16 rows for 20 ms, so that locks limit the server, whatever the speed of the host"),
    "cpu": (50, 64, 1, ["--workload", "oltp_read_write", "--tables", "4", "--rows", "20000"],
            "read-write transactions on 4 tables of 20,000 rows, so that the CPUs, which the client shares, limit the server"),
}


class Bench:
    """Drives one private server."""

    def __init__(self, place, args, name):
        self.place, self.args, self.count = place, args, 0
        self.limit_ms, self.users, _, self.load, _ = EXPERIMENTS[name]
        (place / "server").mkdir(parents=True)
        place.chmod(0o755)
        self.server = Server(place / "server")
        self.server.ask("CREATE TABLE sbtest.held (id INT PRIMARY KEY)")
        self.server.ask("INSERT INTO sbtest.held SELECT seq FROM sbtest.seq_1_to_16")
        self.bench("--time", "1s")

    def bench(self, *options):
        """Runs a benchmark; returns its result."""
        self.count += 1
        out = self.place / f"out-{self.count}"
        command = [DYNO, "bench", self.server.url(), *self.load, "--threads", str(self.users), "--out", str(out), *options]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode:
            fail(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")
        return json.loads((out / "result.json").read_text())

    def search(self):
        """Runs a search; returns its result, and its rate with half of the interval, or None without an interval."""
        options = ["--find-max", "--p99", f"{self.limit_ms}ms", "--warmup", "2s", "--time", f"{self.args.step}s"]
        (found,) = self.bench(*options)["searches"]
        rate = found["rate"]
        return found, (rate["value"], rate["half_width"]) if rate and rate["half_width"] else None

    def p99_at(self, rate):
        """The 99th percentile at a rate, in milliseconds; None if arrivals exceeded throughput."""
        (trial,) = self.bench("--rate", f"{rate:.1f}", "--arrivals", "poisson", "--warmup", "2s", "--time",
                              f"{self.args.check}s")["trials"]
        is_overloaded = any(warning["kind"] == "overloaded" for warning in trial["warnings"])
        return None if is_overloaded else trial["response_ms"]["p99"]


def check(bench):
    """Runs a search and its two checks; returns the outcome."""
    use = Host()
    found, interval = bench.search()
    outcome = {"ended": f"{found['end']['how']}, {len(found['steps'])} steps", "interval": interval, "limit_ms": bench.limit_ms}
    if interval:
        value, half = interval
        outcome |= {"below_ms": bench.p99_at(BELOW * (value - half)), "above_ms": bench.p99_at(ABOVE * (value + half))}
    others, steal_pct = use.used()
    return outcome | {"date": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}", "steal_pct": round(steal_pct, 2),
                      "others": round(others, 3), "server": bench.server.version()}


def is_kept(outcome, p99_ms):
    return p99_ms is not None and p99_ms < outcome["limit_ms"]


def held(outcome):
    return bool(outcome["interval"]) and is_kept(outcome, outcome["below_ms"])


def broke(outcome):
    return bool(outcome["interval"]) and not is_kept(outcome, outcome["above_ms"])


def p99(p99_ms):
    return "overloaded" if p99_ms is None else f"{p99_ms:.1f}"


def row(number, outcome):
    """A search and its two checks: a line of the table."""
    use = f"{outcome['others']:.2f} | {outcome['steal_pct']:.1f}"
    if not outcome["interval"]:
        return f"| {number} | none | {outcome['ended']} | | | {use} |"
    value, half = outcome["interval"]
    return (f"| {number} | {value:.0f} ({value - half:.0f} to {value + half:.0f}) | {outcome['ended']} | {p99(outcome['below_ms'])} "
            f"| {p99(outcome['above_ms'])} | {use} |")


def run(args, name, kept):
    """Searches until as many outcomes as wanted are stored."""
    starting = threading.Lock()

    def one(number):
        # Several installations at a time crash.
        with starting:
            bench = Bench(place / str(number), args, name)
        outcome = check(bench)
        bench.server.stop()
        store(kept, outcome)
        say(row(number, outcome))

    with (tempfile.TemporaryDirectory(prefix="dyno-find-max-", dir="/var/tmp") as place,
          concurrent.futures.ThreadPoolExecutor(EXPERIMENTS[name][2]) as pool):
        place = pathlib.Path(place)
        place.chmod(0o755)
        list(pool.map(one, range(len(outcomes(kept)) + 1, args.searches + 1)))


def table(args, name, found):
    limit_ms, users, at_once, _, what = EXPERIMENTS[name]
    return ["", f"### {what[0].upper()}{what[1:]}", "",
            f"{users} users, a limit of {limit_ms} ms, {at_once} at a time.", "",
            f"| search | highest rate/s | ended | p99 at {BELOW} of the lower end, ms | p99 at {ABOVE} of the upper end, ms "
            "| other processes, CPUs | steal, % |",
            "|---|---|---|---|---|---|---|", *(row(number, outcome) for number, outcome in enumerate(found, 1)), "",
            f"The lower rate kept the limit in {sum(map(held, found))} of {len(found)}; the upper one exceeded it in "
            f"{sum(map(broke, found))} (goal: 9 of 10). {found[-1]['date']}; {os.cpu_count()} CPUs; {found[-1]['server']}."]


def section(args, found):
    return ["## The highest rate, checked against the server", "",
            f"Searches for the highest rate at which 99 % of the response times are within a limit, on private MariaDB servers, with "
            f"steps of {args.step} s. After each search, its server was driven for {args.check} s at {BELOW} of the lower end of the "
            f"interval and at {ABOVE} of its upper end. Overloaded: arrivals exceeded throughput.",
            *(line for name, outcomes in found.items() if outcomes for line in table(args, name, outcomes))]


def main():
    parser = options("find_max.sh")
    parser.add_argument("experiment", nargs="?", choices=EXPERIMENTS, default="locks")
    parser.add_argument("--searches", type=int, default=10)
    parser.add_argument("--step", type=int, default=12)
    parser.add_argument("--check", type=int, default=60)
    args = parser.parse_args()
    if args.quick:
        args.searches, args.step, args.check = 1, 2, 5
    with tempfile.TemporaryDirectory() as unkept:
        place = pathlib.Path(unkept) if args.quick else HERE / "outcomes"
        kept = {name: place / f"find_max-{name}.jsonl" for name in EXPERIMENTS}
        if len(outcomes(kept[args.experiment])) < args.searches:
            run(args, args.experiment, kept[args.experiment])
        write(args, "find_max", section(args, {name: outcomes(path) for name, path in kept.items()}), "find_max.sh")


if __name__ == "__main__":
    main()
