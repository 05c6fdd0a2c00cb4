#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""consumer.py WAY[.runtime] SOURCE_ROOT VERSION: builds app/, another project, on allot in one of four ways.

  pkg-config     Meson finds the installed package by its .pc file
  subproject     Meson builds allot's sources as a subproject
  cmake-package  CMake's find_package() finds the installed package
  cmake-fetch    CMake's FetchContent takes allot's sources

In each only the library may appear: no test, benchmark or command is built or installed, and the runtime
library only with `.runtime`, when app/ asks for it. Skipped (exit 77) without CMake.
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
with_runtime = way.endswith(".runtime")
way = way.split(".")[0]
source_root = pathlib.Path(source_root)
app = pathlib.Path(__file__).resolve().parent / "app"
meson = os.environ.get("MESON", "meson")


runtime_option = [] if with_runtime else ["-Druntime=disabled"]


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


def listed(meson_build: str) -> list:
    return [f"include/{name}" for name in re.findall(r"'(allot/[^']+)'", (source_root / meson_build).read_text())]


def install(prefix: pathlib.Path) -> None:
    """Installs allot as a packager would who wants the libraries alone, and checks what that is."""
    build = prefix.with_name("allot build")
    off = [f"-D{name}=disabled" for name in ("tests", "bench", "tools")]
    # A static library is the harder one: what it needs must be in the package files.
    kind = ["--default-library=static" if way == "cmake-package" else "--default-library=shared"]
    run(meson, "setup", f"--prefix={prefix}", "--libdir=lib", *kind, *off, *runtime_option, build, source_root)
    targets = [target["name"] for target in json.loads(run(meson, "introspect", "--targets", build))]
    # Parts of the runtime are compiled apart, with other arguments, and become a part of it.
    targets = [name for name in targets if not name.startswith("allot-host")]
    expect("targets of the library", targets, ["allot-runtime"] if with_runtime else [])
    run(meson, "install", "-C", build)
    expected = ["share/cmake/allot/allotConfig.cmake", "share/cmake/allot/allotConfigVersion.cmake"]
    expected += ["share/pkgconfig/allot.pc"] + listed("include/meson.build")
    if with_runtime:
        suffixes = ["a"] if way == "cmake-package" else ["so", "so.0", f"so.{version}"]
        expected += ["lib/liballot-runtime." + suffix for suffix in suffixes]
        expected += ["lib/pkgconfig/allot-runtime.pc"] + listed("runtime/include/meson.build")
    installed = [path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file()]
    expect("installed files", sorted(installed), sorted(expected))


def build_with_meson(source: pathlib.Path, build: pathlib.Path, *options, **more) -> None:
    wanted = f"-Dwith_runtime={str(with_runtime).lower()}"
    run(meson, "setup", *options, wanted, build, source, **more)
    targets = json.loads(run(meson, "introspect", "--targets", build))
    built = [target["name"] for target in targets if target["build_by_default"]]
    expect("targets of the whole build", built, ["consumer"] + ["runtime_consumer"] * with_runtime)
    run("ninja", "-C", build)
    library = build / "subprojects/allot/runtime/liballot-runtime.a"
    expect("runtime library built", library.exists(), with_runtime and way == "subproject")


def build_with_cmake(source: pathlib.Path, build: pathlib.Path, *options) -> None:
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DWITH_RUNTIME={with_runtime}", *options)
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
        places = [prefix / "share/pkgconfig", prefix / "lib/pkgconfig"]
        path = {**os.environ, "PKG_CONFIG_PATH": os.pathsep.join(map(str, places))}
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
    if with_runtime:
        print(run(build / "runtime_consumer"), end="")
