"""Measures the error rates of dyno's comparisons. Called by sure.sh, which documents the options."""

import collections
import dataclasses
import datetime
import json
import math
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from results import Host, options, outcomes, say, spread, store, write
from server import fail

WORK = pathlib.Path(os.environ["WORK"]).resolve()
OUTCOMES = pathlib.Path(os.environ["OUTCOMES"]).resolve()
Z = statistics.NormalDist().inv_cdf(0.975)
# dyno's boundary for at most 10 starts, and Student's t for 5 repeats, both at 5 %: docs/statistics.md.
BOUNDARY = {6: 3.64, 8: 2.88, 10: 2.53}
T_OF_5 = 2.776
RESAMPLED = 10_000
SEED = 20


@dataclasses.dataclass
class Experiment:
    name: str
    # The statements of the transaction, and how often each of them runs in the first variant.
    statements: tuple
    times: int
    # How often each runs in the second variant.
    times_b: int
    time_s: int
    studies: int
    compare: str
    goal_pct: int | None = None

    @property
    def truth_pct(self):
        """The change in transactions per second that the second variant must show."""
        return 100 * (self.times / self.times_b - 1)


READS = ("point_selects",)
WRITES = ("point_selects", "index_updates", "non_index_updates")
TURNS = 'alternate = "always"'
WHOLE = 'alternate = "never"'
# The statements commit one by one, so a transaction with 21 instead of 20 of each takes longer in proportion: 4.76 % fewer
# transactions. Five starts are fewer than the first look needs, so none of those studies ends early.
EXPERIMENTS = {
    "aa": Experiment("A/A in turns", READS, 20, 20, 8, 30, f"starts = 5\n{TURNS}"),
    "whole": Experiment("A/A, whole trials", READS, 20, 20, 20, 8, f"starts = 5\n{WHOLE}"),
    "read": Experiment("Slowdown, read-only", READS, 20, 21, 8, 20, f'starts = 10\nbudget = "8m"\n{TURNS}', 90),
    "write": Experiment("Slowdown, read-write", WRITES, 20, 21, 12, 10, f'starts = 20\nbudget = "30m"\n{TURNS}', 80),
    "write-whole": Experiment("Slowdown, read-write, whole trials", WRITES, 20, 21, 20, 1,
                              f'starts = 20\nbudget = "30m"\n{WHOLE}'),
}


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
        experiment = self.experiment
        def variant(name, times):
            keys = "".join(f"transaction.{statement} = {times}\n" for statement in experiment.statements)
            return f'[[variant]]\nname = "{name}"\n{keys}'
        others = "".join(f"{name} = 0\n" for name in ("index_updates", "non_index_updates", "delete_inserts")
                         if name not in experiment.statements)
        # Each study has its own order of trials.
        return (f'title = "{experiment.name} {number}"\n'
                # The disk is not part of these measurements.
                '[server]\nengine = "mariadb"\nconfig = { innodb_flush_log_at_trx_commit = 0 }\n'
                '[data]\ntables = 4\nrows = 25_000\n'
                f'[transaction]\nskip_trx = true\nrange_selects = false\n{others if self.writes() else ""}'
                f'[load]\nworkload = "{"oltp_read_write" if self.writes() else "oltp_read_only"}"\nthreads = 8\n'
                f'warmup = "1s"\ntime = "{self.time_s}s"\norder_seed = {number}\n'
                f'[compare]\n{experiment.compare}\n{variant("a", experiment.times)}{variant("b", experiment.times_b)}')

    def writes(self):
        return len(self.experiment.statements) > 1

    def study(self, number):
        """Runs a study and compares its variants; returns the outcome."""
        path = self.place / f"study-{number}.toml"
        path.write_text(self.text(number))
        out = self.place / f"out-{number}"
        began, host = time.monotonic(), Host()
        self.dyno("run", path, "--out", out)
        took_s = time.monotonic() - began
        trials = json.loads((out / "result.json").read_text())["trials"]
        if any(trial["outcome"]["how"] != "completed" for trial in trials):
            fail(f"study {number} did not complete all of its trials")
        tps = collections.defaultdict(dict)
        for trial in trials:
            planned = trial["setup"]["planned"]
            tps[planned["repeat"]][planned["point"]["variant"]] = trial["transactions"]["per_s"]["value"]
        (point,) = json.loads(self.dyno("compare", out, "--base", "a", "--new", "b", "--json"))["points"]
        shutil.rmtree(out)
        others, steal_pct = host.used()
        return {
            "number": number,
            "ended": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M:%S}",
            "took_s": round(took_s, 1),
            "others": round(others, 3),
            "steal_pct": round(steal_pct, 2),
            "dyno": self.dyno("--version").strip(),
            "server": trials[0]["setup"]["engine"],
            "tps": [[round(start["a"], 2), round(start["b"], 2)] for _, start in sorted(tps.items())],
            "numbers": {number["column"]: summary(number["comparison"]) for number in point["numbers"]},
        }


