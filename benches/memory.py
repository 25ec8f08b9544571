"""Measures the peak memory of dyno with many users. Called by memory.sh, which documents the options."""

import json
import pathlib
import statistics
import tempfile

from measure import NAMES, Bench, conditions, raise_file_limit
from results import HERE, options, say, write
from server import fail

# Workload, users, and the goal in MB.
CASES = [("oltp_read_write", 1_024, 17.5), ("oltp_point_select", 1_024, None), ("oltp_point_select", 10_000, 50.0)]
LAST_RELEASE = HERE / "memory.json"
# Runs of one program differ by 2 %.
GROWTH_LIMIT = 1.05


def measured(bench, workload, users, seconds, rounds):
    """The median of the peaks in MB, and what the last run reported."""
    peaks = []
    for _ in range(rounds):
        run = bench.run_to_end("dyno", [*bench.dyno_run(workload, users, seconds), "--json"])
        peaks.append(run.peak_mb)
        say(f"{NAMES[workload]}, {users} users: {run.peak_mb:.1f} MB")
    # The log contains both standard output (the result) and standard error (progress).
    result, _ = json.JSONDecoder().raw_decode(run.tail_from("{\n"))
    return statistics.median(peaks), result["trials"][0]


def judged(mb, goal, before):
    """What is wrong with a peak, in words."""
    if goal and mb > goal:
        return "**missed**"
    if before and mb > before * GROWTH_LIMIT:
        return "**grown**"
    return "met" if goal else "not grown"


def main():
    parser = options("memory.sh")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--release", metavar="VERSION")
    args = parser.parse_args()
    args.pairs = args.raw = None
    rounds, seconds = args.rounds or (1 if args.quick else 3), 5 if args.quick else 30
    release = json.loads(LAST_RELEASE.read_text())
    raise_file_limit()
    peaks, verdicts, lines = {}, [], []
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as place:
        bench = Bench(args, pathlib.Path(place))
        try:
            bench.load_once()
            for workload, users, goal in CASES:
                name = f"{NAMES[workload]}, {users:,} users"
                mb, trial = measured(bench, workload, users, seconds, rounds)
                if errors := [error for error in trial["errors"] if error["action"] != "restarted"]:
                    fail(f"{name}: {errors}")
                before = release["mb"].get(name)
                peaks[name] = round(mb, 1)
                verdicts.append(judged(mb, goal, before))
                cells = [name, f"{mb:.1f} MB", f"{before} MB" if before else "", f"≤ {goal} MB" if goal else "", verdicts[-1]]
                lines.append(f"| {' | '.join(cells)} |")
            under = conditions(bench.server.version())
        finally:
            bench.server.stop()
    lines = ["## Memory of users", "",
             f"Peak resident memory (VmHWM) of a whole run of {seconds} s with default options, report included; median of "
             f"{rounds}. \"Before\" is release {release['release']}.", "",
             "| load | peak | before | goal | |", "|---|---|---|---|---|", *lines, "", under]
    write(args, "users", lines, "memory.sh")
    if args.release:
        LAST_RELEASE.write_text(json.dumps({"release": args.release, "mb": peaks}, indent=1) + "\n")
    if any(verdict.startswith("**") for verdict in verdicts):
        fail(f"memory has grown or exceeds its goal: {peaks}")


if __name__ == "__main__":
    main()
