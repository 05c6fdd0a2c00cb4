#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compiler as a test: what every kernel takes of an SM on every architecture, against a table.

kernel_resources.py [--write] --nvcc NVCC --table CSV -- FLAG… FILE.cu…

Compiles each file for each architecture with the flags of the build, and reads what ptxas says. It fails
when a kernel spills registers, when a kernel is missing or new, and when a number is another one than in the
table. Numbers are those of one release of nvcc: with another one only spills and the list of kernels count.
`--write` writes the table, which is then read in review.
"""
import argparse
import concurrent.futures
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ARCHITECTURES = ["80", "89", "90", "100", "120"]
COLUMNS = ["kernel", "sm", "registers", "spill_stores", "spill_loads", "stack_bytes", "shared_bytes"]
ELEMENTS = ["fp32", "fp16", "bf16", "fp8", "int8", "fp4"]  # of allot::element

ENTRY = re.compile(r"Compiling entry function '(\S+)' for 'sm_(\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def short_name(demangled: str) -> str:
    """`decode_kernel<192/128 bf16 4>` of what c++filt says."""
    name = re.sub(r"\(anonymous namespace\)::|\ballot::|\bkernels::|\bdetail::|^void ", "", demangled)
    name = re.sub(r"head_shape<(\d+), (\d+)>", r"\1/\2", name)
    name = re.sub(r"element_type<\(element\)(\d+)>", lambda found: ELEMENTS[int(found[1])], name)
    depth, end = 0, len(name)
    for i, letter in enumerate(name):  # the parameters begin outside of <>
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and depth == 0:
            end = i
            break
    return re.sub(r"\s+>", ">", name[:end].replace(", ", " "))


def parse(said: str) -> list:
    """Rows of what `ptxas -v` says of one file and one architecture."""
    rows = []
    for entry in re.split(r"(?=ptxas info\s+: Compiling entry function)", said)[1:]:
        name, sm = ENTRY.search(entry).groups()
        stack, stores, loads = STACK.search(entry).groups()
        shared = SHARED.search(entry)
        rows.append([name, sm, REGISTERS.search(entry)[1], stores, loads, stack, shared[1] if shared else "0"])
    return rows


def compile_one(nvcc: str, flags: list, source: str, arch: str) -> list:
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, *flags, "-Xptxas=-v", "-cubin", f"-arch=sm_{arch}", source]
        result = subprocess.run(
            command + ["-o", os.path.join(folder, "out.cubin")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{result.stdout}")
    rows = parse(result.stdout)
    if not rows:
        raise RuntimeError(f"{source} has no kernel for sm_{arch}, says ptxas:\n{result.stdout}")
    return rows


def measure(nvcc: str, flags: list, sources: list) -> dict:
    """{(kernel, sm): [registers, …]}"""
    jobs = [(source, arch) for source in sources for arch in ARCHITECTURES]
    jobs.sort(key=lambda job: "attend" not in job[0])  # those that take longest first
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [row for rows in pool.map(lambda job: compile_one(nvcc, flags, *job), jobs) for row in rows]
    names = subprocess.run(
        ["c++filt"], input="\n".join(row[0] for row in found), stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    measured = {(short_name(name), row[1]): row[2:] for name, row in zip(names, found)}
    if len(measured) != len(found):
        raise RuntimeError("two kernels have one name")
    return measured


def release_of(nvcc: str) -> str:
    said = subprocess.run([nvcc, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"V(\d+\.\d+\.\d+)", said)[1]


def read_table(path: pathlib.Path) -> tuple:
    """(release, rows as `measure` returns them)"""
    first, *lines = path.read_text().splitlines()
    rows = list(csv.reader(lines))
    if not first.startswith("# nvcc ") or rows[0] != COLUMNS:
        raise RuntimeError(f"{path} is no table of this program")
    return first.split()[2], {(row[0], row[1]): row[2:] for row in rows[1:]}


def write_table(path: pathlib.Path, release: str, rows: dict) -> None:
    with open(path, "w", newline="") as file:
        file.write(f"# nvcc {release}\n")
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for (kernel, sm), numbers in sorted(rows.items(), key=lambda row: (row[0][0], int(row[0][1]))):
            out.writerow([kernel, sm, *numbers])


def compare(measured: dict, table: dict, same_release: bool) -> list:
    """What is wrong, a line each."""
    wrong = []
    for key in sorted(measured.keys() | table.keys()):
        kernel = f"{key[0]} for sm_{key[1]}"
        if key not in table:
            wrong.append(f"{kernel} is not in the table")
        elif key not in measured:
            wrong.append(f"{kernel} is in the table, and was not compiled")
        else:
            for column, now, then in zip(COLUMNS[2:], measured[key], table[key]):
                if column.startswith("spill") and now != "0":
                    wrong.append(f"{kernel}: {column} is {now}; nothing may spill")
                elif same_release and now != then:
                    wrong.append(f"{kernel}: {column} is {now}; in the table it is {then}")
    return wrong


def main(words: list) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table anew")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--table", type=pathlib.Path, required=True, metavar="CSV")
    parser.add_argument("words", nargs="+", metavar="FLAG or FILE.cu", help="after `--`")
    args = parser.parse_args(words)

    flags = [word for word in args.words if not word.endswith(".cu")]
    sources = [word for word in args.words if word.endswith(".cu")]
    release = release_of(args.nvcc)
    measured = measure(args.nvcc, flags, sources)
    if args.write:
        write_table(args.table, release, measured)
    table_release, table = read_table(args.table)
    wrong = compare(measured, table, release == table_release)
    for line in wrong:
        print(line)
    kernels = len({kernel for kernel, _ in measured})
    print(f"{kernels} kernels for {', '.join('sm_' + arch for arch in ARCHITECTURES)}, {len(wrong)} faults")
    if release != table_release:
        print(f"this is nvcc {release}, the table is of {table_release}: only spills and the list of kernels were compared")
    if wrong:
        print("if that is meant: the same command with --write in front of --nvcc")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
