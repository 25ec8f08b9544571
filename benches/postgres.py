"""Compares dyno on PostgreSQL with sysbench and pgbench. Called by postgres.sh, which documents the options."""

import statistics

import measure
from measure import NAMES, TABLES, USERS, Bench
from results import say, spread, verdict
from server import Postgres

# Workloads, and the highest ratio of client CPU per statement to sysbench's that meets the goal.
CASES = {"oltp_read_write": 0.60, "oltp_point_select": 0.65}
PGBENCH_GOAL = 0.90
LOAD_GOAL = 0.50
# About 100 MB, like sysbench's data.
PGBENCH_SCALE = 4


class PostgresBench(Bench):
    def __init__(self, args, place):
        super().__init__(args, place, Postgres(place))

    def pgbench(self, more):
        return [Postgres.program("pgbench"), *self.server.connecting(), *more, "pgbench"]

    def pgbench_run(self, seconds):
        return self.pgbench(["-n", "-S", "-M", "prepared", "-c", USERS, "-T", seconds])

    def statements(self):
        """CPU and rate of each program, in alternating windows."""
        # Each program has its own database, because one that is stopped within a transaction holds locks.
        for name in ("dyno", "sysbench", "pgbench"):
            self.server.ask(f"CREATE DATABASE {name}")
        for name in ("dyno", "sysbench"):
            self.run_to_end("dyno", self.dyno(["--prepare", "only"], self.rows, name))
        self.run_to_end("pgbench", self.pgbench(["-i", "-q", "-s", PGBENCH_SCALE]))
        rows = {}
        for workload in CASES:
            say(f"{workload}, {USERS} users")
            commands = {"dyno": self.dyno_run(workload, USERS, 3600, "dyno"),
                        "sysbench": self.sysbench_run(workload, USERS, 3600, "sysbench")}
            if workload == "oltp_point_select":
                commands["pgbench"] = self.pgbench_run(3600)
            rows[workload] = self.alternate(commands, self.pairs(15))
        self.keep("postgres", list(rows.items()))
        return statements_text(rows)

    def sysbench_run(self, workload, users, seconds, database="sbtest"):
        # --db-ps-mode has no effect on the pgsql driver of Debian's sysbench, which always prepares statements.
        more = [f"--time={seconds}", "--rand-type=special", "run"]
        return self.sysbench(workload, users, self.rows, more, database)

    def loading(self):
        return self.load(LOAD_GOAL)


def statements_text(rows):
    count = len(next(iter(rows.values())))
    lines = [f"{USERS} users on {TABLES} tables, default options (pgbench: `-S -M prepared` on its own table). All programs "
             f"run, each on its own database; in turn, one is measured for 2 s while the others are stopped (SIGSTOP); "
             f"{count} rounds. Median (lowest–highest); CPU in µs per statement. Statements are counted by "
             "pg_stat_statements."]
    for workload, rounds in rows.items():
        lines += ["", f"### {NAMES[workload]}", "", "| program | user | system | user + system | statements/s | server CPU |",
                  "|---|---|---|---|---|---|"]
        for name in rounds[0]:
            of = lambda what: [row[name][what] for row in rounds]
            cells = [spread(of(what), 2) for what in ("user", "system", "total")]
            cells += [spread(of("rate"), 0), spread(of("server"), 1)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines += ["", "| ratio, round by round | median (lowest–highest) | goal |", "|---|---|---|"]
        for other in [name for name in rounds[0] if name != "dyno"]:
            cpu_goal = CASES[workload] if other == "sysbench" else PGBENCH_GOAL
            for title, what, goal, at_least in (("client CPU", "total", cpu_goal, False), ("statements/s", "rate", 1.0, True)):
                ratios = [row["dyno"][what] / row[other][what] for row in rounds if row[other][what]]
                lines.append(f"| dyno / {other}: {title} | {spread(ratios, 2)} | "
                             f"{verdict(statistics.median(ratios), goal, at_least)} |")
    return lines


PARTS = {"statements": "PostgreSQL: statements", "loading": "PostgreSQL: loading data"}


def conditions(server_version):
    return (f"{measure.shared_host()}; {measure.version('sysbench')}, PostgreSQL and pgbench {server_version}; "
            "TCP over loopback, distribution special.")


if __name__ == "__main__":
    measure.main("postgres.sh", PARTS, PostgresBench, conditions, "postgres-")
