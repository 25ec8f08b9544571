#!/usr/bin/env python3
"""Tests of the page of the papers, without a run. Called by crates/dyno/tests/cli/papers.rs."""

import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import tomllib
import unittest
import xml.etree.ElementTree as tree
from pathlib import Path

import papers_chart
import papers_page
import papers_run
from papers_statistics import FAMILY_LEVEL, HOLDS, Finding, Ratio, decide, region, t_above, t_quantile

MARGINS = {"ratio": 0.25, "none": 0.15}
DATA = """
margin = { ratio = 0.25, none = 0.15 }
window = { before = 5, during = 5, after = 8 }
recipe.quickstart = { set = ["load.repeats=5"], minutes = 1 }
[[paper]]
id = "P0"
title = "A paper"
question = "What?"
here = "a second machine"
contents = ["Table 1", "Figure 1", "Figure 2"]
omitted = [{ shows = ["Figure 2"], why = "a drawing" }]
[[paper.chart]]
title = "Throughput by <number> of servers"
shows = ["Table 1", "Figure 1"]
x = "servers"
recipe = "quickstart"
by = "topology.instances"
column = "tps"
paper = { 1 = 100, 2 = 180, 4 = 300 }
[[claim]]
paper = "P0"
shows = ["Table 1"]
says = "Two servers deliver 1.8 times as much as one (180 against 100)."
recipe = "quickstart"
column = "tps"
of = { "topology.instances" = "2" }
over = { "topology.instances" = "1" }
ratio = 1.8
[[claim]]
paper = "P0"
shows = ["Figure 1"]
says = "Four servers deliver as much as two."
recipe = "quickstart"
column = "tps"
of = { "topology.instances" = "4" }
over = { "topology.instances" = "2" }
kind = "none"
[[claim]]
paper = "P0"
shows = ["Figure 1"]
says = "It takes no power."
untestable = "no meter"
"""


def trial(instances, repeat, tps, **other):
    line = {"topology.instances": str(instances), "repeat": str(repeat), "outcome": "completed", "reason": "", "emulated": "no"}
    return line | {"steal_pct": "0.5", "others_pct": "1", "tps": str(tps), "response_ms.mean": "1"} | other


def trials(**of_third):
    """Five starts of one, two, and four servers, with ratios of about 1.8 and 1.66."""
    rates = {1: (100, 104, 97, 101, 99), 2: (181, 185, 176, 180, 181), 4: (300, 301, 305, 296, 302)}
    lines = [trial(count, repeat, tps) for count, some in rates.items() for repeat, tps in enumerate(some, 1)]
    lines[7] |= of_third
    return lines


def pages(lines):
    data = tomllib.loads(DATA)
    head = {"build": "dyno 1", "commit": "c", "host": "h", "servers": "s", "date": "2026-01-01", "planned trials": "15"}
    return papers_page.write(data, {"quickstart": (head, lines)} if lines else {})


def finding(logs, **claim):
    return Finding(claim, Ratio(list(logs)))


