"""Measures the overhead of the laboratory. Called by lab.sh, which documents the options."""

import copy
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from results import host, options, say, spread, verdict, write

DYNO = os.environ["DYNO"]
SERVER = '[server]\nengine = "mariadb"\nconfig = { innodb_buffer_pool_size = "128M", innodb_flush_log_at_trx_commit = 2 }\n'


class Lab:
    """Runs studies in a temporary directory."""

    def __init__(self, place, is_quick):
        self.place = place
        self.is_quick = is_quick
        self.count = 0
        # Servers run as another user, who must be able to enter it.
        place.chmod(0o755)
        self.env = {**os.environ, "DYNO_CACHE_DIR": str(place / "cache")}

    def start(self, text):
        self.count += 1
        study = self.place / f"study-{self.count}.toml"
        study.write_text(text)
        self.out = self.place / f"out-{self.count}"
        return subprocess.Popen([DYNO, "run", study, "--out", self.out], env=self.env, cwd=self.place,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def run(self, text):
        """Runs a study; returns its trials."""
        process = self.start(text)
        _, errors = process.communicate()
        if process.returncode:
            sys.exit(f"benches/lab.sh: dyno run ended with {process.returncode}:\n{errors}")
        return json.loads((self.out / "result.json").read_text())["trials"]

    def overhead(self):
        pairs, seconds = (2, 2) if self.is_quick else (10, 15)
        trials = self.run(
            f'title = "Overhead"\n{SERVER}[data]\ntables = 4\nrows = 25_000\n[load]\nthreads = 16\nwarmup = "3s"\n'
            f'time = "{seconds}s"\nrepeats = {pairs}\norder = "random"\n[sweep]\n"monitors.enabled" = [true, false]\n')
        tps = {(t["setup"]["planned"]["repeat"], t["setup"]["planned"]["point"]["monitors.enabled"]): t["transactions"]["per_s"]["value"] for t in trials}
        ratios = [tps[repeat, True] / tps[repeat, False] for repeat in range(1, pairs + 1)]
        cost = [t["metrics"]["monitor.cpu_ms"]["mean"] for t in trials if "monitor.cpu_ms" in t["metrics"]]
        median = statistics.median(ratios)
        return [f"| throughput with monitors on / off, {pairs} interleaved pairs of {seconds} s | {spread(ratios, 3)} | "
                f"{verdict(median, 0.98, at_least=True)} |",
                f"| CPU time of the monitors, ms per second | {spread(cost, 2)} | |"]

    def begin(self):
        """From the start of the process to the first transaction."""
        text = (f'title = "Start"\n{SERVER}[data]\ntables = 4\nrows = 25_000\n[load]\nthreads = 16\nwarmup = "0s"\n'
                'time = "5s"\nevents = 1\n')
        self.run(text)
        taken = []
        for _ in range(3 if self.is_quick else 10):
            began = time.time()
            process = self.start(text)
            process.communicate()
            # The first transaction ends the load, and its second is written at once.
            series = next(self.out.glob("trials/*/series.jsonl"))
            first = json.loads(series.read_text().splitlines()[0])
            taken.append(series.stat().st_mtime - began - first["seconds"])
        return [f"| from `dyno run` to the first transaction, with an existing template, s | {spread(taken, 2)} | "
                f"{verdict(statistics.median(taken), 1)} |"]

    def reset(self):
        rows = 50_000 if self.is_quick else 1_000_000
        trials = self.run(
            f'title = "Reset"\n{SERVER}[data]\ntables = 4\nrows = {rows}\n[load]\nwarmup = "0s"\ntime = "1s"\nrepeats = 4\n')
        taken = [t["reset"]["took_s"] for t in trials[1:]]
        gigabytes = trials[0]["reset"]["bytes"] / 1e9
        return [f"| copying {gigabytes:.2f} GB for a trial, s | {spread(taken, 2)} | "
                f"{verdict(statistics.median(taken), 2)} |",
                f"| loading the same data, s | {trials[0]['reset']['build_s']:.1f} | |"]

    def eight(self):
        seconds = 3 if self.is_quick else 20
        (trial,) = self.run(
            f'title = "Eight"\n{SERVER}[data]\ntables = 4\nrows = 25_000\n[load]\nthreads = 8\nwarmup = "3s"\n'
            f'time = "{seconds}s"\n[topology]\ninstances = 8\n')
        counts = [instance["transactions"]["count"] for instance in trial["instances"]]
        assert trial["outcome"]["how"] == "completed" and sum(counts) == trial["transactions"]["count"] and min(counts) > 0
        return [f"| eight servers at once with buffer pools of 128 MB, total tps | {trial['transactions']['per_s']['value']:.0f} "
                f"({min(counts) / seconds:.0f}–{max(counts) / seconds:.0f} each) | all driven, no transaction lost |"]

    def hundred(self, text):
        """Runs a study, and copies its trials as further repeats until there are a hundred."""
        self.run(text)
        result = json.loads((self.out / "result.json").read_text())
        points = result["trials"]
        dirs = sorted(self.out.glob("trials/*"))
        trials = []
        for number in range(1, 101):
            repeat, point = divmod(number - 1, len(points))
            trial = copy.deepcopy(points[point])
            trial["setup"]["planned"].update(number=number, repeat=repeat + 1)
            trials.append(trial)
            if repeat:
                beside = self.out / "trials" / f"{number:03}-copy"
                shutil.copytree(dirs[point], beside)
                (beside / "trial.json").write_text(json.dumps(trial))
        result["trials"] = trials
        result["design"].update(trials=100, repeats=100 // len(points))
        (self.out / "result.json").write_text(json.dumps(result))

    def report(self):
        """The report of a trial of 60 s, copied a hundred times."""
        seconds = 3 if self.is_quick else 60
        self.hundred(f'title = "Report"\n{SERVER}[data]\ntables = 4\nrows = 25_000\n[load]\nthreads = 8\nwarmup = "0s"\n'
                     f'time = "{seconds}s"\n[sweep]\n"topology.instances" = [2]\n')
        taken = []
        for _ in range(5):
            began = time.monotonic()
            subprocess.run([DYNO, "report", self.out], env=self.env, check=True, stderr=subprocess.DEVNULL)
            taken.append(time.monotonic() - began)
        megabytes = (self.out / "report.html").stat().st_size / 1e6
        return [f"| the report of 100 trials of {seconds} s, s | {spread(taken, 2)} | {verdict(statistics.median(taken), 2)} |",
                f"| size of this report, MB | {megabytes:.1f} | {verdict(megabytes, 10)} |"]


def main():
    args = options("lab.sh").parse_args()
    with tempfile.TemporaryDirectory(prefix="dyno-lab-", dir="/var/tmp") as place:
        lab = Lab(pathlib.Path(place), args.quick)
        rows = []
        for part in (lab.overhead, lab.begin, lab.reset, lab.eight, lab.report):
            say(part.__name__)
            rows += part()
            say(rows[-1])
    lines = ["## The overhead of the laboratory", "", "Private MariaDB servers on the same host; median (lowest–highest).", "",
             "| what | measured | goal |", "|---|---|---|", *rows, "",
             f"{host()} shared by all servers and dyno."]
    write(args, "lab", lines, "lab.sh")


if __name__ == "__main__":
    main()
