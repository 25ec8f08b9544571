"""Measures the error rates of dyno's comparisons. Called by sure.sh, which documents the options."""

import argparse
import collections
import contextlib
import dataclasses
import datetime
import json
import math
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from results import put, say, spread
from server import busy_s, fail

HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path(os.environ["WORK"]).resolve()
REPEATS = 5
Z = statistics.NormalDist().inv_cdf(0.975)


@dataclasses.dataclass
class Experiment:
    name: str
    workload: str
    warmup_s: int
    time_s: int
    studies: int
    # By how much the second variant is slower is not known beforehand: the mean of all studies tells.
    differs: bool


# What the variants differ in: MariaDB's instrumentation, which costs CPU time with each statement.
SETTING = "performance_schema"
EXPERIMENTS = {
    "aa": Experiment("A/A", "oltp_read_write", 1, 4, 24, differs=False),
    # Without writes, there is no flushing or purging, so trials vary less.
    "slow": Experiment("Slowdown", "oltp_read_only", 2, 20, 15, differs=True),
}


class Host:
    """CPU time of the host that does not belong to the experiment."""

    def __init__(self):
        self.began = self.read()

    def read(self):
        # Of dyno, and of the servers that it started and waited for.
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic(), busy_s() - children.ru_utime - children.ru_stime

    def others(self):
        """CPUs that other processes have used, on average."""
        (began, before), (now, after) = self.began, self.read()
        return max(0.0, (after - before) / (now - began))


class Bench:
    """The studies of one experiment, whose servers start from copies of one template."""

    def __init__(self, place, experiment, quick):
        self.place = place
        self.experiment = experiment
        self.time_s = 2 if quick else experiment.time_s
        # The servers run as another user, who must be able to enter it.
        place.chmod(0o755)

    def dyno(self, *arguments):
        """Runs dyno; returns its standard output."""
        run = subprocess.run(["setpriv", "--pdeathsig", "KILL", "--", WORK / "dyno", *map(str, arguments)],
                             env={**os.environ, "DYNO_CACHE_DIR": str(self.place / "cache")}, cwd=self.place,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if run.returncode:
            fail(f"dyno {arguments[0]} ended with {run.returncode}:\n{run.stderr[-2000:]}")
        return run.stdout

    def text(self, number):
        settings = {"a": "OFF", "b": "ON" if self.experiment.differs else "OFF"}
        variants = "".join(f'[[variant]]\nname = "{name}"\nserver.config.{SETTING} = "{value}"\n'
                           for name, value in settings.items())
        # Each study has its own order of trials.
        return (f'title = "{self.experiment.name} {number}"\n'
                # The disk is not part of these measurements.
                '[server]\nengine = "mariadb"\nconfig = { innodb_flush_log_at_trx_commit = 0 }\n'
                '[data]\ntables = 4\nrows = 25_000\n'
                f'[load]\nworkload = "{self.experiment.workload}"\nthreads = 1\n'
                f'warmup = "{self.experiment.warmup_s}s"\ntime = "{self.time_s}s"\n'
                f'repeats = {REPEATS}\norder = "random"\norder_seed = {number}\n{variants}')

    def study(self, number):
        """Runs a study and compares its variants; returns the outcome."""
        path = self.place / f"study-{number}.toml"
        path.write_text(self.text(number))
        out = self.place / f"out-{number}"
        began, host = time.monotonic(), Host()
        self.dyno("run", path, "--out", out)
        trials = json.loads((out / "result.json").read_text())["trials"]
        if any(trial["outcome"]["how"] != "completed" for trial in trials) or len(trials) != 2 * REPEATS:
            fail(f"study {number} did not complete all of its trials")
        tps = collections.defaultdict(list)
        for trial in trials:
            tps[trial["setup"]["planned"]["point"]["variant"]].append(trial["transactions"]["per_s"]["value"])
        (point,) = json.loads(self.dyno("compare", out, "--base", "a", "--new", "b", "--json"))["points"]
        return {
            "number": number,
            "ended": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M:%S}",
            "took_s": round(time.monotonic() - began, 1),
            "others": round(host.others(), 3),
            "dyno": self.dyno("--version").strip(),
            "server": trials[0]["setup"]["engine"],
            "time_s": self.time_s,
            "tps": tps,
            "numbers": {number["column"]: number["comparison"] for number in point["numbers"]},
        }