class Statistics(unittest.TestCase):
    def test_t_distribution_is_that_of_tables(self):
        table = {(0.95, 1): 12.7062, (0.95, 4): 2.7764, (0.90, 4): 2.1318, (0.99, 9): 3.2498, (0.95, 30): 2.0423, (0.95, 1000): 1.9623}
        for (confidence, freedom), t in table.items():
            self.assertAlmostEqual(t_quantile(confidence, freedom), t, places=4)
            self.assertAlmostEqual(t_above(-t, freedom) - t_above(t, freedom), confidence, places=4)
        self.assertAlmostEqual(t_above(1.0, 1), 0.25, places=12)

    def test_ratio_is_of_pairs(self):
        ratio = Ratio.of([(2, 1), (40, 20), (0, 0)])
        self.assertEqual((len(ratio.logs), ratio.interval()), (2, None))
        self.assertAlmostEqual(ratio.value, 2.0)
        low, high = Ratio([0.0, 0.1, 0.2]).interval()
        half = 4.302653 * math.sqrt(0.01 / 3)
        self.assertAlmostEqual(math.log(low), 0.1 - half, places=6)
        self.assertAlmostEqual(math.log(high), 0.1 + half, places=6)

    def test_verdicts(self):
        near, far, wide = [0.58, 0.59, 0.57, 0.6, 0.58], [1.0, 1.01, 0.99, 1.0, 1.02], [0.1, 1.1, 0.5, 0.8, 0.2]
        cases = [
            (near, {"ratio": 1.8}, "inside"), (far, {"ratio": 1.8}, "outside"), (wide, {"ratio": 1.8}, "undecided"),
            ([0.01, -0.01, 0.02, 0, -0.02], {"kind": "none"}, "equivalent"), (near, {"kind": "none"}, "outside"),
            (near, {"kind": "higher"}, "inside"), (near, {"kind": "lower"}, "outside"), (near[:2], {"ratio": 1.8}, "undecided"),
            (near, {"kind": "higher", "bound": 2}, "outside"), ([0.58] * 5, {"ratio": 1.8}, "undecided"),
        ]
        for logs, claim, verdict in cases:
            one = finding(logs, **claim)
            decide([one], MARGINS)
            self.assertEqual(one.verdict, verdict, claim)

    def test_a_margin_never_reaches_no_effect(self):
        self.assertEqual(region({"ratio": 2.0, "margin": 0.25}, MARGINS), (1.6, 2.5))
        for ratio in (1.065, 0.838, 1.44):
            low, high = region({"ratio": ratio}, MARGINS)
            self.assertAlmostEqual(min(abs(math.log(low)), abs(math.log(high))), abs(math.log(ratio)) / 2)

    def test_family_is_stricter_than_one_test(self):
        weak = [0.01, 0.3, 0.1, 0.02, 0.2]
        alone = finding(weak, kind="higher")
        decide([alone], MARGINS)
        unclear = [finding([-1, 1, 0.2, -0.4, 0.1], kind="higher") for _ in range(20)]
        among = finding(weak, kind="higher")
        decide([among, *unclear], MARGINS)
        self.assertEqual((alone.verdict, among.verdict), ("inside", "undecided"))

    def test_few_verdicts_of_the_family_are_wrong(self):
        data = tomllib.loads((papers_run.ROOT / "scripts" / "papers.toml").read_text())
        for near in (1.0, 0.5, 0.2):
            shares = [wrong_share(data, random.Random(f"{near} {page}"), near) for page in range(100)]
            error = statistics.stdev(shares) / math.sqrt(len(shares))
            self.assertLess(statistics.mean(shares) - 2 * error, FAMILY_LEVEL, near)


def wrong_share(data, rng, near, starts=10):
    """The share of wrong verdicts on a simulated page of the claims of papers.toml, which share points and trials like the
    real ones. `near` is the share of ratios that are next to an end of their region, where verdicts are hardest."""
    claims = [claim for claim in data["claim"] if "untestable" not in claim]
    rng.shuffle(claims)
    levels, noise, found = {}, {}, []
    for claim in claims:
        points = [(claim["recipe"], *sorted(point.items())) for point in papers_page.points_of(claim)]
        of, over = zip(points, papers_run.columns_of(claim), strict=True)
        ends = [math.log(end) for end in region(claim, data["margin"]) if 0 < end < math.inf]
        target = rng.choice(ends) + rng.choice([-1, 1]) * (1e-9 if rng.random() < near else 0.5)
        if of not in levels:
            levels[of] = levels.setdefault(over, 0.0) + target
        levels.setdefault(over, levels[of] - target)
        # Half of the variance is that of a start, which all columns share.
        varied = [[sum(noise.setdefault((part, start), rng.gauss(0, 0.07)) for part in (side[0], side)) for start in range(starts)]
                  for side in (of, over)]
        truth = levels[of] - levels[over]
        one = finding([truth + a - b for a, b in zip(*varied, strict=True)], **claim)
        found.append((one, truth))
    decide([one for one, _ in found], data["margin"])
    wrong = [is_wrong(one, truth, data["margin"]) for one, truth in found if one.verdict != "undecided"]
    return sum(wrong) / max(1, len(wrong))


