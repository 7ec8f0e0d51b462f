"""When the gate of instruction counts fails, passes and is skipped."""

import contextlib
import io
import unittest
from unittest import mock

from bench import instructions


class TestInstructions(unittest.TestCase):
    def test_five_percent_more_passes_and_more_than_that_fails(self):
        record = {"kernel": 1000, "judge": 1000, "lanes": 1000}
        now = {"kernel": 1050, "judge": 1051, "lanes": 500}
        passes = {part: fine for part, _, _, fine in instructions.verdicts(record, now)}
        self.assertEqual(passes, {"kernel": True, "judge": False, "lanes": True})

    def test_a_part_without_a_record_fails(self):
        self.assertEqual(instructions.verdicts({}, {"kernel": 1}), [("kernel", None, 1, False)])

    def test_without_a_counter_the_reason_is_printed_and_the_run_succeeds(self):
        said = io.StringIO()
        with mock.patch("shutil.which", return_value=None), mock.patch("sys.argv", ["instructions"]):
            with contextlib.redirect_stdout(said):
                self.assertEqual(instructions.main(), 0)
        self.assertIn("skipped, because", said.getvalue())

    def test_another_compiler_is_not_compared(self):
        with mock.patch("shutil.which", return_value="valgrind"), mock.patch("platform.machine", return_value="x86_64"):
            self.assertIn("the record is of rustc 0.1", instructions.obstacle({"compiler": "rustc 0.1"}))


if __name__ == "__main__":
    unittest.main()