def summary(comparison):
    """The change in percent with its interval, and the verdict; None if the number was not compared."""
    if not comparison:
        return None
    change = comparison["change_pct"]
    ends = change["interval"] or {"low": None, "high": None}
    return {"change": change["value"], "low": ends["low"], "high": ends["high"],
            "decision": comparison["decision"]["decision"]}


def decision(outcome, column="tps"):
    """The verdict on a number, if it was compared."""
    found = outcome["numbers"][column]
    return found and found["decision"]


def logs(outcome):
    """The log ratio of each start, in percent."""
    return [100 * math.log(b / a) for a, b in outcome["tps"]]


def run(experiment, path, count, quick):
    """Runs studies until `count` outcomes are stored."""
    done = len(outcomes(path))
    say(f"{experiment.name}: {done} of {count} studies are stored")
    if done >= count:
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dyno-sure-", dir="/var/tmp") as place:
        bench = Bench(pathlib.Path(place), experiment, quick)
        for number in range(done + 1, count + 1):
            found = bench.study(number)
            store(path, found)
            left_s = (time.monotonic() - began) / (number - done) * (count - number)
            tps = found["numbers"]["tps"]
            say(f"{experiment.name} {number}/{count}: {len(found['tps'])} starts in {found['took_s']:.0f} s, tps "
                f"{tps['change']:+.2f} % ({tps['low']:+.2f} to {tps['high']:+.2f}), {tps['decision']}; others "
                f"{found['others']:.2f} CPUs; {left_s / 60:.0f} min left")


def wilson(count, of):
    """The 95 % confidence interval of a share (Wilson, Journal of the American Statistical Association 22, 1927)."""
    share, square = count / of, Z * Z / of
    middle = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / of + square / of / 4) / (1 + square)
    return middle - half, middle + half


def share(count, of):
    low, high = wilson(count, of)
    return f"{count} of {of}: {100 * count / of:.0f} % ({100 * low:.0f}–{100 * high:.0f})"


def met(is_met):
    return "met" if is_met else "**missed**"


def slowdowns(kept):
    """Rows about the studies with an injected slowdown."""
    holding = []
    for name in ("read", "write", "write-whole"):
        experiment, found = EXPERIMENTS[name], kept[name]
        if not found:
            continue
        count, goal = sum(decision(outcome) == "slower" for outcome in found), experiment.goal_pct
        yield (f"| {experiment.name}: decided correctly | {share(count, len(found))} "
               f"| {f'≥ {goal} % {met(100 * count >= goal * len(found))}' if goal else '–'} |")
        holding += [outcome["numbers"]["tps"]["low"] <= experiment.truth_pct <= outcome["numbers"]["tps"]["high"]
                    for outcome in found]
    if holding:
        yield (f"| the repeated intervals hold the injected {EXPERIMENTS['read'].truth_pct:.2f} % "
               f"| {share(sum(holding), len(holding))} | ≥ 93 % {met(sum(holding) >= 0.93 * len(holding))} |")


def is_called_different(series):
    """Whether a look at a series of starts finds a difference of at least 2 %."""
    for starts, critical in BOUNDARY.items():
        seen = series[:starts]
        mean, half = statistics.mean(seen), critical * statistics.stdev(seen) / math.sqrt(starts)
        if abs(mean) > half and abs(100 * math.expm1(mean / 100)) >= 2:
            return True
        if half + abs(mean) < 2:
            return False
    return False


def under_load_s(experiment):
    """Load time of each variant in a start, including its 1 s of warm-up. Turns run in whole rounds of two 1 s blocks, of
    which 0.9 s each are measured."""
    if experiment.compare.endswith(WHOLE):
        return 1 + experiment.time_s
    return sum(2 * math.ceil(length_s / 1.8) for length_s in (1, experiment.time_s))


