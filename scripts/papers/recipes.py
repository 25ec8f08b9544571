"""Runs the recipes, and keeps what they measured in docs/papers/NAME.csv."""

import csv
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "papers"
DYNO = os.environ.get("DYNO", str(ROOT / "target" / "release" / "dyno"))
# Above this share of CPU time stolen by other virtual machines, in percent, a trial does not count.
MOST_STEAL = 5.0
FAULTS = ("before_tps", "during_tps", "after_tps", "outage_s", "first_write_s", "rejoined_s", "redundant_s")
COMMON = ["number", "variant", "repeat", "outcome", "reason", "cpu.steal", "others.cpu", "platform"]


class Refused(Exception):
    """A result that is not that of its recipe."""


class Recipe:
    """A run of a study with overrides."""

    def __init__(self, name, entry, short=False):
        self.name = name
        self.study = entry.get("of", name)
        self.minutes = entry["minutes"]
        self.overrides = entry["set"] + (entry.get("short", []) if short else [])

    @property
    def path(self):
        return ROOT / "studies" / f"{self.study}.toml"

    def command(self, path=None):
        """The words of the command without a program."""
        sets = [word for one in self.overrides for word in ("--set", one)]
        return ["run", str(path or f"studies/{self.study}.toml"), *sets]

    def shown(self):
        return shlex.join(["dyno", *self.command()])

    def origin(self):
        """What a result must have in common with its recipe."""
        return {
            "study": f"{self.study}.toml {hashlib.sha256(self.path.read_bytes()).hexdigest()[:16]}",
            "overrides": shlex.join(self.overrides),
        }


def build():
    """Identifies the program: the last commit that changed it, and whether there are further changes."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    places = ["--", "crates", "Cargo.lock"]
    changed = "-changed" if git("status", "--porcelain", *places) else ""
    return git("log", "-1", "--format=%h", "--abbrev=12", *places) + changed


def run(recipe, results, of_build):
    """Runs a recipe, or what an earlier run left of it; returns its result directory."""
    result, origin = results / recipe.name, results / f"{recipe.name}.json"
    now = {**recipe.origin(), "build": of_build}
    if origin.exists() and json.loads(origin.read_text()) != now:
        sys.exit(f"{result} is of another study, other overrides, or another build: remove it and {origin}")
    origin.write_text(json.dumps(now))
    if is_complete(result):
        return result
    resume = ["--resume"] if (result / "result.json").exists() else []
    command = [DYNO, *recipe.command(recipe.path), "--out", result, *resume]
    print(f"{time.strftime('%H:%M:%S')} {recipe.name}, about {recipe.minutes} minutes", file=sys.stderr, flush=True)
    begin = time.monotonic()
    with (results / f"{recipe.name}.log").open("a") as log:
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
    took = (time.monotonic() - begin) / 60
    print(f"{time.strftime('%H:%M:%S')} {recipe.name}: exit code {done.returncode} after {took:.1f} minutes", file=sys.stderr)
    if done.returncode == 4:
        sys.exit(f"{recipe.name} was interrupted; the same command continues")
    return result


def content(result):
    path = result / "result.json"
    return json.loads(path.read_text()) if path.exists() else None


def is_complete(result):
    found = content(result)
    return found is not None and len(found["trials"]) >= found["design"]["trials"]


def lines_of(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def export(recipe, result, columns, path, of_build):
    """Writes a line for each trial, with the columns that the page needs, below what makes the result its recipe's."""
    found = content(result)
    if found is None:
        raise Refused(f"{recipe.name} has no result: see {result}.log")
    lines = [trial_line(line, found, lines_of(result / "faults.csv")) for line in lines_of(result / "results.csv")]
    axes = list(dict.fromkeys(key for line in lines for key in line["point"]))
    extra = list(dict.fromkeys(key for line in lines for key in line if re.match(r"fault\d", key)))
    host = found["environment"]
    head = {
        **recipe.origin(),
        "build": of_build,
        "dyno": host["dyno_version"],
        "servers": ", ".join(dict.fromkeys(trial["setup"]["engine"] for trial in found["trials"] if trial["setup"]["engine"])),
        "host": f"{host['cores']} CPUs, {host.get('cpu_model')}, {host['memory_bytes'] / 2**30:.0f} GiB, {host['kernel']}, "
                f"{host['os']}, virtualization: {host.get('virtualisation') or 'none detected'}",
        "date": host["started"][:10],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in head.items())
        names = [*COMMON, *(axis for axis in axes if axis not in COMMON), *sorted(columns), *extra]
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({**line, **line["point"]} for line in lines)


def trial_line(line, found, faults):
    """A trial's numbers with its point, its platform, and its faults."""
    (trial,) = (one for one in found["trials"] if str(one["setup"]["planned"]["number"]) == line["number"])
    point = {key: plain(value) for key, value in trial["setup"]["planned"]["point"].items()}
    others = sum(float(value) for key, value in line.items() if re.fullmatch(r"other\[.*\]\.cpu", key) and value)
    cores = found["environment"]["cores"] or 1
    numbers = {}
    for fault in (fault for fault in faults if fault["number"] == line["number"]):
        numbers |= {f"fault{fault['fault']}.{name}": fault.get(f"recovery.{name}", "") for name in FAULTS}
    platform = "emulated" if trial["setup"].get("emulated") else ""
    # Others are counted in percent of one CPU; the page has percent of all.
    return {**line, **numbers, "point": point, "others.cpu": f"{others / cores:.2f}", "platform": platform}


def plain(value):
    """A value of a point as papers.toml writes it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


class Kept:
    """The trials of a recipe, read from its CSV."""

    def __init__(self, recipe, path):
        self.recipe = recipe
        self.head, rows = {}, []
        with path.open(newline="") as file:
            for line in file:
                if line.startswith("# "):
                    key, value = line[2:].rstrip("\n").split(": ", 1)
                    self.head[key] = value
                else:
                    rows.append(line)
        self.trials = list(csv.DictReader(rows))
        for key, value in recipe.origin().items():
            if self.head.get(key) != value:
                raise Refused(f"{path.name} has the {key} {self.head.get(key)!r}, its recipe {value!r}: run it again")

    @property
    def rejected(self):
        """Trials that completed but had too much CPU time stolen."""
        return [trial for trial in self.trials if trial["outcome"] == "completed" and steal(trial) > MOST_STEAL]

    def at(self, point):
        """The trials of a point that count, by repeat."""
        counting = (trial for trial in self.trials if trial["outcome"] == "completed" and steal(trial) <= MOST_STEAL)
        return {trial["repeat"]: trial for trial in counting if all(trial.get(key) == value for key, value in point.items())}


def steal(trial):
    return number(trial.get("cpu.steal")) or 0.0


def number(text):
    return float(text) if text not in (None, "") else None


def value(trial, column):
    """A column of a trial, or the sum of several; None if one was not measured."""
    numbers = [number(trial.get(name)) for name in column.split(" + ")]
    return None if None in numbers else sum(numbers)
