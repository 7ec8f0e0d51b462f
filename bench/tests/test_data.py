"""Reading, splitting and making rows."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

from bench import data, svmlight


class DataTest(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.room = Path(room.name)

    def write(self, name: str, text: str) -> Path:
        path = self.room / name
        path.write_text(text)
        return path

    def test_rows_are_read_as_written(self):
        rows = svmlight.read(self.write("a.svm", "# head\n+1 5:0.25 7:1e-3\n\n-1\n-1 0:3\n"))
        self.assertEqual(rows.starts.tolist(), [0, 2, 2, 3])
        self.assertEqual(rows.columns.tolist(), [5, 7, 0])
        self.assertEqual(rows.values.tolist(), [0.25, 1e-3, 3.0])
        self.assertEqual(rows.targets.tolist(), [1, -1, -1])
        self.assertEqual(rows.dot(np.ones(8)).tolist(), [0.251, 0, 3])

    def test_words_are_refused(self):
        with self.assertRaises(ValueError):
            svmlight.read(self.write("a.svm", "1 qid:4 5:1\n"))

    def test_three_classes_are_refused(self):
        with self.assertRaises(ValueError):
            svmlight.signs(np.array([1.0, 2.0, 3.0]))

    def test_a_file_alone_is_split_and_a_pair_is_not(self):
        folder = self.room / "given"
        folder.mkdir()
        (folder / "alone.svm").write_text("".join(f"1 {i}:1\n" for i in range(1, 21)))
        for name in ("pair_train.svm", "pair_test.svm", "old.svm", "old.t.svm"):
            (folder / name).write_text("1 1:1\n-1 2:1\n")
        alone, old, pair = data.folder(folder, self.room / "room")
        self.assertEqual([alone.name, old.name, pair.name], ["alone", "old", "pair"])
        self.assertEqual([len(svmlight.read(p)) for p in (alone.train, alone.held_out)], [18, 2])
        self.assertEqual(len(svmlight.read(pair.train)), 2)

    def test_made_rows_are_the_same_each_time_and_of_the_shape_promised(self):
        a, b = (data.made(1000, self.room / name) for name in "ab")
        self.assertEqual(a.train.read_bytes(), b.train.read_bytes())
        rows = svmlight.read(a.train)
        self.assertAlmostEqual(len(rows.values) / len(rows), 87, delta=4)
        self.assertTrue(0.3 < (svmlight.signs(rows.targets) > 0).mean() < 0.7)
        ends = rows.starts[1:-1]
        rising = np.diff(rows.columns) > 0
        rising[ends - 1] = True  # from one row to the next anything goes
        self.assertTrue(rising.all())


if __name__ == "__main__":
    unittest.main()
