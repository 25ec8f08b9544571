"""Measures what a busy generator adds to response times. Called by stamp.sh, which documents the options."""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from results import host, options, say, spread, verdict, write
from server import Server, fail

DYNO = os.environ["DYNO"]
RIVALS = os.environ["RIVALS"]
HOLD_US = 1000
ROWS = 1000
KERNEL, PROGRAM = "kernel", "program"


@contextlib.contextmanager
def on_cpu(cpu):
    """Programs started in this context run only on this CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def started(command, **more):
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)], **more)


@contextlib.contextmanager
def proxy_of(server):
    proxy = started([f"{RIVALS}/slow_proxy", f"127.0.0.1:{server.port}", 0, HOLD_US],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        port = int(proxy.stdout.readline() or fail("the proxy did not start"))
        yield server.url().replace(f":{server.port}/", f":{port}/"), proxy.stdout
    finally:
        proxy.stdin.close()
        proxy.wait()


@contextlib.contextmanager
def hog():
    """A program that keeps its CPU busy."""
    process = started(["sh", "-c", "while :; do :; done"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


class Bench:
    def __init__(self, place, url, told, seconds):
        self.place, self.url, self.told, self.seconds = place, url, told, seconds
        self.results = 0

    def truth(self):
        """p99 in the proxy's report on the last load; it prints a line whenever a connection closes."""
        while True:
            requests, _, p99_us = self.told.readline().split()
            if int(requests) > 50 * self.seconds:
                return float(p99_us) / 1000

    def dyno(self, *more):
        self.results += 1
        out = self.place / f"results-{self.results}"
        ran = subprocess.run([DYNO, "bench", self.url, "--tls-mode", "disable", "--rows", str(ROWS), "--tables", "1",
                              "--workload", "oltp_point_select", "--no-monitors", "--out", str(out), *more],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if ran.returncode:
            fail(f"dyno failed ({ran.returncode}):\n{ran.stderr[-2000:]}")
        return out

    def measured(self, reply_time):
        out = self.dyno("--prepare", "never", "--threads", "1", "--workers", "1", "--warmup", "1s",
                        "--time", f"{self.seconds}s", "--reply-time", reply_time)
        trial = json.loads((out / "result.json").read_text())["trials"][0]
        timed_by = trial["setup"]["reply_time"]
        if timed_by != reply_time:
            fail(f"replies were timed by the {timed_by}, not by the {reply_time}")
        delay = trial["generator"]["delay_ms"]
        return {"p50": trial["response_ms"]["p50"], "p99": trial["response_ms"]["p99"],
                "truth": self.truth(), "delay": delay and delay["p99"]}


def rounds(bench, count):
    found = {}
    for number in range(count):
        for beside, context in (("alone", contextlib.nullcontext), ("hog", hog)):
            with context():
                for reply_time in (KERNEL, PROGRAM):
                    got = bench.measured(reply_time)
                    found.setdefault((beside, reply_time), []).append(got)
                    say(f"round {number + 1}, {beside}, {reply_time}: p99 {got['p99']:.3f} ms, reference {got['truth']:.3f} ms")
    return found


def lines(found, version):
    text = ["## What a busy generator adds to response times", "",
            f"Point selects of one user on a server that takes {HOLD_US / 1000:.0f} ms for each and has its own CPU. dyno runs "
            "on another CPU, alone and together with a program that keeps it busy. Median (lowest–highest) of "
            f"{len(found['alone', KERNEL])} rounds, ms. The reference is measured by a proxy in front of the server: from "
            "a request's arrival, as the kernel stamped it, until its reply is sent.", "",
            "| replies timed by | on dyno's CPU | response time p50 | response time p99 | reference p99 | generator's delay p99 |",
            "|---|---|---|---|---|---|"]
    for (beside, reply_time), got in found.items():
        def column(name):
            return spread([one[name] for one in got], 3) if got[0][name] is not None else ""
        what = {"alone": "nothing else", "hog": "a busy program"}[beside]
        text.append(f"| the {reply_time} | {what} | {column('p50')} | {column('p99')} | {column('truth')} | "
                    f"{column('delay')} |")

    def off(reply_time):
        return [got["p99"] / got["truth"] for got in found["hog", reply_time]]

    def within(ratios):
        ratio = statistics.median(ratios)
        return f"0.90–1.10 {'met' if 0.9 <= ratio <= 1.1 else '**missed**'}"
    kernel, program = off(KERNEL), off(PROGRAM)
    text += ["", "| p99 with the busy program / reference p99, round by round | median (lowest–highest) | goal |",
             "|---|---|---|",
             f"| timed by the kernel | {spread(kernel, 2)} | {within(kernel)} |",
             f"| timed by the program | {spread(program, 2)} | "
             f"{verdict(statistics.median(program), 2, at_least=True)} |", "",
             f"{host()}, Linux {os.uname().release}; {version}."]
    return text


def main():
    parser = options("stamp.sh")
    parser.add_argument("--rounds", type=int)
    args = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        fail("this needs two CPUs")
    with tempfile.TemporaryDirectory() as directory, on_cpu(cpus[1]):
        place = pathlib.Path(directory)
        server = Server(place)
        try:
            with proxy_of(server) as (url, told), on_cpu(cpus[0]):
                bench = Bench(place, url, told, 3 if args.quick else 10)
                bench.dyno("--prepare", "only")
                found = rounds(bench, args.rounds or (1 if args.quick else 5))
        finally:
            version = server.version()
            server.stop()
    write(args, "stamp", lines(found, version), "stamp.sh")


if __name__ == "__main__":
    main()
