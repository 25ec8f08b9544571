#!/usr/bin/env python3
"""Write docs/papers.md: the claims of five papers next to what dyno measures on this machine.

  scripts/papers.py RESULTS                   run the recipes that have no complete result in the directory RESULTS,
                                              export the results to docs/papers, and write the page and its charts
  scripts/papers.py RESULTS RECIPE...         run only these recipes
  scripts/papers.py --page                    write the page from docs/papers
  scripts/papers.py --check                   fail if the page does not match docs/papers
  scripts/papers.py RESULTS --short PAPER     run the recipes of one paper that have a short form, and write everything
                                              to RESULTS: shows that the claims can be tested, not whether they hold

scripts/papers.toml has the claims and the recipes. Set DYNO to use a program other than target/release/dyno. Needs
Python 3.11 or later; the studies of platforms and storage need root. An interrupted run continues with the first
incomplete trial. Results of another study, other overrides, or another build are refused.
"""

import os
import sys
import tomllib
from pathlib import Path

import papers_page
import papers_run

DOCS = papers_run.ROOT / "docs"
CLAIMS = Path(os.environ.get("PAPERS_TOML", papers_run.ROOT / "scripts" / "papers.toml"))


def run_all(data, names, results, docs, short=False):
    """Runs recipes and exports the complete results; returns the names of the others."""
    incomplete = []
    for name in names:
        result = papers_run.run(results, name, data["recipe"][name], short)
        if papers_run.is_complete(result):
            papers_run.export(data, name, result, docs / "papers")
        else:
            incomplete.append(name)
    return incomplete


def write_page(data, docs, short=False):
    for path, text in papers_page.write(data, papers_run.read_all(data, docs / "papers", short)).items():
        (docs / path).parent.mkdir(parents=True, exist_ok=True)
        (docs / path).write_text(text)
    print(f"{docs / 'papers.md'} written")


def of_paper(data, paper):
    """The claims of one paper that have a recipe with a short form."""
    recipes = {name: recipe for name, recipe in data["recipe"].items() if "short" in recipe}
    papers = [one for one in data["paper"] if one["id"] == paper]
    charts = [chart for one in papers for chart in one.get("chart", []) if chart["recipe"] in recipes]
    claims = [one for one in data["claim"] if one["paper"] == paper and one.get("recipe", "") in ["", *recipes]]
    used = {one.get("recipe") for one in [*claims, *charts]}
    recipes = {name: recipe for name, recipe in recipes.items() if name in used}
    if not recipes:
        raise papers_run.Refused(f"no recipe of {paper!r} has a short form")
    return data | {"recipe": recipes, "claim": claims, "paper": [one | {"chart": charts} for one in papers]}


def check(data):
    for path, text in papers_page.write(data, papers_run.read_all(data, DOCS / "papers")).items():
        if not (DOCS / path).exists() or (DOCS / path).read_text() != text:
            raise papers_run.Refused(f"{DOCS / path} does not match docs/papers: run scripts/papers.py --page")


def main(words):
    data = tomllib.loads(CLAIMS.read_text())
    incomplete = []
    match words:
        case ["--page"]:
            write_page(data, DOCS)
        case ["--check"]:
            check(data)
        case [results, "--short", paper]:
            data, docs = of_paper(data, paper), Path(results)
            papers_page.LIMIT_PCT = 100.0  # Other programs on this machine do not matter.
            incomplete = run_all(data, data["recipe"], docs / "runs", docs, short=True)
            write_page(data, docs, short=True)
        case [results, *names] if not any(word.startswith("-") for word in words):
            unknown = [name for name in names if name not in data["recipe"]]
            if unknown:
                raise papers_run.Refused(f"no recipe is called {unknown[0]!r}")
            incomplete = run_all(data, names or data["recipe"], Path(results), DOCS)
            write_page(data, DOCS)
        case _:
            sys.exit(__doc__)
    if incomplete:
        sys.exit(f"papers: no complete result of {', '.join(incomplete)}; see the logs next to the results")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except papers_run.Refused as error:
        sys.exit(f"papers: {error}")