def outcomes(path):
    """The stored outcomes, without a last line that was cut short by a kill."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = []
    for line in lines:
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def decision(outcome, column="tps"):
    """The verdict on a number, if it was compared."""
    found = outcome["numbers"][column]
    return found and found["decision"]["decision"]


def change(outcome):
    """The change in throughput, in percent."""
    return outcome["numbers"]["tps"]["change_pct"]["value"]


def interval(outcome):
    """Its 95 % confidence interval; throughput is tested first, alone."""
    found = outcome["numbers"]["tps"]["change_pct"]["interval"]
    return found["low"], found["high"]


def run(experiment, path, count, quick):
    """Runs studies until `count` outcomes are stored."""
    done = len(outcomes(path))
    say(f"{experiment.name}: {done} of {count} studies are stored")
    if done >= count:
        return
    # One CPU for everything, because the time to wake another CPU of a virtual machine varies.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dyno-sure-", dir="/var/tmp") as place:
        bench = Bench(pathlib.Path(place), experiment, quick)
        for number in range(done + 1, count + 1):
            found = bench.study(number)
            with path.open("a") as log:
                log.write(json.dumps(found) + "\n")
            low, high = interval(found)
            left_s = (time.monotonic() - began) / (number - done) * (count - number)
            say(f"{experiment.name} {number}/{count}: tps {change(found):+.2f} % ({low:+.2f} to {high:+.2f}), "
                f"{decision(found)}; others {found['others']:.2f} CPUs; {left_s / 60:.0f} min left")


def wilson(count, of):
    """The 95 % confidence interval of a share (Wilson, Journal of the American Statistical Association 22, 1927)."""
    share, square = count / of, Z * Z / of
    middle = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / of + square / of / 4) / (1 + square)
    return middle - half, middle + half


def row(what, found, is_so, goal=""):
    """A row with the share of studies for which is_so is true."""
    count = sum(map(is_so, found))
    share = count / len(found)
    low, high = wilson(count, len(found))
    met = {"": "", "≤": f"≤ 5 % {'met' if share <= 0.05 else '**missed**'}",
           "≥": f"≥ 80 % {'met' if share >= 0.8 else '**missed**'}"}[goal]
    return f"| {what} | {count} of {len(found)} | {100 * share:.0f} % ({100 * low:.0f}–{100 * high:.0f}) | {met} |"


def is_called(*columns):
    """Whether any of these numbers (default: any number) has a verdict of a difference."""
    def is_so(outcome):
        return any(decision(outcome, column) in ("faster", "slower") for column in columns or outcome["numbers"])
    return is_so


def holds(value):
    """Whether the interval of the change in throughput contains this value."""
    def is_so(outcome):
        low, high = interval(outcome)
        return low <= value <= high
    return is_so


def shares(kept):
    for name, found in kept.items():
        experiment = EXPERIMENTS[name]
        what = experiment.name
        if not found:
            continue
        if not experiment.differs:
            yield row(f"{what}: a difference in any number is reported", found, is_called(), "≤")
            yield row(f"{what}: a difference in throughput is reported", found, is_called("tps"), "≤")
            yield row(f"{what}: throughput is reported as equivalent", found,
                      lambda outcome: decision(outcome) == "equivalent")
            yield row(f"{what}: the interval of the change in throughput contains 0", found, holds(0.0))
        else:
            yield row(f"{what}: throughput is reported as slower", found,
                      lambda outcome: decision(outcome) == "slower", "≥")
            yield row(f"{what}: throughput is undecided", found,
                      lambda outcome: decision(outcome) == "undecided")
            mean = statistics.mean(map(change, found))
            yield row(f"{what}: the interval contains the mean change of all studies, {mean:+.1f} %", found,
                      holds(mean))


def spreads(kept):
    """A row for each experiment, with the spread of its studies."""
    for name, found in kept.items():
        if not found:
            continue
        values = [change(outcome) for outcome in found]
        halves = [(high - low) / 2 for low, high in map(interval, found)]
        error = f" ± {statistics.stdev(values) / math.sqrt(len(values)):.2f}" if len(values) > 1 else ""
        cells = [EXPERIMENTS[name].name, EXPERIMENTS[name].workload, f"{REPEATS} x 2 x {found[0]['time_s']} s",
                 f"{statistics.mean(values):+.2f}{error}",
                 spread(halves, 1),
                 spread([statistics.mean(outcome["tps"]["a"]) for outcome in found], 0),
                 spread([outcome["others"] for outcome in found], 2)]
        yield f"| {' | '.join(cells)} |"


def report(kept):
    last = max(sum(kept.values(), []), key=lambda outcome: outcome["ended"])
    return [
        "## Error rates of comparisons", "",
        f"Studies of two variants of a private MariaDB, with {REPEATS} repeats in balanced blocks and one virtual user, each "
        "trial a new start of its server, judged by `dyno compare`: throughput first, then p95 and p99 of the response time "
        "together (Holm). Differences below 2 % are not reported. Server and dyno share one CPU, because the time to wake "
        "another CPU of a virtual machine varies, which would hide more.", "",
        "- *A/A*: both variants have the same settings.",
        f"- *Slowdown*: the second one has `{SETTING}` on, which costs CPU time with each statement.", "",
        "| outcome | studies | share (95 % confidence interval) | goal |", "|---|---|---|---|", *shares(kept), "",
        "| experiment | workload | trials per study | change in throughput, mean of all studies ± standard error, % "
        "| half of its 95 % interval within a study, % | tps of the first variant | other processes, CPUs |",
        "|---|---|---|---|---|---|---|", *spreads(kept), "",
        "Ranges are median (lowest–highest) of the studies. Other processes widen the intervals, but must not cause false "
        "alarms.", "",
        f"{last['ended'][:10]}; one of {os.cpu_count()} CPUs; {last['dyno']}, "
        f"{last['server'].split('-')[0]}.",
    ]


def arguments():
    parser = argparse.ArgumentParser(prog="benches/sure.sh", description="See benches/sure.sh --help.")
    parser.add_argument("what", choices=[*EXPERIMENTS, "report"])
    parser.add_argument("studies", nargs="?", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out")
    args = parser.parse_args()
    if args.studies is not None and (args.what == "report" or args.studies < 1):
        parser.error("a number of studies (at least 1) is only valid for an experiment")
    return args


def main():
    args = arguments()
    # When this script is ended, so are its processes.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        if args.what in EXPERIMENTS:
            experiment = EXPERIMENTS[args.what]
            count = args.studies or (2 if args.quick else experiment.studies)
            run(experiment, WORK / f"{args.what}.jsonl", count, args.quick)
        kept = {name: outcomes(WORK / f"{name}.jsonl") for name in EXPERIMENTS}
    finally:
        if args.quick:
            shutil.rmtree(WORK)
    if not any(kept.values()):
        fail(f"no outcomes are stored in {WORK}: run an experiment first")
    lines = report(kept)
    out = args.out or (str(HERE / "RESULTS.md") if args.what == "report" else "-")
    if out == "-":
        print("\n".join(lines))
        return
    path = pathlib.Path(out)
    path.write_text(put(path.read_text() if path.exists() else "", "sure", lines, "sure.sh"))
    say(f"written: {path}")


if __name__ == "__main__":
    main()
