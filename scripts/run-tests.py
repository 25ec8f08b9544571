#!/usr/bin/env python3
"""Run the workspace's tests side by side. ./test calls this.

    scripts/run-tests.py JOBS LOG BUILT MEMORY

cargo test runs one program after the other, but most tests wait for their servers rather than for a CPU. Runs the
programs that cargo has built, according to its messages in the file BUILT: JOBS processes at a time, each one test
after the other, which are all unit tests of a crate, or one module of its integration tests. Shows the output of a
process only if a test in it fails; LOG gets everything. All tests run; the exit code is 1 if any of them fails.
MEMORY is a directory in memory, or empty: most of the long processes have their temporary files there, because servers
that run for seconds cost a file system on a disk much CPU time.
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

CRATES = pathlib.Path(__file__).resolve().parent.parent / "crates"
# About how many seconds the longest processes take on two busy CPUs; ./test shows what all of them take. The longest is
# started first, so that no long one is left when the others have ended.
SECONDS = {
    "dyno/tests/lab/guests.rs": 600,
    "dyno/tests/clusters/failure_studies.rs": 540,
    "dyno/tests/clusters/quorum.rs": 500,
    "dyno/tests/lab/turns.rs": 460,
    "dyno/tests/clusters/patroni.rs": 450,
    "dyno/tests/clusters/failover.rs": 390,
    "report/tests/integration/browser.rs": 390,
    "dyno/tests/clusters/host_faults.rs": 380,
    "dyno/tests/lab/studies.rs": 310,
    "dyno/tests/lab/hosts.rs": 300,
    "lab/src/lib.rs": 280,
    "dyno/tests/clusters/clusters.rs": 260,
    "dyno/tests/clusters/ledger.rs": 260,
    "dyno/tests/clusters/faults.rs": 250,
    "engine/tests/integration/loading.rs": 240,
    "dyno/tests/lab/disks.rs": 230,
    "lab/tests/integration/servers.rs": 230,
    "dyno/tests/clusters/hosts.rs": 220,
    "dyno/tests/lab/fleet.rs": 210,
    "dyno/tests/lab/kill.rs": 200,
    "lab/tests/integration/template.rs": 200,
    "dyno/tests/lab/platforms.rs": 190,
    "dyno/tests/lab/papers.rs": 190,
    "dyno/tests/clusters/chaos.rs": 170,
    "dyno/tests/cli/find_max.rs": 170,
    "dyno/tests/bench/mysql.rs": 170,
    "dyno/tests/lab/flush.rs": 160,
    "dyno/tests/bench/bad_input.rs": 150,
    "dyno/tests/lab/resume.rs": 140,
    "dyno/tests/bench/errors.rs": 140,
    "dyno/tests/lab/servers.rs": 140,
    "lab/tests/integration/access.rs": 140,
    "dyno/tests/clusters/follow.rs": 120,
    "dyno/tests/bench/counters.rs": 110,
    "measure/tests/integration/coverage.rs": 100,
    "dyno/tests/bench/guides.rs": 90,
    "dyno/tests/sysbench/bundled.rs": 70,
    "dyno/tests/lab/volumes.rs": 70,
    "dyno/tests/bench/scripts.rs": 70,
    "dyno/tests/lab/agents.rs": 70,
    "dyno/tests/bench/habits.rs": 60,
    "dyno/tests/clusters/recovery.rs": 60,
    "dyno/tests/bench/stopping.rs": 60,
    "dyno/tests/sysbench/beside.rs": 60,
    "client/tests/integration/statements.rs": 50,
    "client/tests/integration/logins.rs": 50,
    "dyno/tests/lab/networks.rs": 50,
    "dyno/tests/bench/postgres.rs": 50,
}
# Those of them that are about disks, limit a server's memory, or make or plan file systems and clusters that could grow
# large: dyno counts what they could take of a file system in memory as memory.
ON_DISK = {
    "dyno/tests/bench/guides.rs",
    "dyno/tests/clusters/failure_studies.rs",
    "dyno/tests/clusters/host_faults.rs",
    "dyno/tests/clusters/hosts.rs",
    "dyno/tests/lab/disks.rs",
    "dyno/tests/lab/flush.rs",
    "dyno/tests/lab/hosts.rs",
    "dyno/tests/lab/kill.rs",
    "dyno/tests/lab/networks.rs",
    "dyno/tests/lab/platforms.rs",
    "dyno/tests/lab/studies.rs",
    "dyno/tests/lab/volumes.rs",
}
# On a stable compiler, libtest reports how long each test took only if RUSTC_BOOTSTRAP is set.
OPTIONS = ["-Z", "unstable-options", "--report-time", "--test-threads=1", "--exact"]


def programs(built):
    """The test programs that cargo has built, each with its package's directory and its source; benchmarks are only linted."""
    messages = [json.loads(line) for line in pathlib.Path(built).read_text().splitlines()]
    if not messages or messages[-1] != {"reason": "build-finished", "success": True}:
        sys.exit("run-tests: the build failed")
    for message in messages:
        is_test = message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]
        if is_test and message["target"]["kind"] != ["bench"]:
            directory = pathlib.Path(message["manifest_path"]).parent
            yield directory, pathlib.Path(message["target"]["src_path"]), message["executable"]


