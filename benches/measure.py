"""Compares dyno with sysbench. Called by run.sh, which documents the options.

The client's CPU time is the difference between two readings of /proc/PID/stat while the load is running. The number of
statements is the difference between two readings of the server's counter (Com_stmt_execute) at the same instants. All
programs are therefore measured in the same way, and none reports on itself.
"""

import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import tempfile
import time

from results import host, options, say, spread, verdict, write
from server import ACCOUNT, Server, activity, busy_s, fail

DYNO = os.environ["DYNO"]
RIVALS = os.environ["RIVALS"]
TABLES = 4
USERS = 64
NAMES = {"oltp_read_write": "read-write", "oltp_read_only": "read-only", "oltp_point_select": "point select"}
# Workloads and users of the comparison with default options, and the lowest ratio of statements/s that meets the goal.
RATES = [("oltp_read_write", 64, 1.15), ("oltp_read_only", 16, 1.0), ("oltp_read_only", 64, 1.0),
         ("oltp_point_select", 16, 1.0), ("oltp_point_select", 64, 1.0)]


def peak_mb(pid):
    """The peak resident memory of a process, or None if it has ended."""
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
        return found and int(found[1]) / 1000
    return None


class Run:
    """A running client program."""

    def __init__(self, place, name, command):
        self.name = name
        self.log = place / f"{name}.log"
        self.command = command
        self.peak_mb = 0.0
        with self.log.open("w") as log:
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=place)
        self.started = time.monotonic()

    def wait_until(self, at_s):
        """Waits until the run is at_s seconds old; fails if it ends before."""
        if self.watch(self.started + at_s):
            fail(f"{self.name} ended early:\n{self.tail()}")

    def watch(self, deadline):
        """Samples its memory until the deadline; returns True if it ends before. It is highest just before the end."""
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return True
            self.peak_mb = max(self.peak_mb, peak_mb(self.process.pid) or 0)
            time.sleep(min(0.002, max(0.0, deadline - time.monotonic())))
        return False

    def end(self, limit_s):
        """Waits until the program ends by itself."""
        if not self.watch(time.monotonic() + limit_s):
            self.process.kill()
            fail(f"{self.name} did not end within {limit_s} s:\n{self.tail()}")
        if self.process.returncode:
            fail(f"{self.name} failed ({self.process.returncode}):\n{' '.join(map(str, self.command))}\n{self.tail()}")

    def tail_from(self, start):
        text = self.log.read_text()
        return text[text.index(start):]

    def tail(self):
        return self.log.read_text()[-2000:]


