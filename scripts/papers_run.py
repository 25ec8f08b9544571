"""Runs of the papers' recipes, and the CSV files in docs/papers that the page is made from."""

import csv
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DYNO = Path(os.environ.get("DYNO", ROOT / "target" / "release" / "dyno"))
# What must be the same in a result and in its recipe.
PINNED = ("study", "study sha256", "set", "window", "build")
# How late a fault may be asked for, or a second end, in seconds.
LATE_S = 0.1


class Refused(Exception):
    """A result that does not match its recipe."""


def overrides(recipe, short=False):
    return recipe.get("set", []) + (recipe.get("short", []) if short else [])


def study(name, recipe):
    return f"studies/{recipe.get('of', name)}.toml"


def command(name, recipe):
    sets = "".join(f" --set '{one}'" for one in recipe.get("set", []))
    return f"dyno run {study(name, recipe)}{sets}"


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def expected(name, recipe, short=False):
    """What identifies a run, except for the build."""
    path = study(name, recipe)
    return {"study": path, "study sha256": sha256(ROOT / path), "set": " ".join(overrides(recipe, short))}


def windows_of(data, name):
    """The windows around faults, if claims of a recipe use them: its export contains means over the windows."""
    has_faults = any("fault" in claim and claim.get("recipe") == name for claim in data["claim"])
    return {"window": json.dumps(data["window"])} if has_faults else {}


