"""Test what five papers claim, and write docs/papers.md.

  python3 scripts/papers RESULTS          run every recipe of scripts/papers.toml that has no complete result in the directory
                                          RESULTS (about two hours on two cores), keep what they measured in docs/papers, and
                                          write the page; an interrupted run continues with the first incomplete trial
  python3 scripts/papers --page           run nothing; write the page from docs/papers
  python3 scripts/papers --check          fail if that page is not the one in docs
  python3 scripts/papers --short PAPER    run the claims of one paper (P1 to P5) in seconds, to see that they can be tested;
                                          print them, and keep nothing

Set DYNO to use another program than target/release/dyno. Needs python3 3.11 or later; the studies of platforms and storage
need root.
"""

import sys
import tempfile
import tomllib
from pathlib import Path

import page
from claims import Claim, judge
from recipes import KEPT, ROOT, Kept, Recipe, Refused, build, export, run


def columns_of(data, name):
    """The columns that claims and charts need of a recipe."""
    entries = data["claim"] + [chart for paper in data["paper"] for chart in paper.get("chart", [])]
    specs = [entry.get(key) for entry in entries if entry.get("recipe") == name for key in ("column", "over_column")]
    return {column for spec in specs if spec for column in spec.split(" + ")}


def judged(data, all_kept):
    claims = [Claim(number, entry, data["margin"]) for number, entry in enumerate(data["claim"], 1)]
    for claim in claims:
        claim.measure(all_kept.get(claim.recipe))
    judge(claims)
    return claims


def kept_results(recipes):
    """What docs/papers has of each recipe; refuses results of different builds."""
    found = {name: Kept(recipe, path) for name, recipe in recipes.items() if (path := KEPT / f"{name}.csv").exists()}
    builds = {}
    for name, kept in found.items():
        builds.setdefault(kept.head["build"], []).append(name)
    if len(builds) > 1:
        each = "; ".join(f"{build}: {', '.join(names)}" for build, names in builds.items())
        raise Refused(f"the results are of different builds ({each}): run all with the same one")
    return found


def measure(data, recipes, results, kept_in):
    results.mkdir(parents=True, exist_ok=True)
    of_build = build()
    for name, recipe in recipes.items():
        result = run(recipe, results, of_build)
        export(recipe, result, columns_of(data, name), kept_in / f"{name}.csv", of_build)


def short(data, paper):
    names = {entry["recipe"] for entry in data["claim"] if entry["paper"] == paper and "recipe" in entry}
    if not names:
        sys.exit(f"no paper {paper!r} has claims: P1 to P5 have")
    recipes = {name: Recipe(name, data["recipe"][name], short=True) for name in data["recipe"] if name in names}
    with tempfile.TemporaryDirectory(prefix="dyno-papers-") as place:
        kept_in = Path(place) / "kept"
        measure(data, recipes, Path(place) / "results", kept_in)
        all_kept = {name: Kept(recipe, kept_in / f"{name}.csv") for name, recipe in recipes.items()}
    claims = [claim for claim in judged(data, all_kept) if claim.paper == paper]
    print(page.claims_table(claims))


def main():
    words = sys.argv[1:]
    data = tomllib.loads((ROOT / "scripts" / "papers.toml").read_text())
    recipes = {name: Recipe(name, entry) for name, entry in data["recipe"].items()}
    try:
        if words[:1] == ["--short"] and len(words) == 2:
            short(data, words[1])
            return
        if len(words) == 1 and not words[0].startswith("-"):
            measure(data, recipes, Path(words[0]), KEPT)
        elif words not in (["--page"], ["--check"]):
            sys.exit(__doc__)
        all_kept = kept_results(recipes)
        written = page.write(data, recipes, all_kept, judged(data, all_kept))
        if words == ["--check"]:
            page.check(*written)
        else:
            page.store(*written)
    except Refused as refused:
        sys.exit(f"papers: {refused}")


main()
