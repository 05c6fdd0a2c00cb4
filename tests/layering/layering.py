#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""layering.py ROOT: holds the sources below ROOT to the include diagram; prints every breach.

  include/allot:  core < policy < table < family < attention < plan < solve < laws.hpp < allot.hpp, hana.hpp, describe.hpp
  folders:        tools > model > json > include, tools > runtime > kernels > include

Of the runtime only runtime/cuda may use kernels/ and CUDA's own headers, for the rest compiles where
there is no toolkit.

A public header of include/ may use itself, its own layer and those before it, a few cheap standard headers, and
nothing else; hana.hpp alone may use Boost, describe.hpp alone <string>, and no other header may use either. Headers of
include/allot and runtime/include/allot/runtime are listed in the meson.build of their include folder,
have a licence line and `#pragma once` and are under 300 lines; none of ours includes itself in a circle.
"""
import os
import pathlib
import re
import sys

LAYERS = ["core", "policy", "table", "family", "attention", "plan", "solve", "laws.hpp", "allot.hpp", "hana.hpp", "describe.hpp"]
MAY_USE = {
    "include": [],
    "kernels": ["include"],
    "runtime": ["include", "kernels"],
    "json": ["include"],
    "model": ["include", "json"],
    "tools": ["include", "runtime", "json", "model"],
}
FOLDERS = list(MAY_USE)
# What a header may cost its includer: none of these brings in <algorithm>, a container or a stream.
CHEAP = set(
    "array bit compare concepts cstddef cstdint initializer_list limits tuple type_traits utility".split()
)
SUFFIXES = {".hpp", ".h", ".cpp", ".c", ".cu"}
MAX_LINES = 299

# A header of the toolkit: cuda_runtime.h, cuda/std/array, cub/cub.cuh, device_launch_parameters.h, …
CUDA = re.compile(r"^(cu|thrust/|device_|driver_|nv|cooperative_groups)")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


class Tree:
    def __init__(self, root: pathlib.Path):
        self.root = root
        self.breaches = []
        self.sources = {}  # path relative to root -> text
        for folder in FOLDERS:
            for path in sorted((root / folder).rglob("*")):
                if path.suffix in SUFFIXES:
                    self.sources[path.relative_to(root)] = path.read_text()

    def breach(self, path, what: str) -> None:
        self.breaches.append(f"{path}: {what}")

    def resolve(self, path: pathlib.Path, kind: str, name: str):
        """The source that an #include names, or None when it is not one of ours."""
        bases = [path.parent] if kind == '"' else []
        for folder in FOLDERS:
            bases += [pathlib.Path(folder) / "include", pathlib.Path(folder) / "src", pathlib.Path(folder)]
        for base in [pathlib.Path("include"), pathlib.Path()] + bases:
            found = pathlib.Path(os.path.normpath(base / name))
            if found in self.sources:
                return found
        return None

    def includes(self, path: pathlib.Path):
        for kind, name in INCLUDE.findall(self.sources[path]):
            yield kind, name, self.resolve(path, kind, name)

    def check(self) -> list:
        for path in self.sources:
            for kind, name, found in self.includes(path):
                if found is None and (kind == '"' or name.startswith("allot/")):
                    self.breach(path, f"includes {name}, which is nowhere in {', '.join(FOLDERS)}")
                if found and not self.may_use(path, found):
                    self.breach(path, f"{self.place(path)}/ may not use {found.parts[0]}/ ({name})")
            if path.parts[0] == "include":
                self.check_public_header(path)
            elif path.parts[0] == "runtime":
                self.check_runtime(path)
        self.check_circles()
        self.check_list("include")
        self.check_list("runtime/include")
        return self.breaches

    @staticmethod
    def place(path: pathlib.Path) -> str:
        return "/".join(path.parts[: 2 if path.parts[0] == "runtime" else 1])

    def may_use(self, path: pathlib.Path, found: pathlib.Path) -> bool:
        if found.parts[0] == "kernels" and path.parts[0] == "runtime":
            return path.parts[1] == "cuda"
        return found.parts[0] == path.parts[0] or found.parts[0] in MAY_USE[path.parts[0]]

    def layer(self, path: pathlib.Path) -> int:
        name = path.parts[2]  # include/allot/NAME
        return LAYERS.index(name) if name in LAYERS else -1

    def check_form(self, path: pathlib.Path) -> None:
        text = self.sources[path]
        if not text.startswith("// SPDX-License-Identifier: Apache-2.0\n"):
            self.breach(path, "does not start with the SPDX line")
        if "\n#pragma once\n" not in text:
            self.breach(path, "has no #pragma once")
        if text.count("\n") > MAX_LINES:
            self.breach(path, f"has {text.count(chr(10))} lines, more than {MAX_LINES}")

    def check_runtime(self, path: pathlib.Path) -> None:
        public = path.parts[1] == "include"
        if public:
            self.check_form(path)
            if path.parts[:4] != ("runtime", "include", "allot", "runtime"):
                self.breach(path, "belongs below runtime/include/allot/runtime")
        for kind, name, found in self.includes(path):
            if public and kind == '"':
                self.breach(path, f'includes "{name}"; a public header is named <allot/…>')
            if found is None and path.parts[1] != "cuda" and CUDA.search(name):
                self.breach(path, f"may not include {name}")

    def check_public_header(self, path: pathlib.Path) -> None:
        if path.parts[:2] != ("include", "allot") or self.layer(path) < 0:
            self.breach(path, f"belongs to no layer; there are {', '.join(LAYERS)}")
            return
        self.check_form(path)
        is_hana = path.name == "hana.hpp"
        is_describe = path.name == "describe.hpp"
        for kind, name, found in self.includes(path):
            if found is None:
                opted = (is_hana and name.startswith("boost/hana/")) or (is_describe and name == "string")
                if not (name in CHEAP or opted):
                    self.breach(path, f"may not include {name}")
                continue
            if kind == '"':
                self.breach(path, f'includes "{name}"; a public header is named <allot/…>')
            if self.layer(found) > self.layer(path):
                self.breach(path, f"{LAYERS[self.layer(path)]} may not use {name}")

    def check_circles(self) -> None:
        done, open_ = set(), []

        def visit(path: pathlib.Path) -> None:
            if path in open_:
                circle = open_[open_.index(path) :] + [path]
                self.breach(path, "circular include: " + " > ".join(p.name for p in circle))
            elif path not in done:
                open_.append(path)
                for _, _, found in self.includes(path):
                    if found:
                        visit(found)
                open_.pop()
                done.add(path)

        for path in self.sources:
            visit(path)

    def check_list(self, folder: str) -> None:
        listing = self.root / folder / "meson.build"
        listed = re.findall(r"'(allot/[^']+)'", listing.read_text())
        sources = [path.as_posix() for path in self.sources]
        present = [name[len(folder) + 1 :] for name in sources if name.startswith(folder + "/")]
        for name in sorted(set(present) - set(listed)):
            self.breach(f"{folder}/meson.build", f"does not list {name}")
        for name in sorted(set(listed) - set(present)):
            self.breach(f"{folder}/meson.build", f"lists {name}, which is not there")
        if listed != sorted(set(listed)):
            self.breach(f"{folder}/meson.build", "is not sorted, or lists a header twice")


def main() -> int:
    tree = Tree(pathlib.Path(sys.argv[1]))
    breaches = tree.check()
    print("\n".join(breaches) or f"{len(tree.sources)} sources keep to the diagram")
    return 1 if breaches or not tree.sources else 0


if __name__ == "__main__":
    sys.exit(main())
