"""Compares dyno's drop-ins with sysbench and pgbench. Called by drop_in.sh, which documents the options."""

import re
import statistics
import subprocess

import measure
from measure import DYNO, TABLES, USERS, Bench
from postgres import PGBENCH_SCALE, PostgresBench
from results import HERE, say, spread, verdict

SCRIPT = HERE / "read_write.lua"
FILES = ["--file-total-size=64M", "--file-num=8"]
# Tests without a database: their options, and where their report has the figure that is compared.
NATIVE = {
    "cpu": (["cpu"], r"events per second: +([\d.]+)"),
    "cpu, 2 threads": (["cpu", "--threads=2"], r"events per second: +([\d.]+)"),
    "memory": (["memory", "--memory-total-size=1T"], r"\(([\d.]+) MiB/sec\)"),
    "memory, blocks of 1 MiB": (["memory", "--memory-total-size=1T", "--memory-block-size=1M"], r"\(([\d.]+) MiB/sec\)"),
    "memory, random reads": (["memory", "--memory-total-size=1T", "--memory-access-mode=rnd", "--memory-oper=read"],
                             r"\(([\d.]+) MiB/sec\)"),
    "threads": (["threads", "--threads=4"], r"total number of events: +(\d+)"),
    "mutex": (["mutex", "--threads=4"], r"total time: +([\d.]+)s"),
    "fileio, random reads": (["fileio", *FILES, "--file-test-mode=rndrd"], r"reads/s: +([\d.]+)"),
    "fileio, sequential writes": (["fileio", *FILES, "--file-test-mode=seqwr"], r"writes/s: +([\d.]+)"),
    "fileio, random reads and writes": (["fileio", *FILES, "--file-test-mode=rndrw"], r"writes/s: +([\d.]+)"),
}
# Figures of which less is more.
TIMES = ("mutex",)


class DropInBench(Bench):
    """MariaDB is there from the beginning, PostgreSQL only for its part."""

    def scripted(self, program, database):
        """A command that runs the script without end."""
        return [*program, SCRIPT, *self.server.sysbench(database), f"--tables={TABLES}", f"--table-size={self.rows}",
                "--rand-type=special"]

    def scripts(self):
        programs = {"dyno, Lua": [DYNO, "sysbench"], "sysbench, Lua": ["sysbench"], "sysbench, its own Lua": ["sysbench"],
                    "dyno, built in": [DYNO, "sysbench"]}
        commands = {}
        # Each program has its own database, because one that is stopped within a transaction holds locks.
        for number, (name, program) in enumerate(programs.items()):
            database = f"own{number}"
            self.server.ask(f"CREATE DATABASE {database}")
            self.run_to_end("dyno", self.dyno(["--prepare", "only"], self.rows, database))
            command = self.scripted(program, database)
            if not name.endswith(", Lua"):
                command[command.index(SCRIPT)] = "oltp_read_write"
            commands[name] = [*command, f"--threads={USERS}", "--time=3600", "run"]
        rounds = self.alternate(commands, self.pairs(15))
        self.keep("scripts", rounds)
        return compared(rounds, "sysbench, its own Lua", {"dyno, Lua": 0.70, "dyno, built in": None, "sysbench, Lua": None})

    def memory(self):
        self.load_once()
        users, seconds = (128, 5) if self.quick else (1024, 30)
        peaks = {"dyno": [], "sysbench": []}
        for _ in range(self.pairs(1)):
            for name, program in (("dyno", [DYNO, "sysbench"]), ("sysbench", ["sysbench"])):
                command = [*self.scripted(program, "sbtest"), f"--threads={users}", f"--time={seconds}", "run"]
                run = self.run_to_end(name, command)
                peaks[name].append(run.peak_mb)
                say(f"memory {name}: {run.peak_mb:.1f} MB")
        dyno, sysbench = (statistics.median(peaks[name]) for name in ("dyno", "sysbench"))
        return [f"Peak resident memory (VmHWM) of a run of {seconds} s of the script with {users:,} users.", "",
                "| dyno | sysbench | ratio | goal |", "|---|---|---|---|",
                f"| {dyno:.1f} MB | {sysbench:.0f} MB | {dyno / sysbench:.3f} | {verdict(dyno / sysbench, 0.10)} |"]

    def native(self):
        seconds = 1 if self.quick else 5
        lines = [f"Runs of {seconds} s, interleaved; {self.pairs(5)} pairs. Ratio: dyno over sysbench, pair by pair, of the "
                 "figure in the report (for mutex, of sysbench's time over dyno's). Median (lowest–highest).", "",
                 "| test | dyno | sysbench | ratio | goal |", "|---|---|---|---|---|"]
        for title, (words, pattern) in NATIVE.items():
            if words[0] == "fileio":
                subprocess.run(["sysbench", *words, "prepare"], cwd=self.place, stdout=subprocess.DEVNULL, check=True)
            pairs = []
            for number in range(self.pairs(5)):
                programs = [("dyno", [DYNO, "sysbench"]), ("sysbench", ["sysbench"])]
                pairs.append({name: self.figure(program, [*words, f"--time={seconds}"], pattern)
                              for name, program in (programs if number % 2 else programs[::-1])})
            ratios = [pair["dyno"] / pair["sysbench"] for pair in pairs]
            if title in TIMES:
                ratios = [1 / ratio for ratio in ratios]
            say(f"native {title}: {spread(ratios, 2)}")
            middle = statistics.median(ratios)
            lines.append(f"| {title} | {spread([pair['dyno'] for pair in pairs], 1)} "
                         f"| {spread([pair['sysbench'] for pair in pairs], 1)} | {spread(ratios, 2)} "
                         f"| 0.90 to 1.10 {'met' if 0.9 <= middle <= 1.1 else '**missed**'} |")
        return lines

    def figure(self, program, words, pattern):
        """The figure of a report."""
        run = self.run_to_end(program[0].rsplit("/", 1)[-1], [*program, *words, "run"])
        return float(re.search(pattern, run.log.read_text())[1])

    def pgbench(self):
        place = self.place / "postgres"
        place.mkdir()
        beside = PostgresBench(self.args, place)
        try:
            return pgbench_text(beside)
        finally:
            beside.server.stop()