class Bench:
    def __init__(self, args, place, server=None):
        self.args = args
        self.place = place
        self.quick = args.quick
        self.rows = 5_000 if self.quick else 100_000
        self.server = server or Server(place)
        self.loaded = False
        self.results = 0

    def pairs(self, default):
        return self.args.pairs or (1 if self.quick else default)

    def load_once(self):
        if not self.loaded:
            say(f"loading {TABLES} x {self.rows} rows")
            self.run_to_end("dyno", self.dyno(["--prepare", "only"], self.rows))
            self.loaded = True

    def dyno(self, more, rows, database="sbtest"):
        return [DYNO, "bench", self.server.url(database), "--tls-mode", "disable", "--tables", TABLES, "--rows", rows, *more]

    def dyno_run(self, workload, users, seconds, database="sbtest"):
        # The result is not used here, but writing it is part of the work.
        self.results += 1
        return self.dyno(["--workload", workload, "--threads", users, "--time", f"{seconds}s", "--warmup", "0s",
                          "--prepare", "never", "--out", self.place / f"results-{self.results}"], self.rows, database)

    def sysbench(self, workload, threads, rows, more, database="sbtest"):
        return ["sysbench", workload, *self.server.sysbench(database), f"--tables={TABLES}", f"--table-size={rows}",
                f"--threads={threads}", *more]

    def sysbench_run(self, workload, users, seconds, database="sbtest"):
        more = [f"--time={seconds}", "--rand-type=special", "--db-ps-mode=auto", "run"]
        return self.sysbench(workload, users, self.rows, more, database)

    def rival_run(self, name, threads=1):
        def command(workload, users, seconds):
            return [f"{RIVALS}/{name}", f"127.0.0.1:{self.server.port}", ACCOUNT, workload, users, seconds, TABLES,
                    self.rows, threads]
        return command

    def default_workers(self, users):
        """The number of worker threads that dyno uses by default."""
        run = self.run_to_end("dyno", [*self.dyno_run("oltp_point_select", users, 1), "--json"])
        result, _ = json.JSONDecoder().raw_decode(run.tail_from("{\n"))
        return result["trials"][0]["setup"]["workers"]

    def run_to_end(self, name, command, limit_s=600):
        run = Run(self.place, name, command)
        run.end(limit_s)
        return run

    def window(self, name, command, warmup_s, window_s):
        """CPU time and statements of a window after the warm-up."""
        run = Run(self.place, name, command)
        run.wait_until(warmup_s)
        begin = self.sample(run)
        run.wait_until(time.monotonic() - run.started + window_s)
        end = self.sample(run)
        run.end(60)
        got = figures(begin, end)
        say(f"{name}: {got['user']:.2f} + {got['system']:.2f} us, {got['rate']:.0f}/s, others {got['others']:.2f} CPUs")
        return got

    def sample(self, run):
        return (*activity(run.process.pid), *self.server.activity(), busy_s(), self.server.statements(),
                time.monotonic())

    # The six parts. Each returns its Markdown.

    def cpu(self):
        self.load_once()
        # sysbench's just-in-time compiler needs about 15 s to warm up, so no program is measured before that.
        warmup_s, window_s = (2, 3) if self.quick else (15, 10)
        programs = {
            "dyno": (self.dyno_run, warmup_s),
            "sysbench": (self.sysbench_run, warmup_s),
            # These have nothing to compile, so a few seconds of warm-up suffice.
            "floor": (self.rival_run("floor", self.default_workers(USERS)), min(warmup_s, 3)),
            "tokio": (self.rival_run("tokio_user"), min(warmup_s, 3)),
        }
        rounds = {workload: [] for workload in ("oltp_read_write", "oltp_point_select")}
        count = self.pairs(5)
        for number in range(count):
            for workload in rounds:
                say(f"cpu {number + 1}/{count}: {workload}")
                row = {}
                for name, (command, warm_s) in programs.items():
                    seconds = warm_s + window_s + 2
                    row[name] = self.window(name, command(workload, USERS, seconds), warm_s, window_s)
                rounds[workload].append(row)
        self.keep("cpu", rounds)
        return cpu_text(rounds, warmup_s, window_s)

    def rates(self):
        # Each program has its own database, because one that is stopped within a transaction holds locks.
        for name in ("dyno", "sysbench"):
            self.server.ask(f"CREATE DATABASE {name}")
            self.run_to_end("dyno", self.dyno(["--prepare", "only"], self.rows, name))
        rows = {}
        for case in RATES:
            workload, users, _ = case
            say(f"rates: {workload}, {users} users")
            rows[case] = self.alternate({
                "dyno": self.dyno_run(workload, users, 3600, "dyno"),
                "sysbench": self.sysbench_run(workload, users, 3600, "sysbench"),
            }, self.pairs(15))
        self.keep("rates", [[*case, got] for case, got in rows.items()])
        return rates_text(rows)

    def wakes(self):
        """Where the time of a point select goes on a host that client and server share."""
        self.load_once()
        rows = {}
        for users in (16, 64):
            say(f"wakes: {users} users")
            run = lambda command: command("oltp_point_select", users, 3600)
            workers = self.default_workers(users)
            rows[users] = self.alternate({
                "sysbench": run(self.sysbench_run),
                "dyno": run(self.dyno_run),
                f"floor, {workers} threads": run(self.rival_run("floor", workers)),
                "floor, a thread per user": run(self.rival_run("floor", 0)),
            }, self.pairs(15))
        self.keep("wakes", rows)
        return wakes_text(rows)

    def alternate(self, commands, rounds):
        """Alternating windows of programs, of which all but one are stopped at any time.

        The speed of this host changes by a factor of two within a minute, so programs that run one after the other
        cannot be compared, but neighboring windows can."""
        warmup_s, settle_s, window_s = (2, 0.2, 1) if self.quick else (15, 0.5, 2)
        runs = {}
        try:
            for name, command in commands.items():
                runs[name] = run = Run(self.place, name, command)
                run.wait_until(warmup_s)
                run.process.send_signal(signal.SIGSTOP)
            windows = []
            for number in range(rounds):
                order = list(runs) if number % 2 else list(runs)[::-1]
                windows.append({name: self.awake(runs[name], settle_s, window_s) for name in order})
            return windows
        finally:
            for run in runs.values():
                run.process.kill()
                run.process.wait()

    def awake(self, run, settle_s, window_s):
        """One window of a program that is otherwise stopped."""
        run.process.send_signal(signal.SIGCONT)
        time.sleep(settle_s)
        begin = self.sample(run)
        time.sleep(window_s)
        end = self.sample(run)
        run.process.send_signal(signal.SIGSTOP)
        if run.process.poll() is not None:
            fail(f"{run.name} ended too early:\n{run.tail()}")
        return figures(begin, end)

    def memory(self):
        self.load_once()
        users, seconds = (128, 5) if self.quick else (1024, 30)
        lines = ["| workload | dyno | sysbench | ratio | goal |", "|---|---|---|---|---|"]
        for workload in ["oltp_read_write", "oltp_point_select"]:
            peaks = {"dyno": [], "sysbench": []}
            for _ in range(self.pairs(1)):
                for name, command in (("dyno", self.dyno_run), ("sysbench", self.sysbench_run)):
                    run = self.run_to_end(name, command(workload, users, seconds))
                    peaks[name].append(run.peak_mb)
                    say(f"memory {workload} {name}: {run.peak_mb:.1f} MB")
            dyno, sysbench = (statistics.median(peaks[name]) for name in ("dyno", "sysbench"))
            goal = "dyno ≤ 18 MB" if workload == "oltp_read_write" else ""
            lines.append(f"| {NAMES[workload]} | {dyno:.1f} MB | {sysbench:.0f} MB | {dyno / sysbench:.3f} | {goal} |")
        return [f"Peak resident memory (VmHWM) of a run of {seconds} s with {users:,} users, including the report.", "",
                *lines]

    def connections(self):
        self.load_once()
        users, seconds = (500, 5) if self.quick else (10_000, 30)
        run = self.run_to_end("dyno", [*self.dyno_run("oltp_point_select", users, seconds), "--json"])
        # The log contains both standard output (the result) and standard error (progress).
        result, _ = json.JSONDecoder().raw_decode(run.tail_from("{\n"))
        trial = result["trials"][0]
        errors = sum(error["count"] for error in trial["errors"])
        rate = trial["statements"]["per_s"]["value"]
        p99 = trial["response_ms"]["p99"]
        say(f"connections: {run.peak_mb:.1f} MB, {errors} errors, {rate:.0f}/s")
        self.keep("connections", result)
        return [f"{users:,} connections from one dyno process, point selects for {seconds} s.",
                "", "| connections | errors | statements/s | p99 | peak memory | goal |", "|---|---|---|---|---|---|",
                f"| {users:,} | {errors} | {rate:,.0f} | {p99:.0f} ms | {run.peak_mb:.1f} MB | no error, ≤ 100 MB |"]

    def load(self, goal=0.70):
        rows = 20_000 if self.quick else 500_000
        commands = {
            "dyno": lambda: self.dyno(["--prepare", "only", "--load-connections", 2], rows),
            "sysbench": lambda: self.sysbench("oltp_read_write", 2, rows, ["prepare"]),
        }
        taken = {name: [] for name in commands}
        for number in range(self.pairs(3)):
            for name, command in commands.items():
                self.ask_fresh_database()
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                start = time.monotonic()
                self.run_to_end(name, command())
                wall = time.monotonic() - start
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
                taken[name].append((wall, user, system))
                say(f"load {number + 1} {name}: {wall:.1f} s, CPU {user:.2f} + {system:.2f} s")
                for table in range(1, TABLES + 1):
                    found = self.server.rows(f"sbtest{table}")
                    if found != rows:
                        fail(f"{name} loaded {found} rows into sbtest{table}, not {rows}")
        self.ask_fresh_database()
        self.loaded = False
        self.keep("load", taken)
        return load_text(taken, rows, goal)

    def ask_fresh_database(self):
        self.server.ask("DROP DATABASE sbtest")
        self.server.ask("CREATE DATABASE sbtest")
        # Let the server finish the writes of the previous run.
        time.sleep(1 if self.quick else 5)

    def keep(self, name, figures):
        if self.args.raw:
            path = pathlib.Path(self.args.raw) / f"{name}.json"
            path.write_text(json.dumps(figures, indent=1))


