"""Runs of the papers' recipes, and the CSV files in docs/papers that the page is made from."""

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DYNO = Path(os.environ.get("DYNO", ROOT / "target" / "release" / "dyno"))
FAULT_PHASES = ("before", "during", "after")
# What must be the same in a result and in its recipe, and the build in all results.
PINNED = ("study", "study sha256", "set", "build")


class Refused(Exception):
    """A result that is not of its recipe."""


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
    """What identifies a run, but for the build."""
    path = study(name, recipe)
    return {"study": path, "study sha256": sha256(ROOT / path), "set": " ".join(overrides(recipe, short))}


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


def is_complete(result):
    found = content(result)
    return found is not None and len(found["trials"]) >= found["design"]["trials"]


def run(results, name, recipe, short=False):
    """Runs a recipe, or continues it; a result of another study, other overrides, or another build is refused."""
    results.mkdir(parents=True, exist_ok=True)
    result, log, pinned = (results / f"{name}{end}" for end in ("", ".log", ".recipe.json"))
    head = expected(name, recipe, short) | {"build": build()}
    if result.exists():
        refuse_if_different(result, json.loads(pinned.read_text()) if pinned.exists() else {}, head)
    if is_complete(result):
        return result
    pinned.write_text(json.dumps(head, indent=1) + "\n")
    words = [DYNO, "run", ROOT / head["study"], "--out", result]
    words += ["--resume"] if (result / "study.toml").exists() else []
    words += [word for one in overrides(recipe, short) for word in ("--set", one)]
    print(f"== {name}", end="", flush=True)
    begin = time.monotonic()
    with log.open("w") as file:
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            code = process.wait()
        except KeyboardInterrupt:
            # dyno was interrupted, too, and takes its servers down.
            process.wait()
            sys.exit(f"\npapers: interrupted in {name}; run again to continue")
    print(f": exit code {code} after {time.monotonic() - begin:.0f} s", flush=True)
    return result


def lines_of(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def columns_of(claim):
    """The columns of the export that a claim or a chart reads: of, over."""
    if "fault" in claim:
        return [f"fault[{claim['fault']}].{claim[side]}_tps" for side in ("of", "over")]
    return [claim["column"], claim.get("over_column", claim["column"])]


def needed(data, name):
    """The columns that the page reads from a recipe's results."""
    charts = (chart for paper in data["paper"] for chart in paper.get("chart", []))
    readers = [one for one in [*data["claim"], *charts] if one.get("recipe") == name]
    specs = [column for one in readers for column in columns_of(one)]
    return list(dict.fromkeys(["tps", "response_ms.mean", *(one for spec in specs for one in spec.split(" + "))]))


def fault_rates(lines, trial):
    """Throughput around each fault of a trial. Where it never fell, or never came back, one phase takes the other's."""
    rates = {}
    for line in lines:
        if line["number"] == trial and f"fault[{line['fault']}].before_tps" not in rates:
            found = {phase: line[f"recovery.{phase}_tps"] for phase in FAULT_PHASES}
            found["during"], found["after"] = found["during"] or found["after"], found["after"] or found["during"]
            rates |= {f"fault[{line['fault']}].{phase}_tps": rate for phase, rate in found.items()}
    return rates


def others_pct(line, cpus):
    """The share of all CPUs that programs besides servers and dyno used."""
    used = sum(float(value) for name, value in line.items() if re.fullmatch(r"other\[.*\]\.cpu", name) and value)
    return min(100.0, used / max(cpus, 1))


def git_description():
    words = ["git", "-C", ROOT, "describe", "--always", "--dirty"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip() or "unknown"


def export(data, name, result, to):
    """Writes a result as a CSV file: a head that says what was run where, then a line for each trial."""
    found = content(result)
    env = found["environment"]
    setups = [trial["setup"] for trial in found["trials"]]
    memory = f"{(env.get('memory_bytes') or 0) / 2**30:.0f} GiB of memory"
    host = [f"{env.get('cores', '?')} CPUs", *(env.get(key) for key in ("cpu_model", "os", "kernel", "virtualisation")), memory]
    head = json.loads(result.with_name(f"{name}.recipe.json").read_text()) | {
        "commit": git_description(),
        "servers": ", ".join(dict.fromkeys(setup["engine"] for setup in setups if setup["engine"])),
        "host": ", ".join(str(one) for one in host if one),
        "date": env["started"],
        "planned trials": found["design"]["trials"],
    }
    axes, columns = found["design"]["axes"], needed(data, name)
    header = ["number", *axes, "repeat", "outcome", "reason", "emulated", "steal_pct", "others_pct", *columns]
    faults = lines_of(result / "faults.csv")
    to.mkdir(parents=True, exist_ok=True)
    with (to / f"{name}.csv").open("w", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in head.items())
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for line, setup in zip(lines_of(result / "results.csv"), setups, strict=True):
            line |= fault_rates(faults, line["number"])
            line |= {
                "emulated": "yes" if setup["emulated"] else "no",
                "steal_pct": line.get("cpu.steal", ""),
                "others_pct": f"{others_pct(line, env.get('cores') or 1):.2f}",
            }
            writer.writerow([" ".join(line.get(column, "").split()) for column in header])


def read(path):
    """(head, trials) of a CSV file in docs/papers."""
    lines = path.read_text().splitlines()
    heads = [line[2:].split(": ", 1) for line in lines if line.startswith("# ")]
    trials = csv.DictReader(line for line in lines if not line.startswith("# "))
    return dict(heads), list(trials)


def read_all(data, place, short=False):
    """{recipe: (head, trials)} of all CSV files, which must be those of the recipes, and of one build."""
    found = {}
    for path in sorted(place.glob("*.csv")):
        name = path.stem
        if name not in data["recipe"]:
            raise Refused(f"{path}: no recipe has this name; remove it")
        head, trials = read(path)
        refuse_if_different(path, head, expected(name, data["recipe"][name], short))
        first = next(iter(found.values()), (head,))[0]
        refuse_if_different(path, head, {"build": first.get("build")})
        missing = [column for column in needed(data, name) if trials and column not in trials[0]]
        if missing:
            raise Refused(f"{path}: no column {missing[0]!r}; run scripts/papers.py RESULTS to export it again")
        if len(trials) != int(head["planned trials"]):
            raise Refused(f"{path}: {len(trials)} of {head['planned trials']} trials; export it again")
        found[name] = (head, trials)
    return found