def pgbench_text(bench):
    lines = []
    for name in ("dyno", "pgbench"):
        bench.server.ask(f"CREATE DATABASE {name}")
        of = [*bench.server.connecting(), "-i", "-q", "-s", PGBENCH_SCALE * 16, name]
        bench.run_to_end("pgbench", [bench.server.program("pgbench"), *of])
    for script in ("select-only", "tpcb-like"):
        say(f"pgbench: {script}")
        rounds = bench.alternate({
            "dyno": [DYNO, "bench", bench.server.url("dyno"), "--tls-mode", "disable", "--script", script,
                     "--script-option", f"scale={PGBENCH_SCALE * 16}", "--threads", USERS, "--time", "3600s", "--warmup", "0s",
                     "--prepare", "never", "--out", bench.place / f"out-{script}"],
            "pgbench": [bench.server.program("pgbench"), *bench.server.connecting(), "-n", "-b", script, "-M", "prepared",
                        "-c", USERS, "-T", "3600", "pgbench"],
        }, bench.pairs(15))
        bench.keep(f"pgbench-{script}", rounds)
        lines += ["", f"### {script}", "", *compared(rounds, "pgbench", {"dyno": 1.0})]
    return lines[1:]


def compared(rounds, base, goals):
    """The CPU and rate of programs, and their ratios to one of them."""
    lines = [f"{USERS} users; all programs run, each on its own database; in turn, one is measured for 2 s while the others are "
             f"stopped (SIGSTOP); {len(rounds)} rounds. Median (lowest–highest); CPU in µs per statement, as the server counts "
             "them.", "", "| program | user | system | user + system | statements/s |", "|---|---|---|---|---|"]
    for name in rounds[0]:
        of = lambda what: [row[name][what] for row in rounds]
        cells = [*(spread(of(what), 2) for what in ("user", "system", "total")), spread(of("rate"), 0)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", f"| over {base}, round by round | client CPU | goal | statements/s | goal |", "|---|---|---|---|---|"]
    for name, goal in goals.items():
        cpu, rate = ([row[name][what] / row[base][what] for row in rounds] for what in ("total", "rate"))
        met = (verdict(statistics.median(cpu), goal), verdict(statistics.median(rate), 1.0, True)) if goal else ("", "")
        lines.append(f"| {name} | {spread(cpu, 2)} | {met[0]} | {spread(rate, 2)} | {met[1]} |")
    return lines


TITLES = {
    "scripts": "Lua scripts: statements",
    "memory": "Lua scripts: memory",
    "native": "Tests without a database",
    "pgbench": "Scripts of pgbench",
}


if __name__ == "__main__":
    measure.main("drop_in.sh", TITLES, DropInBench, measure.conditions, "drop-in-")
