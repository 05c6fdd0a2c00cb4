#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kernel_resources.py reads and refuses."""
import pathlib
import tempfile
import unittest

import kernel_resources as resources

SAID = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z3one' for 'sm_90'
ptxas info    : Function properties for _Z3one
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers, 2080 bytes smem, 720 bytes cmem[0]
ptxas info    : Compile time = 3.0 ms
ptxas info    : Compiling entry function '_Z3two' for 'sm_90'
ptxas info    : Function properties for _Z3two
    24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 128 registers, used 0 barriers, 24 bytes cumulative stack size
"""
TABLE = {("one", "90"): ["72", "0", "0", "0", "2080"]}


class Reads(unittest.TestCase):
    def test_what_ptxas_says(self):
        self.assertEqual(
            resources.parse(SAID),
            [["_Z3one", "90", "72", "0", "0", "0", "2080"], ["_Z3two", "90", "128", "20", "16", "24", "0"]],
        )

    def test_names(self):
        for long, short in {
            "void allot::kernels::detail::decode_kernel<allot::head_shape<192, 128>, "
            "allot::element_type<(allot::element)2>, 4>(allot::decode_call, int)": "decode_kernel<192/128 bf16 4>",
            "allot::kernels::(anonymous namespace)::append_kernel(allot::append_call, long)": "append_kernel",
        }.items():
            self.assertEqual(resources.short_name(long), short)

    def test_its_own_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.csv"
            resources.write_table(path, "13.0.88", TABLE)
            self.assertEqual(resources.read_table(path), ("13.0.88", TABLE))


class Refuses(unittest.TestCase):
    def refuses(self, rows: dict, same_release: bool, words: str) -> None:
        wrong = resources.compare(rows, TABLE, same_release)
        self.assertEqual(len(wrong), 1, wrong)
        self.assertIn(words, wrong[0])

    def test_spills_of_any_release(self):
        for release in (True, False):
            self.refuses({("one", "90"): ["72", "4", "0", "0", "2080"]}, release, "spill_stores is 4")

    def test_kernels_that_come_and_go(self):
        for release in (True, False):
            self.refuses({}, release, "was not compiled")
            self.refuses({**TABLE, ("two", "90"): ["8", "0", "0", "0", "0"]}, release, "two for sm_90 is not in the table")

    def test_other_numbers_of_the_same_release(self):
        other = {("one", "90"): ["73", "0", "0", "0", "2080"]}
        self.refuses(other, True, "registers is 73; in the table it is 72")
        self.assertEqual(resources.compare(other, TABLE, False), [])
        self.assertEqual(resources.compare(TABLE, TABLE, True), [])


if __name__ == "__main__":
    unittest.main()
