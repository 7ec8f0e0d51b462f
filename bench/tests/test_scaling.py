"""The data and the slopes of bench.scaling."""

import tempfile
import unittest
from pathlib import Path

from bench.scaling import Shape, cases, make, slope


class Scaling(unittest.TestCase):
    def test_a_power_law_has_its_exponent_as_slope(self) -> None:
        sizes = [10, 100, 1000]
        self.assertAlmostEqual(slope(sizes, [0.5 * size**1.5 for size in sizes]), 1.5)
        self.assertAlmostEqual(slope(sizes, [2.0, 2.0, 2.0]), 0.0)

    def test_made_rows_have_rising_columns_within_the_shape(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made.svm"
            make(Shape(rows=50, per_row=8, features=30, classes=3), path)
            rows = path.read_text().splitlines()
        self.assertEqual(len(rows), 50)
        for row in rows:
            target, *pairs = row.split()
            columns = [int(pair.split(":")[0]) for pair in pairs]
            self.assertIn(int(target), range(3))
            self.assertEqual(columns, sorted(set(columns)))
            self.assertTrue(1 <= columns[0] and columns[-1] <= 30)

    def test_every_curve_has_two_sizes_or_more(self) -> None:
        for case in cases(quick=True):
            self.assertGreaterEqual(len(case.sizes), 2, case.name)


if __name__ == "__main__":
    unittest.main()
