#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""xfail_test.py COMPILE_COMMANDS CONTROL: the runner notices every way a case can be broken."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).with_name("xfail.py")
COMPILE_COMMANDS, CONTROL = sys.argv[1:3]

GOOD = """
namespace unsatisfied { void no_room(); }
consteval int check(bool ok) { if (!ok) { unsatisfied::no_room(); } return 1; }
#if XFAIL == 0
constexpr int x = check(false);  // expected-error-0 {{"no_room"}}
#elif XFAIL == 1
int const y = undeclared;  // expected-error-1 {{"undeclared"}}
#endif
"""


class Runner(unittest.TestCase):
    def run_on(self, text: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as scratch:
            source = pathlib.Path(scratch) / "case_xfail.cpp"
            source.write_text(text)
            command = [sys.executable, str(RUNNER), COMPILE_COMMANDS, CONTROL, str(source)]
            return subprocess.run(command, stdout=subprocess.PIPE, text=True)

    def refuses(self, text: str, because: str) -> None:
        result = self.run_on(text)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(because, result.stdout)

    def test_passes_what_fails_as_promised(self):
        self.assertEqual(self.run_on(GOOD).returncode, 0)

    def test_a_case_that_compiles(self):
        self.refuses(GOOD.replace("check(false)", "check(true)"), "case 0 compiled")

    def test_another_message(self):
        self.refuses(GOOD.replace('"no_room"', '"no_floor"'), "no diagnostic matches 'no_floor'")

    def test_a_message_only_in_the_echoed_line(self):
        self.refuses(GOOD.replace('"no_room"', '"constexpr int x"'), "no diagnostic matches")

    def test_a_file_that_never_compiles(self):
        self.refuses("int z = typo;" + GOOD, "must compile when no case is selected")

    def test_a_case_without_a_promise(self):
        self.refuses(GOOD.replace("expected-error-1", "expected"), "exactly one expected-error")

    def test_no_case_at_all(self):
        self.refuses("int main() {}\n", "exactly one expected-error")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
