#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""consumer.py WAY SOURCE_ROOT VERSION: builds app/, another project, on allot in one of four ways.

  pkg-config     Meson finds the installed package by its .pc file
  subproject     Meson builds allot's sources as a subproject
  cmake-package  CMake's find_package() finds the installed package
  cmake-fetch    CMake's FetchContent takes allot's sources

In each only the library may appear: no test, benchmark or command is built or installed. Skipped
(exit 77) without CMake.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

way, source_root, version = sys.argv[1:]
source_root = pathlib.Path(source_root)
app = pathlib.Path(__file__).resolve().parent / "app"
meson = os.environ.get("MESON", "meson")


def run(*command, **more) -> str:
    result = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more
    )
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}")
    return result.stdout


def expect(what: str, got, wanted) -> None:
    if got != wanted:
        sys.exit(f"{what}: got {got}, expected {wanted}")


def install(prefix: pathlib.Path) -> None:
    """Installs allot as a packager would who wants the library alone, and checks what that is."""
    build = prefix.with_name("allot build")
    off = [f"-D{name}=disabled" for name in ("tests", "bench", "tools", "runtime")]
    run(meson, "setup", f"--prefix={prefix}", *off, build, source_root)
    expect("targets of the library", json.loads(run(meson, "introspect", "--targets", build)), [])
    run(meson, "install", "-C", build)
    headers = re.findall(r"'(allot/[^']+)'", (source_root / "include/meson.build").read_text())
    expect(
        "installed files",
        sorted(p.relative_to(prefix).as_posix() for p in prefix.rglob("*") if p.is_file()),
        sorted(
            [f"include/{header}" for header in headers]
            + ["share/cmake/allot/allotConfig.cmake", "share/cmake/allot/allotConfigVersion.cmake"]
            + ["share/pkgconfig/allot.pc"]
        ),
    )


def build_with_meson(source: pathlib.Path, build: pathlib.Path, *options, **more) -> None:
    run(meson, "setup", *options, build, source, **more)
    targets = json.loads(run(meson, "introspect", "--targets", build))
    built = [target["name"] for target in targets if target["build_by_default"]]
    expect("targets of the whole build", built, ["consumer"])
    run(meson, "compile", "-C", build)


def build_with_cmake(source: pathlib.Path, build: pathlib.Path, *options) -> None:
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, *options)
    run("cmake", "--build", build)


with tempfile.TemporaryDirectory() as scratch:
    # A name with a blank in it, for paths that are not quoted somewhere.
    work = pathlib.Path(scratch) / "consumer of allot"
    source, build, prefix = work / "app", work / "build", work / "installed"
    shutil.copytree(app, source)
    if way.startswith("cmake") and shutil.which("cmake") is None:
        print("cmake is not installed")
        sys.exit(77)

    if way == "pkg-config":
        install(prefix)
        path = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")}
        build_with_meson(source, build, "--wrap-mode=nofallback", env=path)
    elif way == "subproject":
        (source / "subprojects").mkdir()
        (source / "allot.wrap").rename(source / "subprojects/allot.wrap")
        (source / "subprojects/allot").symlink_to(source_root, target_is_directory=True)
        build_with_meson(source, build, "--force-fallback-for=allot")
    elif way == "cmake-package":
        install(prefix)
        moved = prefix.rename(work / "moved elsewhere")  # the package finds its headers all the same
        build_with_cmake(source, build, f"-DCMAKE_PREFIX_PATH={moved}", f"-DALLOT_VERSION={version}")
    elif way == "cmake-fetch":
        sources = f"-DFETCHCONTENT_SOURCE_DIR_ALLOT={source_root}"
        build_with_cmake(source, build, "-DALLOT_FETCH=ON", f"-DALLOT_VERSION={version}", sources)
    else:
        sys.exit(__doc__)

    print(run(build / "consumer"), end="")
