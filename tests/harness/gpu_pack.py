#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_pack.py FOLDER COMPILER…: what a machine with nvcc, g++, python3 and a GPU, but no network, lacks.

    meson, ninja             bin/ is for PATH
    doctest, hana, json      include/ has the headers that a compiler opens, and no others
    benchmark                the same, and its library in lib/

Meson and ninja come from PyPI, for those run with any Python and any libc; where it cannot be reached,
they are this machine's. What is up to date is left as it is.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

MESON = "1.8.5"  # runs on Python 3.7 and newer; 1.0 does not on 3.12
NINJA = "1.13.0"
HEADERS = {
    "doctest": "doctest/doctest.h",
    "hana": "boost/hana.hpp",
    "json": "nlohmann/json.hpp",
    "benchmark": "benchmark/benchmark.h",
}

MESON_PY = """import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from mesonbuild.mesonmain import main

sys.exit(main())
"""
MESON_SH = '#!/bin/sh\nexec python3 "$(dirname -- "$0")/../meson.py" "$@"\n'


def stop(why: str):
    sys.exit(f"x: {why}")


def output_of(command: list, **more) -> str:
    """What a program prints; nothing where it cannot be run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def wheel(name: str, version: str, place: pathlib.Path):
    """The wheel from PyPI for this kind of machine, or None."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
    output_of([*command, "--disable-pip-version-check", "-d", str(place), f"{name}=={version}"], timeout=120)
    return next(place.glob(f"{name}-*.whl"), None)


def executable(file: pathlib.Path, text=None):
    file.parent.mkdir(parents=True, exist_ok=True)
    if text is not None:
        file.write_text(text)
    file.chmod(0o755)


def meson_of_this_machine():
    """Its Python package, asked of the Python that its program names."""
    program = shutil.which("meson")
    if not program:
        return None
    first = pathlib.Path(program).open("rb").readline().decode(errors="replace")
    python = first[2:].split() if first.startswith("#!") else [sys.executable]
    found = output_of([*python, "-c", "import mesonbuild; print(mesonbuild.__path__[0])"]).strip()
    return pathlib.Path(found) if found else None


def pack_meson(folder: pathlib.Path) -> str:
    package = folder / "meson" / "mesonbuild"
    core = package / "coredata.py"
    if not core.exists() or f"version = '{MESON}'" not in core.read_text():
        shutil.rmtree(folder / "meson", ignore_errors=True)
        with tempfile.TemporaryDirectory() as place:
            downloaded = wheel("meson", MESON, pathlib.Path(place))
            if downloaded:
                with zipfile.ZipFile(downloaded) as archive:
                    of_package = [name for name in archive.namelist() if name.startswith("mesonbuild/")]
                    archive.extractall(folder / "meson", of_package)
        if not core.exists():
            here = meson_of_this_machine() or stop("there is no Meson to pack")
            shutil.copytree(here, package, ignore=shutil.ignore_patterns("__pycache__"))
    executable(folder / "meson" / "meson.py", MESON_PY)
    executable(folder / "meson" / "bin" / "meson", MESON_SH)
    # Running it leaves byte code behind, which says nothing to another Python.
    version = output_of([sys.executable, "-B", folder / "meson" / "meson.py", "--version"]).strip()
    if not version:
        stop(f"the packed Meson does not run on {sys.executable}")
    if version != MESON:
        warning = f"PyPI cannot be reached; Meson {version} of this machine may not run on a newer Python"
        print(f"x: {warning}", file=sys.stderr)
    return version


def pack_ninja(folder: pathlib.Path) -> str:
    packed = folder / "ninja" / "bin" / "ninja"
    if not output_of([packed, "--version"]).startswith(NINJA):
        with tempfile.TemporaryDirectory() as place:
            downloaded = wheel("ninja", NINJA, pathlib.Path(place))
            packed.parent.mkdir(parents=True, exist_ok=True)
            packed.unlink(missing_ok=True)
            if downloaded:
                with zipfile.ZipFile(downloaded) as archive:
                    program = next(n for n in archive.namelist() if n.endswith(("/bin/ninja", "/scripts/ninja")))
                    packed.write_bytes(archive.read(program))
            else:
                here = shutil.which("ninja") or stop("there is no ninja to pack")
                shutil.copyfile(pathlib.Path(here).resolve(), packed)
    executable(packed)
    return output_of([packed, "--version"]).strip() or stop("the packed ninja does not run")


def pack_headers(name: str, folder: pathlib.Path, compiler: list) -> str:
    """Copies what including the header opens, and returns its version."""
    header = HEADERS[name]
    listed = output_of([*compiler, "-std=c++20", "-M", "-x", "c++", "-"], input=f"#include <{header}>\n")
    opened = [pathlib.Path(word) for word in listed.replace("\\\n", " ").split()[1:]]
    start = next((str(path)[: -len(header)] for path in opened if str(path).endswith("/" + header)), None)
    if start is None:
        stop(f"<{header}> is not there: install its package first")
    target = folder / name / "include"
    shutil.rmtree(target, ignore_errors=True)
    top = start + header.split("/")[0] + "/"
    for path in opened:
        if str(path).startswith(top):
            copy = target / path.relative_to(start)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    return f"{sum(1 for _ in target.rglob('*.h*'))} headers"


def pack_benchmark_library(folder: pathlib.Path, compiler: list) -> str:
    """The static library, else the shared one with the name that programs look for."""
    place = folder / "benchmark" / "lib"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name in ("libbenchmark.a", "libbenchmark.so"):
        found = pathlib.Path(output_of([*compiler, f"-print-file-name={name}"]).strip())
        if not found.is_absolute():
            continue
        shutil.copyfile(found.resolve(), place / name)
        if name.endswith(".so"):
            names = [x for x in output_of(["objdump", "-p", found]).splitlines() if "SONAME" in x]
            if names:
                (place / name).rename(place / names[0].split()[1])
                (place / name).symlink_to(names[0].split()[1])
        return name
    return stop("there is no library of Google Benchmark: install its package first")


def size_of(folder: pathlib.Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def main() -> int:
    folder, compiler = pathlib.Path(sys.argv[1]), sys.argv[2:]
    packed = {"meson": pack_meson(folder), "ninja": pack_ninja(folder)}
    for name in HEADERS:
        packed[name] = pack_headers(name, folder, compiler)
    packed["benchmark"] += ", " + pack_benchmark_library(folder, compiler)
    for name, what in packed.items():
        print(f"{name:<10} {size_of(folder / name) / 2**20:5.2f} MiB  {what}")
    print(f"{'in all':<10} {size_of(folder) / 2**20:5.2f} MiB  in {folder}; take it along with the sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