def alarms(kept):
    """Rows about identical variants."""
    pool = [log for outcome in kept["aa"] for log in logs(outcome)]
    if len(pool) < 2:
        return
    draw = random.Random(SEED)
    called = sum(is_called_different(draw.choices(pool, k=max(BOUNDARY))) for _ in range(RESAMPLED))
    yield (f"| {EXPERIMENTS['aa'].name}, {len(pool)} starts resampled {RESAMPLED:,} times as sequential studies (seed {SEED}): "
           f"called different | {100 * called / RESAMPLED:.1f} % | ≤ 5 % {met(called <= 0.05 * RESAMPLED)} |")
    mean, error = statistics.mean(pool), Z * statistics.stdev(pool) / math.sqrt(len(pool))
    yield f"| their mean, % | {mean:+.2f} ± {error:.2f} | includes 0 {met(abs(mean) <= error)} |"
    whole = [log for outcome in kept["whole"] for log in logs(outcome)]
    if len(whole) > 1:
        turns_half = BOUNDARY[10] * statistics.stdev(pool) / math.sqrt(10)
        load_ratio = math.sqrt(10 * under_load_s(EXPERIMENTS["aa"]) / (5 * under_load_s(EXPERIMENTS["whole"])))
        whole_half = T_OF_5 * statistics.stdev(whole) / math.sqrt(5)
        ratio = load_ratio * turns_half / whole_half
        yield (f"| half width at the last look, ± {turns_half:.2f} %, over that of five pairs of whole trials, "
               f"± {whole_half:.2f} %, at equal time under load | {ratio:.2f} | ≤ 0.45 {met(ratio <= 0.45)} |")


def stolen(found):
    """Steal of the studies that recorded it."""
    known = [outcome["steal_pct"] for outcome in found if "steal_pct" in outcome]
    return f"{spread(known, 1)} in {len(known)} studies" if known else "–"


def spreads(kept):
    """A row for each experiment, with the spread of its studies."""
    for name, found in kept.items():
        if not found:
            continue
        pooled = [log for outcome in found for log in logs(outcome)]
        halves = [(outcome["numbers"]["tps"]["high"] - outcome["numbers"]["tps"]["low"]) / 2 for outcome in found]
        mean = statistics.mean(pooled)
        cells = [EXPERIMENTS[name].name, str(len(pooled)), f"{100 * math.expm1(mean / 100):+.2f}",
                 f"{statistics.stdev(pooled):.2f}", spread(halves, 1),
                 spread([len(outcome["tps"]) for outcome in found], 0),
                 spread([outcome["took_s"] / 60 for outcome in found], 1),
                 spread([statistics.mean(a for a, _ in outcome["tps"]) for outcome in found], 0),
                 spread([outcome["others"] for outcome in found], 2), stolen(found)]
        yield f"| {' | '.join(cells)} |"


def report(kept):
    last = max(sum(kept.values(), []), key=lambda outcome: outcome["ended"])
    return [
        "## How often a comparison decides correctly", "",
        "Studies with `[compare]` of two variants of a private MariaDB, with eight users on the same two CPUs, judged by "
        "`dyno compare`. The statements of a transaction commit one by one, and the slower variant runs 21 of each "
        f"instead of 20, so it completes {-EXPERIMENTS['read'].truth_pct:.2f} % fewer transactions. The variants take turns, in "
        "at most 10 starts if they only read, else in at most 20. dyno's default for variants that write is whole trials, which "
        "this host's changes of speed make undecidable; turns (`alternate = \"always\"`) are valid for a slowdown that defers "
        "no work.", "",
        "| what | measured | goal |", "|---|---|---|", *slowdowns(kept), *alarms(kept), "",
        "| experiment | starts | mean change, % | standard deviation of a start, % | half of a study's interval, % "
        "| starts of a study | minutes of a study | tps of the first variant | other processes, CPUs | steal, % |",
        "|---|---|---|---|---|---|---|---|---|---|", *spreads(kept), "",
        "Ranges are median (lowest–highest) of the studies; shares have 95 % confidence intervals. The outcome of each study is "
        "in `benches/outcomes`.", "",
        f"{last['ended'][:10]}; {os.cpu_count()} CPUs; {last['dyno']}, {last['server'].split('-')[0]}.",
    ]


def arguments():
    parser = options("sure.sh")
    parser.add_argument("what", choices=[*EXPERIMENTS, "report"])
    parser.add_argument("studies", nargs="?", type=int)
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
            run(experiment, OUTCOMES / f"{args.what}.jsonl", count, args.quick)
        kept = {name: outcomes(OUTCOMES / f"{name}.jsonl") for name in EXPERIMENTS}
    finally:
        if args.quick:
            shutil.rmtree(WORK)
    if not any(kept.values()):
        fail(f"no outcomes are stored in {OUTCOMES}: run an experiment first")
    if args.what in EXPERIMENTS:
        args.out = args.out or "-"
    write(args, "sure", report(kept), "sure.sh")


if __name__ == "__main__":
    main()