def figures(begin, end):
    """The activity of a program between two samples."""
    (user, system, slept, preempted, server_user, server_system, server_slept, server_preempted, busy, statements,
     length_s) = (after - before for before, after in zip(begin, end))
    server = server_user + server_system
    if not statements:
        fail("a program executed no statement in its window")
    each_us = 1e6 / statements
    return {
        "user": user * each_us,
        "system": system * each_us,
        "total": (user + system) * each_us,
        "server": server * each_us,
        "server_user": server_user * each_us,
        "server_system": server_system * each_us,
        "slept": slept / statements,
        "preempted": preempted / statements,
        "server_slept": server_slept / statements,
        "server_preempted": server_preempted / statements,
        "rate": statements / length_s,
        "others": max(0.0, (busy - user - system - server) / length_s),
    }


def cpu_text(rounds, warmup_s, window_s):
    lines = [f"{USERS} users on {TABLES} tables; {len(next(iter(rounds.values())))} interleaved rounds; each program "
             f"is measured for {window_s} s, dyno and sysbench after a warm-up of {warmup_s} s. "
             "Median (lowest–highest); CPU in µs per statement. Other processes of the host distort the results; "
             "above 0.1 CPUs, they are unreliable."]
    for workload, rows in rounds.items():
        of = lambda name, what: [row[name][what] for row in rows]
        lines += ["", f"### {NAMES[workload]}", "",
                  "| program | user | system | user + system | statements/s | server CPU | other processes, CPUs |",
                  "|---|---|---|---|---|---|---|"]
        for name in rows[0]:
            cells = [spread(of(name, what), 2) for what in ("user", "system", "total")]
            cells += [spread(of(name, "rate"), 0), spread(of(name, "server"), 1), spread(of(name, "others"), 2)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        goal = {"oltp_read_write": 0.60, "oltp_point_select": 0.70}[workload]
        compared = [
            ("dyno / sysbench: client CPU", "sysbench", "total", goal, False),
            ("dyno / sysbench: user time alone", "sysbench", "user", None, False),
            ("dyno / sysbench: statements/s", "sysbench", "rate", None, True),
            ("dyno / floor: client CPU", "floor", "total", 1.12, False),
            ("dyno / tokio: client CPU", "tokio", "total", None, False),
            ("dyno / tokio: statements/s", "tokio", "rate", None, True),
        ]
        lines += ["", "| ratio, round by round | median (lowest–highest) | goal |", "|---|---|---|"]
        for title, other, what, goal, at_least in compared:
            ratios = [row["dyno"][what] / row[other][what] for row in rows if row[other][what]]
            shown = spread(ratios, 2) if ratios else "too short"
            goal = verdict(statistics.median(ratios), goal, at_least) if goal and ratios else ""
            lines.append(f"| {title} | {shown} | {goal} |")
    return lines


def rates_text(rows):
    count = len(next(iter(rows.values())))
    lines = [f"Default options, except for users and tables ({TABLES}). Both programs run, each on its own database, and are "
             f"stopped (SIGSTOP) in turn for 2 s while the other is measured; {count} pairs of windows. "
             "Median (lowest–highest).", "",
             "| workload | users | dyno, statements/s | sysbench, statements/s | dyno / sysbench | client CPU, dyno / sysbench "
             "| goal for statements/s |", "|---|---|---|---|---|---|---|"]
    for (workload, users, goal), pairs in rows.items():
        rate = {name: spread([pair[name]["rate"] for pair in pairs], 0) for name in ("dyno", "sysbench")}
        ratio = {what: [pair["dyno"][what] / pair["sysbench"][what] for pair in pairs] for what in ("rate", "total")}
        lines.append(f"| {NAMES[workload]} | {users} | {rate['dyno']} | {rate['sysbench']} | {spread(ratio['rate'], 2)} "
                     f"| {spread(ratio['total'], 2)} | {verdict(statistics.median(ratio['rate']), goal, True)} |")
    return lines


def wakes_text(rows):
    lines = [f"Point selects on {TABLES} tables; all programs run, and all but one are stopped (SIGSTOP); "
             f"{len(next(iter(rows.values())))} rounds of windows of 2 s. Medians per statement; in parentheses, the range of the ratio.",
             "", "| users | program | statements/s over sysbench's | client CPU, µs: user + system | server CPU, µs: user + system "
             "| client sleeps, is preempted | server sleeps, is preempted |", "|---|---|---|---|---|---|---|"]
    for users, rounds in rows.items():
        for name in rounds[0]:
            middle = lambda what: statistics.median(row[name][what] for row in rounds)
            ratio = spread([row[name]["rate"] / row["sysbench"]["rate"] for row in rounds], 2)
            lines.append(f"| {users} | {name} | {ratio} | {middle('user'):.1f} + {middle('system'):.1f} "
                         f"| {middle('server_user'):.1f} + {middle('server_system'):.1f} "
                         f"| {middle('slept'):.2f}, {middle('preempted'):.2f} "
                         f"| {middle('server_slept'):.2f}, {middle('server_preempted'):.2f} |")
    return lines


def load_text(taken, rows, goal):
    lines = [f"{TABLES} x {rows:,} rows into new tables over 2 connections, including the index on k; "
             f"{len(taken['dyno'])} interleaved pairs. Median (lowest–highest).", "",
             "| program | seconds | rows/s | client CPU s (user + system) |", "|---|---|---|---|"]
    for name, runs in taken.items():
        walls = [run[0] for run in runs]
        cpu = [run[1] + run[2] for run in runs]
        rate = TABLES * rows / statistics.median(walls)
        lines.append(f"| {name} | {spread(walls, 1)} | {rate:,.0f} | {spread(cpu, 2)} |")
    ratios = [dyno[0] / sysbench[0] for dyno, sysbench in zip(taken["dyno"], taken["sysbench"])]
    cpus = [sum(dyno[1:]) / sum(sysbench[1:]) for dyno, sysbench in zip(taken["dyno"], taken["sysbench"])]
    lines += ["", "| ratio, pair by pair | median (lowest–highest) | goal |", "|---|---|---|",
              f"| dyno / sysbench: seconds | {spread(ratios, 2)} | {verdict(statistics.median(ratios), goal)} |",
              f"| dyno / sysbench: client CPU | {spread(cpus, 2)} | |"]
    return lines


TITLES = {
    "cpu": "Client CPU per statement",
    "rates": "Throughput with default options",
    "wakes": "Sleeping and waking",
    "memory": "Peak memory",
    "connections": "Many connections",
    "load": "Loading data",
}


def conditions(server_version):
    return (f"{shared_host()}; {version(DYNO)}, {version('sysbench')}, MariaDB {server_version.split('-')[0]}; "
            "prepared statements, TCP over loopback, distribution special.")


def shared_host():
    model = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{host(f'{model[1]}, ' if model else 'unknown CPU, ')} shared by client and server, Linux {os.uname().release}"


def version(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip().split(" (")[0]


def arguments(script, titles):
    parser = options(script)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"default: all of {', '.join(titles)}")
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--raw", metavar="DIR", help="write all individual measurements to DIR, as JSON")
    args = parser.parse_args()
    if unknown := [part for part in args.parts if part not in titles]:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(titles)}")
    if args.pairs is not None and args.pairs < 1:
        parser.error("--pairs must be at least 1")
    return args


def raise_file_limit(needed=13_000):
    """Client and server each need a file per connection, and the server some more for its tables."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        fail(f"10,000 connections need {needed} open files, but the limit is {hard}: raise it first (ulimit -Hn {needed})")
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def main(script="run.sh", titles=TITLES, bench_of=Bench, conditions=conditions, prefix=""):
    args = arguments(script, titles)
    raise_file_limit()
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as place:
        bench = bench_of(args, pathlib.Path(place))
        try:
            for part, title in titles.items():
                if args.parts and part not in args.parts:
                    continue
                lines = [f"## {title}", "", *getattr(bench, part)(), "", conditions(bench.server.version())]
                # Written after each part, so that nothing is lost if a later part fails.
                write(args, f"{prefix}{part}", lines, script)
        finally:
            bench.server.stop()


if __name__ == "__main__":
    main()