def is_wrong(one, truth, margins):
    low, high = region(one.claim, margins)
    return (low <= math.exp(truth) <= high) != (one.verdict in HOLDS)


class Page(unittest.TestCase):
    def test_every_claim_has_a_row_and_a_verdict(self):
        page = pages(trials())["papers.md"]
        self.assertIn("2 of 2 testable claims are decided", page)
        rows = {line.split(" | ")[0][2:]: line for line in page.splitlines() if line.startswith("| ")}
        self.assertIn("**inside**", rows["Two servers deliver 1.8 times as much as one (180 against 100)."])
        self.assertIn("**outside**", rows["Four servers deliver as much as two."])
        self.assertIn("not testable: no meter", rows["It takes no power."])
        self.assertIn("**Contradicted:** Four servers deliver as much as two (here 1.67).", page)
        for state in ("| Table 1 | measured | – |", "| Figure 1 | partly | no meter |", "| Figure 2 | not measured | a drawing |"):
            self.assertIn(state, page)

    def test_disturbed_and_failed_starts_are_left_out_with_their_pairs(self):
        for bad in ({"steal_pct": "5.1"}, {"others_pct": "7"}, {"outcome": "failed", "reason": "no disk"}):
            page = pages(trials(**bad))["papers.md"]
            self.assertEqual(page.count("| 4 (1 left out) |"), 3, bad)
        self.assertIn("- 1 ×: no disk", page)

    def test_what_is_emulated_or_not_run_has_no_verdict(self):
        page = pages([one | {"emulated": "yes"} for one in trials()])["papers.md"]
        self.assertIn("| P0: A paper | 0 | 0 | 0 | 0 | 3 | 0 | 0 | 3 |", page)
        self.assertIn("undecided: not run yet", pages([])["papers.md"])

    def test_claims_on_faults_sums_and_two_columns(self):
        lines = trials()
        for one in lines:
            one |= {"fault[1].before_tps": "10", "fault[2].after_tps": "5", "a": "1", "b": "3"}
        runs = {"quickstart": ({}, [one for one in lines if one["topology.instances"] == "1"])}
        claims = [{"fault": 2, "of": "after", "over_fault": 1, "over": "before"}, {"column": "a + b / b", "over_column": "b"}]
        ratios = [papers_page.find({"recipe": "quickstart"} | claim, runs).ratio.value for claim in claims]
        self.assertAlmostEqual(ratios[0], 0.5)
        self.assertAlmostEqual(ratios[1], 4 / 9)

    def test_rates_around_faults_are_those_of_fixed_windows(self):
        tps = [20] * 10 + [0, 0, 10, 10, 10] + [15] * 10 + [16] * 5
        seconds = [{"phase": "measure", "t_s": float(at), "seconds": 1.0, "tps": rate} for at, rate in enumerate(tps)]
        faults = [{"number": 1, "asked_s": 10.0}, {"number": 2, "asked_s": 22.5}, {"number": 3, "asked_s": None}]
        rates = papers_run.fault_rates(faults, seconds, {"before": 5, "during": 5, "after": 7})
        wanted = {"before": 20, "during": 6, "after": 15}
        self.assertEqual({phase: float(rates[f"fault[1].{phase}_tps"]) for phase in wanted}, wanted)
        # After the second fault's five seconds, fewer than seven are left.
        self.assertEqual((len(rates), rates["fault[2].after_tps"]), (6, ""))
        # Faults are asked for some milliseconds after they are due.
        faults = [{"number": 1, "asked_s": 10.004}, {"number": 2, "asked_s": 22.001}]
        rates = papers_run.fault_rates(faults, seconds, {"before": 5, "during": 5, "after": 7})
        self.assertAlmostEqual(float(rates["fault[1].after_tps"]), 15, places=1)

    def test_pairs_with_a_zero_are_left_out_and_decide_nothing(self):
        for rate in ("0", "0.0"):
            page = pages(trials(tps=rate))["papers.md"]
            self.assertEqual(page.count("| undecided: a side is zero | 4 (1 left out) |"), 2)

    def test_what_was_not_measured_is_absent(self):
        page = pages([one | {"steal_pct": "", "others_pct": ""} for one in trials()])["papers.md"]
        self.assertEqual(page.count("| 5 | – | – |"), 5)
        self.assertEqual(papers_run.others_pct({}, 2) + papers_run.cpu_without_dyno({}, 2), "")
        line = {"cpu.idle": "1", "cpu.user": "50", "cpu.system": "20", "generator.cpu": "30", "other[a].cpu": "5"}
        self.assertEqual((papers_run.others_pct(line, 2), papers_run.cpu_without_dyno(line, 2)), ("2.50", "110.0"))

    def test_a_claim_on_more_than_one_point_is_refused(self):
        with self.assertRaises(papers_run.Refused):
            papers_page.at(trials(), {"outcome": "completed"})


