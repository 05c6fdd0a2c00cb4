#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The include diagram's test must be able to fail: each breach is planted in a small tree."""
import pathlib
import tempfile
import unittest

from layering import Tree

HEAD = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"
SOUND = {
    "include/allot/core/units.hpp": HEAD + "#include <cstdint>\n",
    "include/allot/solve/solve.hpp": HEAD + "#include <allot/core/units.hpp>\n",
    "include/allot/allot.hpp": HEAD + "#include <allot/solve/solve.hpp>\n",
    "include/allot/hana.hpp": HEAD + "#include <allot/core/units.hpp>\n#include <boost/hana/tuple.hpp>\n",
    "json/include/allot/json/codec.hpp": HEAD + "#include <allot/allot.hpp>\n#include <string>\n",
    "json/src/codec.cpp": '#include <allot/json/codec.hpp>\n#include "parts.hpp"\n',
    "json/src/parts.hpp": "#include <vector>\n",
    "kernels/fill.hpp": HEAD + "#include <cuda_runtime_api.h>\n#include <allot/core/units.hpp>\n",
    "kernels/fill.cu": '#include "kernels/fill.hpp"\n',
    "runtime/include/allot/runtime/backend.hpp": HEAD + "#include <allot/allot.hpp>\n#include <string>\n",
    "runtime/src/host.cpp": "#include <allot/runtime/backend.hpp>\n#include <vector>\n",
    "runtime/cuda/cuda.cpp": '#include "kernels/fill.hpp"\n#include <allot/runtime/backend.hpp>\n'
    + "#include <cuda_runtime_api.h>\n",
    "tools/main.cpp": "#include <allot/json/codec.hpp>\n#include <allot/runtime/backend.hpp>\n",
}


