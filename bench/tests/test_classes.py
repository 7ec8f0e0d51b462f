"""Figures of classes and labels, counted by hand; and which labels are kept."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench import classes


class TestClasses(unittest.TestCase):
    def test_accuracy_is_the_share_of_rows_that_are_right(self):
        self.assertEqual(classes.accuracy(["a", "b", "b"], ["a", "b", "c"]), 2 / 3)

    def test_micro_f1_counts_labels_whatever_their_order(self):
        # Given 1 + 2 + 0, true 2 + 2 + 1, hits 1 + 1 + 0.
        self.assertEqual(classes.micro_f1(["3", "5,4", ""], ["3,4", "4,6", "1"]), 2 * 2 / (3 + 5))

    def test_the_most_frequent_labels_stay_and_every_tenth_row_is_held_out(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(classes, "ROOM", Path(folder)):
            source = Path(folder) / "all.mlsvm"
            source.write_text("".join(f"{'7,8' if k % 2 else '7,9' if k < 2 else ''} {k + 1}:1\n" for k in range(20)))
            train, test = classes.with_frequent_labels(source, 2)  # 7: 11 times, 8: 10, 9: once
            self.assertEqual(train.read_text().splitlines()[:2], ["7 1:1", "7,8 2:1"])
            self.assertEqual(test.read_text().splitlines(), ["7,8 10:1", "7,8 20:1"])
            self.assertEqual(classes.truth(train)[2], "")


if __name__ == "__main__":
    unittest.main()
