"""Holds the statistics of the page to published values, and its charts and texts to what they must say."""

import math
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

import chart
import page
import recipes
import student
from claims import Claim, Paired, judge

MARGIN = {"ratio": 0.25, "none": 0.15}


def claim(**entry):
    return Claim(1, {"paper": "P1", "shows": ["Table 1"], "says": "It is so.", "recipe": "r", "column": "tps",
                     "of": {"size": "2"}, "over": {"size": "1"}, **entry}, MARGIN)


class Trials:
    """Kept trials of two sizes, whose throughput has a ratio in each start."""

    def __init__(self, ratios, **more):
        self.trials = [{"size": size, "repeat": str(repeat), "outcome": "completed", "cpu.steal": "1", "others.cpu": "2",
                        "platform": "", "tps": str(100.0 * (ratio if size == "2" else 1)), **more}
                       for repeat, ratio in enumerate(ratios) for size in ("1", "2")]

    at = recipes.Kept.at


class Statistics(unittest.TestCase):
    def test_quantiles_are_those_of_published_tables(self):
        # Student's t, two-sided 5 % and 1 %.
        for degrees, five, one in [(1, 12.706, 63.657), (4, 2.776, 4.604), (10, 2.228, 3.169), (120, 1.980, 2.617)]:
            self.assertAlmostEqual(student.quantile(0.975, degrees), five, places=3)
            self.assertAlmostEqual(student.quantile(0.995, degrees), one, places=3)
        self.assertAlmostEqual(student.upper_tail(0, 7), 0.5)
        self.assertAlmostEqual(student.upper_tail(-2.776, 4), 0.975, places=4)

    def test_the_example_of_benjamini_and_hochberg(self):
        p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
                    0.7590, 1.000]
        self.assertEqual(student.discoveries(p_values, 0.05), [True] * 4 + [False] * 11)

    def test_a_ratio_is_the_geometric_mean_with_its_interval(self):
        paired = Paired([2.0, 8.0])
        self.assertAlmostEqual(paired.ratio, 4.0)
        half = 12.706 * math.log(2)
        low, high = paired.interval()
        self.assertAlmostEqual(math.log(low), math.log(4) - half, places=3)
        self.assertAlmostEqual(math.log(high), math.log(4) + half, places=3)


class Verdicts(unittest.TestCase):
    def verdict(self, ratios, **entry):
        one = claim(**entry)
        one.measure(Trials(ratios))
        judge([one])
        return one.verdict

    def test_a_claim_is_inside_outside_or_undecided(self):
        near, far, wide = [1.98, 2.02, 2.0, 2.01, 1.99], [3.9, 4.1, 4.0, 3.95, 4.05], [1.0, 4.0, 2.0, 3.0, 1.2]
        self.assertEqual(self.verdict(near, ratio=2.0), "inside")
        self.assertEqual(self.verdict(far, ratio=2.0), "outside")
        self.assertEqual(self.verdict(wide, ratio=2.0), "undecided")
        self.assertEqual(self.verdict([1.01, 0.99, 1.0, 1.02, 0.98], kind="none"), "equivalent")
        self.assertEqual(self.verdict(near, kind="none"), "outside")
        self.assertEqual(self.verdict(near, kind="higher"), "inside")
        self.assertEqual(self.verdict(near, kind="lower"), "outside")

    def test_what_was_not_measured_is_not_decided(self):
        self.assertEqual(self.verdict([2.0, 2.0], ratio=2.0), "undecided")
        missing, emulated = claim(ratio=2.0), claim(ratio=2.0)
        missing.measure(None)
        emulated.measure(Trials([2.0] * 5, platform="emulated"))
        judge([missing, emulated, claim(untestable="no such machine")])
        self.assertEqual((missing.verdict, missing.reason), ("undecided", "its study has no result"))
        self.assertEqual(emulated.verdict, "not testable here")

    def test_a_start_with_stolen_time_is_left_out_on_both_sides(self):
        trials = Trials([2.0, 2.01, 1.99, 9.0])
        trials.trials[-1]["cpu.steal"] = "5.1"
        one = claim(ratio=2.0)
        one.measure(trials)
        self.assertEqual(one.paired.count, 3)
        self.assertAlmostEqual(one.paired.ratio, 2.0, places=3)


class Provenance(unittest.TestCase):
    def test_a_result_of_another_study_or_other_overrides_is_refused(self):
        recipe = recipes.Recipe("p2-scale-up", {"set": ["load.time=8s"], "minutes": 1})
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "p2-scale-up.csv"

            def kept(**changed):
                head = {**recipe.origin(), "build": "b", **changed}
                path.write_text("".join(f"# {key}: {value}\n" for key, value in head.items()) + "number\n1\n")
                return recipes.Kept(recipe, path)
            self.assertEqual(kept().trials, [{"number": "1"}])
            for changed in ({"study": "p2-scale-up.toml 0"}, {"overrides": "load.time=9s"}):
                with self.assertRaises(recipes.Refused):
                    kept(**changed)


class Pages(unittest.TestCase):
    def test_a_chart_is_svg_with_both_curves_and_a_description(self):
        curves = [chart.Curve("the paper", {"1": 1.0, "2": 1.7}),
                  chart.Curve("dyno", {"1": 1.0, "2": 1.9}, {"1": (1.0, 1.0), "2": (1.8, 2.0)})]
        root = xml.fromstring(chart.svg("a < b", "servers", ["1", "2"], curves))
        of = "{http://www.w3.org/2000/svg}"
        self.assertEqual(root.find(f"{of}title").text, "a < b")
        self.assertIn("dyno: 1 1.00, 2 1.90", root.find(f"{of}desc").text)
        classes = [path.get("class") for path in root.iter(f"{of}path")]
        self.assertEqual(classes.count("band"), 1)

    def test_every_chart_of_the_page_is_svg(self):
        for path in page.IMAGES.glob("papers-*.svg"):
            self.assertEqual(xml.parse(path).getroot().get("role"), "img", path)

    def test_the_paragraph_counts_the_verdicts(self):
        one, two = claim(ratio=2.0), claim(untestable="no such machine")
        one.measure(Trials([4.0, 4.1, 3.9, 4.0, 4.0]))
        judge([one, two])
        text = page.verdict_text({"here": "such a machine."}, [one, two])
        self.assertTrue(text.startswith("Of 2 claims, 1 can be tested here: 0 hold, 1 is contradicted, and 0 are undecided."), text)
        self.assertIn("cannot show:** such a machine.", text)


if __name__ == "__main__":
    unittest.main(verbosity=0)
