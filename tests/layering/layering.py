#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""layering.py ROOT: holds the sources below ROOT to the include diagram; prints every breach.

  include/allot:  core < policy < table < family < plan < solve < laws.hpp < allot.hpp, hana.hpp
  folders:        include < json < model < tools (arrows point down only)

A public header may use itself, its own layer and those before it, a few cheap standard headers, and
nothing else; hana.hpp alone may use Boost, and no other header may use hana.hpp. Headers of
include/allot are listed in include/meson.build, have a licence line and `#pragma once`, are under
300 lines and never include each other in a circle.
"""
import os
import pathlib
import re
import sys

LAYERS = ["core", "policy", "table", "family", "plan", "solve", "laws.hpp", "allot.hpp", "hana.hpp"]
FOLDERS = ["include", "json", "model", "tools"]
# What a header may cost its includer: none of these brings in <algorithm>, a container or a stream.
CHEAP = set(
    "array bit compare concepts cstddef cstdint initializer_list limits tuple type_traits utility".split()
)
SUFFIXES = {".hpp", ".h", ".cpp", ".c", ".cu"}
MAX_LINES = 299

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
        for base in [pathlib.Path("include")] + bases:
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
                if found and FOLDERS.index(found.parts[0]) > FOLDERS.index(path.parts[0]):
                    self.breach(path, f"{path.parts[0]}/ may not use {found.parts[0]}/ ({name})")
            if path.parts[0] == "include":
                self.check_public_header(path)
        self.check_circles()
        self.check_list()
        return self.breaches

    def layer(self, path: pathlib.Path) -> int:
        name = path.parts[2]  # include/allot/NAME
        return LAYERS.index(name) if name in LAYERS else -1

    def check_public_header(self, path: pathlib.Path) -> None:
        text = self.sources[path]
        if path.parts[:2] != ("include", "allot") or self.layer(path) < 0:
            self.breach(path, f"belongs to no layer; there are {', '.join(LAYERS)}")
            return
        if not text.startswith("// SPDX-License-Identifier: Apache-2.0\n"):
            self.breach(path, "does not start with the SPDX line")
        if "\n#pragma once\n" not in text:
            self.breach(path, "has no #pragma once")
        if text.count("\n") > MAX_LINES:
            self.breach(path, f"has {text.count(chr(10))} lines, more than {MAX_LINES}")
        is_hana = path.name == "hana.hpp"
        for kind, name, found in self.includes(path):
            if found is None:
                if not (name in CHEAP or (is_hana and name.startswith("boost/hana/"))):
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

    def check_list(self) -> None:
        listing = self.root / "include/meson.build"
        listed = re.findall(r"'(allot/[^']+)'", listing.read_text())
        present = [p.relative_to("include").as_posix() for p in self.sources if p.parts[0] == "include"]
        for name in sorted(set(present) - set(listed)):
            self.breach("include/meson.build", f"does not list {name}")
        for name in sorted(set(listed) - set(present)):
            self.breach("include/meson.build", f"lists {name}, which is not there")
        if listed != sorted(set(listed)):
            self.breach("include/meson.build", "is not sorted, or lists a header twice")


def main() -> int:
    tree = Tree(pathlib.Path(sys.argv[1]))
    breaches = tree.check()
    print("\n".join(breaches) or f"{len(tree.sources)} sources keep to the diagram")
    return 1 if breaches or not tree.sources else 0


if __name__ == "__main__":
    sys.exit(main())