class Provenance(unittest.TestCase):
    def test_results_of_another_recipe_or_build_are_refused(self):
        data = tomllib.loads(DATA)
        data["recipe"]["p2-scale-up"] = {}
        with tempfile.TemporaryDirectory() as place:
            def keep(name, **changed):
                head = papers_run.expected(name, data["recipe"].get(name, {})) | {"build": "dyno 1", "planned trials": "1"} | changed
                lines = [f"# {key}: {value}" for key, value in head.items()] + ["number,repeat,tps,response_ms.mean", "1,1,2,3"]
                (Path(place) / f"{name}.csv").write_text("\n".join(lines))

            keep("quickstart")
            keep("p2-scale-up")
            self.assertEqual(len(papers_run.read_all(data, Path(place))), 2)
            for key, value in (("set", "load.time=1s"), ("study sha256", "0")):
                keep("quickstart", **{key: value})
                with self.assertRaisesRegex(papers_run.Refused, key):
                    papers_run.read_all(data, Path(place))
            keep("quickstart", **{"planned trials": "2"})
            with self.assertRaisesRegex(papers_run.Refused, "1 of 2 trials"):
                papers_run.read_all(data, Path(place))
            keep("quickstart", window='{"before": 4}')
            data["claim"].append({"recipe": "quickstart", "fault": 1, "of": "after", "over": "before"})
            with self.assertRaisesRegex(papers_run.Refused, "window is '{.before.: 4}'"):
                papers_run.read_all(data, Path(place))
            data["claim"].pop()
            keep("quickstart")
            (Path(place) / "other.csv").write_text("")
            with self.assertRaisesRegex(papers_run.Refused, "no recipe"):
                papers_run.read_all(data, Path(place))

    def use(self, place, script=""):
        """Replaces dyno by a shell script."""
        program = Path(place) / "dyno"
        program.write_text(f"#!/bin/sh\n[ $1 = --version ] && exit\n{script}\n")
        program.chmod(0o755)
        self.addCleanup(setattr, papers_run, "DYNO", papers_run.DYNO)
        papers_run.DYNO = program

    def test_trials_that_failed_are_repeated_once(self):
        result = {"design": {"trials": 1}, "trials": [{"outcome": {"how": "failed"}}]}
        with tempfile.TemporaryDirectory() as place:
            self.use(place, f"mkdir -p $4; touch $4/study.toml; echo '{json.dumps(result)}' >$4/result.json; echo \"$@\"")
            results = Path(place) / "runs"
            done = papers_run.run(results, "quickstart", {})
            log = (results / "quickstart.log").read_text().splitlines()
            self.assertEqual([line.endswith("--resume") for line in log], [False, True])
            self.assertEqual((papers_run.is_complete(done), papers_run.is_complete(done, whole=True)), (True, False))
            self.assertIn("commit", json.loads((results / "quickstart.recipe.json").read_text()))

    def test_dyno_gets_the_signals_that_end_the_run(self):
        with tempfile.TemporaryDirectory() as place:
            self.use(place, "trap 'echo one; trap \"echo two; exit 4\" TERM' TERM; while :; do sleep 0.05; done")
            main = threading.main_thread().ident
            # A shell cannot trap SIGINT if the tests run in the background, where it is ignored.
            for after, number in ((0.5, signal.SIGTERM), (1.0, signal.SIGTERM)):
                threading.Timer(after, signal.pthread_kill, (main, number)).start()
            with self.assertRaisesRegex(SystemExit, "interrupted in quickstart"):
                papers_run.run(Path(place) / "runs", "quickstart", {})
            self.assertEqual((Path(place) / "runs" / "quickstart.log").read_text(), "one\ntwo\n")

    def test_a_run_does_not_continue_one_of_another_build(self):
        recipe = {"set": []}
        with tempfile.TemporaryDirectory() as place:
            self.use(place)
            results = Path(place)
            (results / "quickstart").mkdir()
            for found in ({}, papers_run.expected("quickstart", recipe) | {"build": "dyno 0"}):
                (results / "quickstart.recipe.json").write_text(json.dumps(found))
                with self.assertRaisesRegex(papers_run.Refused, "build" if found else "study"):
                    papers_run.run(results, "quickstart", recipe)