def parts(directory, source, program):
    """What a program is run as: each process's name, such as lab/tests/integration/servers.rs, and its tests."""
    name = source.relative_to(directory.parent)
    if source.name != "main.rs" or name.parts[1] != "tests":
        return {str(name): []}
    listed = subprocess.run([program, "--list", "--format=terse"], stdout=subprocess.PIPE, text=True, check=True)
    tests = [line.removesuffix(": test") for line in listed.stdout.splitlines()]
    module = lambda test: str(name.with_name(test.split("::")[0] + ".rs"))
    return {module: list(of) for module, of in itertools.groupby(sorted(tests), module)}


def run(memory, name, tests, directory, program):
    """Runs tests of a program as cargo test would, all without a list.

    Returns whether its tests passed, its output under cargo's heading, and its times; CPU time includes its servers.
    """
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1", "CARGO_MANIFEST_DIR": str(directory)}
    if memory and name in SECONDS and name not in ON_DISK:
        environment["TMPDIR"] = memory
    began = time.monotonic()
    # A pipe would be open until the last process ends that a test has left behind.
    with tempfile.TemporaryFile() as written:
        running = subprocess.Popen([program, *OPTIONS, *tests], cwd=directory, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=written, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        written.seek(0)
        output = written.read().decode(errors="replace")
    heading = f"     Running {name} ({pathlib.Path(program).name})\n"
    if running.returncode and "test result: FAILED" not in output:
        output += f"\ntest result: FAILED. The program ended with {running.returncode}.\n"
    took_s = time.monotonic() - began
    return running.returncode == 0, heading + output, f"{took_s:7.1f} s {usage.ru_utime + usage.ru_stime:7.1f} s CPU"


def main():
    jobs, log, built, memory = sys.argv[1:]
    gone = [name for name in [*SECONDS, *ON_DISK] if not (CRATES / name).exists()]
    if gone:
        sys.exit(f"run-tests: {gone[0]} does not exist")
    processes = [(name, tests, directory, program) for directory, source, program in programs(built)
                 for name, tests in parts(directory, source, program).items()]
    processes.sort(key=lambda process: -SECONDS.get(process[0], 0))
    passed = True
    with open(log, "a") as log, concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        runs = [pool.submit(run, memory, *process) for process in processes]
        try:
            for ended in concurrent.futures.as_completed(runs):
                is_ok, output, times = ended.result()
                passed &= is_ok
                log.write(output)
                log.flush()
                heading = output.split(" (", 1)[0].strip().removeprefix("Running ")
                print(f"{'passed' if is_ok else 'FAILED'} {times}  {heading}", flush=True)
                if not is_ok:
                    print(output, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            sys.exit(130)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