def build():
    version = subprocess.run([DYNO, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{version}, program sha256 {sha256(DYNO)[:16]}"


def refuse_if_different(where, found, wanted):
    for key in PINNED:
        if key in wanted and found.get(key) != wanted[key]:
            raise Refused(f"{where}: {key} is {found.get(key)!r}, not {wanted[key]!r}; remove it and run its recipe again")


def content(result):
    path = result / "result.json"
    return json.loads(path.read_text()) if path.exists() else None


def is_complete(result, whole=False):
    """Whether a result has all its trials; with `whole`, whether none of them failed."""
    found = content(result)
    ended = [trial for trial in found["trials"] if not whole or trial["outcome"]["how"] == "completed"] if found else []
    return bool(found) and len(ended) >= found["design"]["trials"]


def run(results, name, recipe, short=False):
    """Runs a recipe, or continues it, and repeats failed trials once. Refuses a result of another study, other
    overrides, or another build."""
    results.mkdir(parents=True, exist_ok=True)
    result, log, pinned = (results / f"{name}{end}" for end in ("", ".log", ".recipe.json"))
    head = expected(name, recipe, short) | {"build": build()}
    if result.exists():
        refuse_if_different(result, json.loads(pinned.read_text()) if pinned.exists() else {}, head)
    else:
        pinned.write_text(json.dumps(head | {"commit": git_description()}, indent=1) + "\n")
    for _ in range(2):
        if not is_complete(result, whole=True):
            words = [DYNO, "run", ROOT / head["study"], "--out", result]
            words += ["--resume"] if (result / "study.toml").exists() else []
            run_dyno(name, words + [word for one in overrides(recipe, short) for word in ("--set", one)], log)
    return result


def run_dyno(name, words, log):
    """Runs dyno, and forwards the signals that end this program, so that dyno stops its servers; a second signal ends
    dyno at once."""
    print(f"== {name}", end="", flush=True)
    begin, received = time.monotonic(), []
    with log.open("a") as file:
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

        def forward(number, _):
            received.append(number)
            process.send_signal(number)

        kept = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
        code = process.wait()
        for number, handler in kept.items():
            signal.signal(number, handler)
    if received:
        sys.exit(f"\npapers: interrupted in {name}; run again to continue")
    print(f": exit code {code} after {time.monotonic() - begin:.0f} s", flush=True)


def lines_of(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def columns_of(claim):
    """The columns of the export that a claim or a chart reads, for `of` and `over`."""
    if "fault" in claim:
        faults = {"of": claim["fault"], "over": claim.get("over_fault", claim["fault"])}
        return [f"fault[{number}].{claim[side]}_tps" for side, number in faults.items()]
    return [claim["column"], claim.get("over_column", claim["column"])]


def needed(data, name):
    """The columns that the page reads from a recipe's results."""
    charts = (chart for paper in data["paper"] for chart in paper.get("chart", []))
    readers = [one for one in [*data["claim"], *charts] if one.get("recipe") == name]
    specs = [column for one in readers for column in columns_of(one)]
    return list(dict.fromkeys(["tps", "response_ms.mean", *(one for spec in specs for one in re.split(" [+/] ", spec))]))


def rate(seconds, begin, end):
    """Mean throughput from `begin` to `end`, or "" if the load was not measured throughout."""
    # `t_s` is when a second begins.
    parts = [(max(0.0, min(one["t_s"] + one["seconds"], end) - max(one["t_s"], begin)), one["tps"]) for one in seconds]
    covered = sum(length for length, _ in parts)
    return str(sum(length * tps for length, tps in parts) / covered) if covered > end - begin - LATE_S else ""


def fault_rates(faults, seconds, windows):
    """Throughput in fixed windows around each fault of a trial. They are relative to when the fault was due, because a
    planned fault has a cost before it takes effect; `after` ends with the next fault or the load."""
    seconds = [one for one in seconds if one["phase"] == "measure"]
    due = {one["number"]: one["asked_s"] for one in faults if one["asked_s"] is not None}
    rates = {}
    for number, at in due.items():
        last = seconds[-1]["t_s"] + seconds[-1]["seconds"] if seconds else at
        end = min([one for one in due.values() if one > at], default=last)
        during, after = at + windows["during"], end - windows["after"]
        rates[f"fault[{number}].before_tps"] = rate(seconds, at - windows["before"], at)
        rates[f"fault[{number}].during_tps"] = rate(seconds, at, during)
        rates[f"fault[{number}].after_tps"] = rate(seconds, after, end) if after >= during - LATE_S else ""
    return rates


def seconds_of(result, number):
    path = next((result / "trials").glob(f"{int(number):03}-*/series.jsonl"), None)
    return [json.loads(line) for line in path.read_text().splitlines()] if path else []


def others_pct(line, cpus):
    """The share of all CPUs that programs other than servers and dyno used; "" without monitors."""
    if not line.get("cpu.idle"):
        return ""
    used = sum(float(value) for name, value in line.items() if re.fullmatch(r"other\[.*\]\.cpu", name) and value)
    return f"{min(100.0, used / cpus):.2f}"


def cpu_without_dyno(line, cpus):
    """CPU time of the host without the load generator's, in % of one CPU; "" without monitors."""
    user, system, own = (line.get(name) for name in ("cpu.user", "cpu.system", "generator.cpu"))
    return str((float(user) + float(system)) * cpus - float(own)) if user and system and own else ""


def git_description():
    words = ["git", "-C", ROOT, "describe", "--always", "--dirty"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip() or "unknown"


def export(data, name, result, to):
    """Writes a result as a CSV file: comments that say what ran where, then a line for each trial."""
    found = content(result)
    env = found["environment"]
    setups = [trial["setup"] for trial in found["trials"]]
    memory = f"{(env.get('memory_bytes') or 0) / 2**30:.0f} GiB of memory"
    host = [f"{env.get('cores', '?')} CPUs", *(env.get(key) for key in ("cpu_model", "os", "kernel", "virtualisation")), memory]
    head = json.loads(result.with_name(f"{name}.recipe.json").read_text()) | {
        "servers": ", ".join(dict.fromkeys(setup["engine"] for setup in setups if setup["engine"])),
        "host": ", ".join(str(one) for one in host if one),
        "date": env["started"],
        "planned trials": found["design"]["trials"],
    } | windows_of(data, name)
    axes, columns = found["design"]["axes"], needed(data, name)
    header = ["number", *axes, "repeat", "outcome", "reason", "emulated", "steal_pct", "others_pct", *columns]
    cpus = env.get("cores") or 1
    to.mkdir(parents=True, exist_ok=True)
    with (to / f"{name}.csv").open("w", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in head.items())
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for line, trial in zip(lines_of(result / "results.csv"), found["trials"], strict=True):
            if trial.get("faults"):
                line |= fault_rates(trial["faults"], seconds_of(result, line["number"]), data["window"])
            line |= {
                "emulated": "yes" if trial["setup"]["emulated"] else "no",
                "steal_pct": line.get("cpu.steal", ""),
                "others_pct": others_pct(line, cpus),
                "cpu_without_dyno": cpu_without_dyno(line, cpus),
            }
            writer.writerow([" ".join(line.get(column, "").split()) for column in header])


def read(path):
    """(head, trials) of a CSV file in docs/papers."""
    lines = path.read_text().splitlines()
    heads = [line[2:].split(": ", 1) for line in lines if line.startswith("# ")]
    trials = csv.DictReader(line for line in lines if not line.startswith("# "))
    return dict(heads), list(trials)


def read_all(data, place, short=False):
    """{recipe: (head, trials)} of all CSV files. Refuses files that do not match their recipe."""
    found = {}
    for path in sorted(place.glob("*.csv")):
        name = path.stem
        if name not in data["recipe"]:
            raise Refused(f"{path}: no recipe has this name; remove it")
        head, trials = read(path)
        refuse_if_different(path, head, expected(name, data["recipe"][name], short) | windows_of(data, name))
        missing = [column for column in needed(data, name) if trials and column not in trials[0]]
        if missing:
            raise Refused(f"{path}: no column {missing[0]!r}; run scripts/papers.py RESULTS to export it again")
        if len(trials) != int(head["planned trials"]):
            raise Refused(f"{path}: {len(trials)} of {head['planned trials']} trials; export it again")
        found[name] = (head, trials)
    return found