class Chart(unittest.TestCase):
    def check(self, text):
        root = tree.fromstring(text)
        names = [child.tag.rsplit("}")[-1] for child in root]
        self.assertEqual(names[:2], ["title", "desc"])
        self.assertNotIn("nan", text)
        for place in [float(one.get("cy")) for one in root.iter() if one.get("cy")]:
            self.assertTrue(0 < place < papers_chart.HEIGHT)
        return names

    def test_curves_with_a_band(self):
        names = self.check(pages(trials())["images/papers-P0.svg"])
        self.assertEqual((names.count("polygon"), names.count("polyline"), names.count("circle")), (1, 2, 3))

    def test_names_have_no_line(self):
        names = self.check(papers_chart.svg("t", "device", {"a": 1.0, "b": 0.5}, {"a": (1.0, 1.0, 1.0), "b": (0.7, 0.6, 0.8)}))
        self.assertNotIn("polyline", names)

    def test_a_wide_interval_does_not_flatten_the_curves(self):
        text = papers_chart.svg("t", "x", {}, {"1": (1.0, 1.0, 1.0), "2": (1.5, 0.01, 900.0)})
        self.check(text)
        heights = [float(one.get("cy")) for one in tree.fromstring(text).iter() if one.get("cy")]
        self.assertGreater(heights[0] - heights[1], 40)

    def test_it_renders(self):
        if not shutil.which("chromium"):
            if record := os.environ.get("DYNO_TEST_SKIPS"):
                with open(record, "a") as file:
                    file.write(f"papers_test::{self.id()}: no chromium\n")
            self.skipTest("no chromium")
        with tempfile.TemporaryDirectory() as place:
            drawing, shot = Path(place) / "chart.svg", Path(place) / "chart.png"
            drawing.write_text(pages(trials())["images/papers-P0.svg"])
            words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={place}/profile"]
            words += [f"--screenshot={shot}", "--window-size=720,400", drawing.as_uri()]
            subprocess.run(words, check=True, capture_output=True, timeout=120)
            self.assertGreater(shot.stat().st_size, 8_000)


if __name__ == "__main__":
    unittest.main()
