"""Measures loads that come from several agents. Called by fleet.sh, which documents the options."""

import json
import socket
import statistics
import subprocess

import measure
from measure import DYNO, TABLES, Bench, Run
from results import say, spread, verdict
from server import activity

USERS = 48
RATE = 20_000
STUDY = """title = "{title}"
[server]
url = "{url}"
[data]
tables = {tables}
rows = {rows}
[load]
workload = "{workload}"
warmup = "{warmup}s"
time = "{seconds}s"
nats = "{nats}"
from = [{labels}]
{more}
"""


class FleetBench(Bench):
    """A nats-server and agents, which are idle while others run a load."""

    def __init__(self, args, place):
        super().__init__(args, place)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.nats = f"nats://127.0.0.1:{free.getsockname()[1]}"
        port = self.nats.rsplit(":", 1)[1]
        self.broker = Run(place, "nats-server", ["nats-server", "-a", "127.0.0.1", "-p", port, "-js", "-sd", place / "nats"])
        self.agents = {}
        self.load_once()

    def agent(self, label):
        if label not in self.agents:
            shown = subprocess.run([DYNO, "agents", "--nats", self.nats], capture_output=True, text=True, check=True).stdout
            key = shown.splitlines()[0].rsplit(": ", 1)[1]
            self.agents[label] = Run(self.place, f"agent-{label}", [DYNO, "agent", "--nats", self.nats, "--key", key,
                                                                  "--label", label])
        return self.agents[label]

    def drive(self, labels, seconds, workload, more, warmup=2):
        """Runs a study from these agents; returns the result, with CPU seconds of the agents' measured time."""
        agents = [self.agent(label) for label in labels]
        self.results += 1
        name = f"study-{self.results}"
        study = self.place / f"{name}.toml"
        quoted = ", ".join(f'"{label}"' for label in labels)
        study.write_text(STUDY.format(title=name, url=self.server.url(), tables=TABLES, rows=self.rows, seconds=seconds, warmup=warmup,
                                      workload=workload, nats=self.nats, labels=quoted, more="\n".join(more)))
        before = [sum(activity(pid)[:2]) for pid in (self.broker.process.pid, *(one.process.pid for one in agents))]
        counted = self.server.statements()
        run = self.run_to_end(name, [DYNO, "run", study, "--json", "--out", self.place / f"results-{name}"])
        after = [sum(activity(pid)[:2]) for pid in (self.broker.process.pid, *(one.process.pid for one in agents))]
        result, _ = json.JSONDecoder().raw_decode(run.tail_from("{\n"))
        trial = result["trials"][0]
        statements = self.server.statements() - counted
        used = [end - begin for begin, end in zip(before, after)]
        return trial, {"statements": trial["statements"]["per_s"]["value"], "cpu_us": 1e6 * sum(used[1:]) / statements,
                       "nats_us": 1e6 * used[0] / statements,
                       "late_ms": [one["late_start_ms"] for one in trial["agents"]]}

    def shares(self):
        seconds = 3 if self.quick else 12
        sides = {"one agent": ["solo"], "three agents": ["first", "second", "third"]}
        rows = []
        for number in range(self.pairs(10)):
            row = {}
            for name in (list(sides) if number % 2 else list(sides)[::-1]):
                _, row[name] = self.drive(sides[name], seconds, "oltp_read_write", [f"threads = {USERS}"])
            rows.append(row)
            one, three = row["one agent"], row["three agents"]
            say(f"shares: {three['statements'] / one['statements']:.3f} x statements/s, "
                f"{three['cpu_us'] / one['cpu_us']:.3f} x CPU")
        self.keep("shares", rows)
        of = lambda name, what: [row[name][what] for row in rows]
        over = lambda what: [row["three agents"][what] / row["one agent"][what] for row in rows]
        lines = [f"oltp_read_write with {USERS} users in all, {seconds} s after 2 s of warm-up, in alternating runs on one MariaDB; "
                 f"{len(rows)} pairs. CPU of the agents' processes from before a study to after it, in µs per statement, as the "
                 "server counts them. Median (lowest–highest).", "",
                 "| load from | statements/s | agents' CPU | nats-server's CPU |", "|---|---|---|---|"]
        for name in sides:
            lines.append(f"| {name} | {spread(of(name, 'statements'), 0)} | {spread(of(name, 'cpu_us'), 2)} "
                         f"| {spread(of(name, 'nats_us'), 2)} |")
        spreads = [max(late) - min(late) for late in of("three agents", "late_ms")]
        rates, cpu = over("statements"), over("cpu_us")
        return [*lines, "", "| three agents over one, pair by pair | median (lowest–highest) | goal |", "|---|---|---|",
                f"| statements/s | {spread(rates, 3)} | {verdict(statistics.median(rates), 0.97, True)} |",
                f"| client CPU per statement | {spread(cpu, 3)} | {verdict(statistics.median(cpu), 1.05)} |",
                f"| first arrivals of the agents: latest after earliest, ms | {spread(spreads, 3)} "
                f"| {verdict(max(spreads), 2.0)} |"]

    def arrivals(self):
        seconds = 5 if self.quick else 20
        lines = [f"Point selects that arrive at {RATE:,}/s at constant intervals, from four agents, for {seconds} s. Arrivals are "
                 "transactions that completed or were running or waiting at the end.", "",
                 "| run | transactions/s | arrivals over asked | 99th percentile | first arrivals: latest after earliest | goal |",
                 "|---|---|---|---|---|---|"]
        for number in range(self.pairs(3)):
            trial, got = self.drive([f"open-{agent}" for agent in range(4)], seconds, "oltp_point_select",
                                    [f"rate = {RATE}", "threads = 256", 'arrivals = "constant"'], warmup=0)
            ratio = arrivals(trial) / (RATE * seconds)
            late = max(got["late_ms"]) - min(got["late_ms"])
            say(f"arrivals: {ratio:.5f}")
            met = "met" if 0.999 <= ratio <= 1.001 else "**missed**"
            lines.append(f"| {number + 1} | {trial['transactions']['per_s']['value']:,.0f} | {ratio:.5f} "
                         f"| {trial['response_ms']['p99']:.1f} ms | {late:.3f} ms | 0.999 to 1.001 {met} |")
        return lines


def arrivals(trial):
    """All that were due: completed, running, or waiting for a user at the end."""
    return trial["transactions"]["count"] + trial["unfinished"]["count"] + trial["generator"]["backlog_end"]


TITLES = {
    "shares": "Fleets: three agents against one",
    "arrivals": "Fleets: an open loop from four agents",
}


if __name__ == "__main__":
    measure.main("fleet.sh", TITLES, FleetBench, measure.conditions, "fleet-")