class Diagram(unittest.TestCase):
    def breaches(self, changes: dict, listed=None, listed_runtime=None) -> list:
        files = {**SOUND, **changes}
        headers = sorted(n[len("include/") :] for n in files if n.startswith("include/"))
        files["include/meson.build"] = "\n".join(f"  '{n}'," for n in (listed or headers))
        below = "runtime/include/"
        headers = sorted(n[len(below) :] for n in files if n.startswith(below))
        files[below + "meson.build"] = "\n".join(f"  '{n}'," for n in (listed_runtime or headers))
        with tempfile.TemporaryDirectory() as scratch:
            for name, text in files.items():
                path = pathlib.Path(scratch) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return Tree(pathlib.Path(scratch)).check()

    def refuses(self, changes: dict, because: str, **more) -> None:
        found = self.breaches(changes, **more)
        self.assertEqual(len(found), 1, found)
        self.assertIn(because, found[0])

    def add(self, name: str, line: str) -> dict:
        return {name: SOUND[name] + line}

    def test_sound_tree(self):
        self.assertEqual(self.breaches({}), [])

    def test_upward_layer(self):
        self.refuses(
            {"include/allot/table/t.hpp": HEAD + "#include <allot/solve/solve.hpp>\n"},
            "table may not use allot/solve/solve.hpp",
        )

    def test_upward_folder(self):
        self.refuses(self.add("json/src/codec.cpp", '#include "../../tools/main.cpp"\n'), "json/ may not use tools/")

    def test_runtime_using_json(self):
        line = "#include <allot/json/codec.hpp>\n"
        self.refuses(self.add("runtime/src/host.cpp", line), "runtime/src/ may not use json/")

    def test_kernel_using_the_runtime(self):
        line = "#include <allot/runtime/backend.hpp>\n"
        self.refuses(self.add("kernels/fill.cu", line), "kernels/ may not use runtime/")

    def test_runtime_using_kernels_outside_cuda(self):
        line = '#include "kernels/fill.hpp"\n'
        self.refuses(self.add("runtime/src/host.cpp", line), "runtime/src/ may not use kernels/")

    def test_cuda_headers_outside_cuda(self):
        for name in "cuda_runtime.h cuda_fp16.h cub/cub.cuh cuda/std/array thrust/sort.h driver_types.h".split():
            for source in ["runtime/src/host.cpp", "runtime/include/allot/runtime/backend.hpp"]:
                self.refuses(self.add(source, f"#include <{name}>\n"), f"may not include {name}")

    def test_header_using_the_runtime(self):
        found = self.breaches(self.add("include/allot/allot.hpp", "#include <allot/runtime/backend.hpp>\n"))
        self.assertTrue(any("include/ may not use runtime/" in b for b in found), found)

    def test_json_using_the_runtime(self):
        line = "#include <allot/runtime/backend.hpp>\n"
        self.refuses(self.add("json/src/codec.cpp", line), "json/ may not use runtime/")

    def test_form_of_runtime_headers(self):
        name = "runtime/include/allot/runtime/backend.hpp"
        self.refuses(self.add(name, "\n" * 300), "more than 299")
        self.refuses({name: HEAD.split("\n")[0] + "\n"}, "no #pragma once")
        self.refuses({"runtime/include/allot/other.hpp": HEAD}, "belongs below runtime/include/allot/runtime")
        quoted = {
            "runtime/include/allot/runtime/a.hpp": HEAD,
            "runtime/include/allot/runtime/b.hpp": HEAD + '#include "a.hpp"\n',
        }
        self.refuses(quoted, "is named <allot/")

    def test_list_of_runtime_headers(self):
        extra = {"runtime/include/allot/runtime/a.hpp": HEAD}
        listed = ["allot/runtime/backend.hpp"]
        self.refuses(extra, "runtime/include/meson.build: does not list", listed_runtime=listed)

    def test_header_using_json(self):
        found = self.breaches(self.add("include/allot/allot.hpp", "#include <allot/json/codec.hpp>\n"))
        self.assertTrue(any("include/ may not use json/" in b for b in found), found)

    def test_expensive_standard_header(self):
        for name in "algorithm optional string_view vector string iostream".split():
            self.refuses(
                self.add("include/allot/core/units.hpp", f"#  include <{name}>\n"), f"may not include {name}"
            )

    def test_boost_outside_hana(self):
        line = "#include <boost/hana/unpack.hpp>\n"
        self.refuses(self.add("include/allot/allot.hpp", line), "may not include boost/hana/unpack.hpp")

    def test_hana_from_another_header(self):
        line = "#include <allot/hana.hpp>\n"
        self.refuses(self.add("include/allot/allot.hpp", line), "may not use allot/hana.hpp")

    def test_quoted_public_header(self):
        self.refuses(self.add("include/allot/allot.hpp", '#include "core/units.hpp"\n'), "is named <allot/")

    def test_missing_source(self):
        self.refuses(self.add("tools/main.cpp", "#include <allot/json/gone.hpp>\n"), "is nowhere in")

    def test_circle(self):
        circle = {
            "include/allot/core/a.hpp": HEAD + "#include <allot/core/b.hpp>\n",
            "include/allot/core/b.hpp": HEAD + "#include <allot/core/a.hpp>\n",
        }
        self.refuses(circle, "circular include: a.hpp > b.hpp > a.hpp")

    def test_long_header(self):
        self.refuses(self.add("include/allot/allot.hpp", "\n" * 300), "more than 299")

    def test_stranger(self):
        self.refuses({"include/allot/util/misc.hpp": HEAD}, "belongs to no layer")

    def test_guard_and_licence(self):
        self.refuses({"include/allot/core/x.hpp": HEAD.split("\n")[0] + "\n"}, "no #pragma once")
        self.refuses({"include/allot/core/x.hpp": "\n#pragma once\n"}, "SPDX")

    def test_list(self):
        names = sorted(n[len("include/") :] for n in SOUND if n.startswith("include/"))
        self.refuses({}, "does not list allot/solve/solve.hpp", listed=names[:-1])
        self.refuses({}, "is not there", listed=names + ["allot/zzz.hpp"])
        self.refuses({}, "not sorted", listed=names[::-1])


if __name__ == "__main__":
    unittest.main()
