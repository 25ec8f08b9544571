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
from server import Server, busy_s, cpu_s, fail

HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path(os.environ["WORK"]).resolve()
REPEATS = 5
SHARE = 0.05
Z = statistics.NormalDist().inv_cdf(0.975)


@dataclasses.dataclass
class Experiment:
    name: str
    workload: str
    warmup_s: int
    time_s: int
    studies: int
    # By how much each variant's throughput is reduced; None: no proxy.
    shares: dict
    # The simulated round-trip time of a network.
    network_us: int = 0


# A round trip within a data center. It makes up most of a transaction's time and is constant, unlike the speed of a
# virtual machine.
NETWORK_US = 500
EXPERIMENTS = {
    "aa": Experiment("A/A", "oltp_read_write", 1, 4, 24, {"a": None, "b": None}),
    # Without writes, there is no flushing or purging, so trials vary less.
    "slow": Experiment("Slowdown", "oltp_read_only", 2, 20, 15, {"a": 0, "b": SHARE}),
    "far-aa": Experiment("A/A behind a network", "oltp_read_write", 1, 4, 24, {"a": 0, "b": 0}, NETWORK_US),
    "far-slow": Experiment("Slowdown behind a network", "oltp_read_only", 2, 20, 15, {"a": 0, "b": SHARE}, NETWORK_US),
}


class Proxy:
    """A proxy that reduces the throughput by a share."""

    def __init__(self, server, share, network_us):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", WORK / "slow_proxy", f"127.0.0.1:{server.port}", str(share),
             str(network_us)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port = int(self.process.stdout.readline() or fail("the proxy did not start"))
        self.address = server.url().replace(f":{server.port}/", f":{port}/")

    def url(self):
        return self.address

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Host:
    """CPU time of the host that does not belong to the experiment."""

    def __init__(self, server, proxies):
        self.pids = [server.process.pid, *(proxy.process.pid for proxy in proxies)]
        self.began = self.read()

    def read(self):
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        ours = sum(sum(cpu_s(pid)) for pid in self.pids) + children.ru_utime + children.ru_stime
        return time.monotonic(), busy_s() - ours

    def others(self):
        """CPUs that other processes have used, on average."""
        (began, before), (now, after) = self.began, self.read()
        return max(0.0, (after - before) / (now - began))


class Bench:
    """One server, and the studies of one experiment on it."""

    def __init__(self, place, stack, experiment, quick):
        self.place = place
        self.experiment = experiment
        self.time_s = 2 if quick else experiment.time_s
        # The server runs as another user, who must be able to enter it.
        place.chmod(0o755)
        (place / "server").mkdir()
        self.server = Server(place / "server")
        stack.callback(self.server.stop)
        self.proxies = {}
        for variant, share in experiment.shares.items():
            if share is not None:
                self.proxies[variant] = Proxy(self.server, share, experiment.network_us)
                stack.callback(self.proxies[variant].stop)
        # Loaded once for all trials of all studies.
        self.dyno("bench", self.server.url(), "--prepare", "only", "--tables", 4, "--rows", 25_000)

    def dyno(self, *arguments):
        """Runs dyno; returns its standard output."""
        run = subprocess.run(["setpriv", "--pdeathsig", "KILL", "--", WORK / "dyno", *map(str, arguments)],
                             env={**os.environ, "DYNO_CACHE_DIR": str(self.place / "cache")}, cwd=self.place,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if run.returncode:
            fail(f"dyno {arguments[0]} ended with {run.returncode}:\n{run.stderr[-2000:]}")
        return run.stdout

    def text(self, number):
        variants = "".join(
            f'[[variant]]\nname = "{name}"\nserver.url = "{self.proxies.get(name, self.server).url()}"\n'
            for name in self.experiment.shares)
        # Each study has its own order of trials.
        return (f'title = "{self.experiment.name} {number}"\n[data]\ntables = 4\nrows = 25_000\n'
                f'[load]\nworkload = "{self.experiment.workload}"\nthreads = 1\n'
                f'warmup = "{self.experiment.warmup_s}s"\ntime = "{self.time_s}s"\n'
                f'repeats = {REPEATS}\norder = "random"\norder_seed = {number}\n{variants}')

    def study(self, number):
        """Runs a study and compares its variants; returns the outcome."""
        path = self.place / f"study-{number}.toml"
        path.write_text(self.text(number))
        out = self.place / f"out-{number}"
        began, host = time.monotonic(), Host(self.server, self.proxies.values())
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
            "server": self.server.version(),
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
    with tempfile.TemporaryDirectory(prefix="dyno-sure-", dir="/var/tmp") as place, contextlib.ExitStack() as stack:
        bench = Bench(pathlib.Path(place), stack, experiment, quick)
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
        if SHARE not in experiment.shares.values():
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
            yield row(f"{what}: the interval of the change in throughput contains -{100 * SHARE:.0f} %", found,
                      holds(-100 * SHARE))


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
        f"Studies of two variants on one private MariaDB, with {REPEATS} repeats in balanced blocks and one virtual user, "
        "judged by `dyno compare`: throughput first, then p95 and p99 of the response time together (Holm). Differences "
        "below 2 % are not reported. Server, proxy, and dyno share one CPU, because the time to wake another CPU of a "
        "virtual machine varies, which would hide more.", "",
        "- *A/A*: both variants are the same server at the same address.",
        f"- *Slowdown*: each goes through a proxy, which reduces the throughput of the second one by {100 * SHARE:.0f} %. It "
        "delays each request in proportion to the time since the previous one, so that the reduction does not depend on "
        "the speed of the host.",
        f"- *Behind a network*: the proxies also delay each request by {NETWORK_US} µs, a round trip within a data center. "
        "The speed of this virtual machine changes from minute to minute by more than the slowdown, but is only a small "
        "part of a transaction over a network.", "",
        "| outcome | studies | share (95 % confidence interval) | goal |", "|---|---|---|---|", *shares(kept), "",
        "| experiment | workload | trials per study | change in throughput, mean of all studies ± standard error, % "
        "| half of its 95 % interval within a study, % | tps of the first variant | other processes, CPUs |",
        "|---|---|---|---|---|---|---|", *spreads(kept), "",
        "Ranges are median (lowest–highest) of the studies. Other processes widen the intervals, but must not cause false "
        "alarms.", "",
        "In 24 earlier A/A studies behind a network, two reported a difference in p99, which only 3 of 336 transactions "
        "in a trial exceeded. Since then, a percentile is compared only if ten transactions exceed it.", "",
        f"{last['ended'][:10]}; one of {os.cpu_count()} CPUs; {last['dyno']}, "
        f"MariaDB {last['server'].split('-')[0]}.",
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
