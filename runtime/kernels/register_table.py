#!/usr/bin/env python3
"""Registers, static shared memory, stack and spills of every kernel as ptxas reports them.

  register_table.py --nvcc NVCC > register_table.txt          write the table
  register_table.py --nvcc NVCC --check register_table.txt    compare: fails on spills, on a kernel that is new or gone, and on more than
                                                              8 registers or any shared memory or stack above the table
  --architectures 80,90,100                                   of the table's architectures, only these
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ARCHITECTURES = "80,90,100"  # those of cmake/StepcastCuda.cmake
REGISTER_SLACK = 8           # one allocation unit of registers per thread; compilers move by that much


def compile_kernels(nvcc, architectures):
    """{(architecture, kernel): {registers, shared, stack, spills}} as ptxas -v reports them."""
    targets = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures]
    folder = pathlib.Path(__file__).resolve().parent
    table = {}
    with tempfile.TemporaryDirectory() as scratch:
        for source in sorted(folder.glob("*.cu")):
            command = [nvcc, "-fatbin", *targets, "-std=c++20", "-O3", "--expt-relaxed-constexpr", "-Xptxas=-v",
                       f"-I{folder.parent.parent}", str(source), "-o", f"{scratch}/{source.stem}.fatbin"]
            if source.stem == "compress":
                command.insert(1, "-fmad=false")
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
            kernel = None
            for line in (done.stdout + done.stderr).splitlines():
                if match := re.search(r"Compiling entry function '(\w+)' for '(\w+)'", line):
                    kernel = (match[2], match[1])
                    table[kernel] = {"registers": 0, "shared": 0, "stack": 0, "spills": 0}
                elif kernel and (match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)):
                    table[kernel]["stack"] = int(match[1])
                    table[kernel]["spills"] = int(match[2]) + int(match[3])
                elif kernel and (match := re.search(r"Used (\d+) registers", line)):
                    table[kernel]["registers"] = int(match[1])
                    if shared := re.search(r"(\d+) bytes smem", line):
                        table[kernel]["shared"] = int(shared[1])
    if not table:
        sys.exit("no kernel was compiled")
    names = subprocess.run(["c++filt"], input="\n".join(name for _, name in table), capture_output=True, text=True, check=True).stdout.splitlines()
    short = [re.sub(r"\(.*", "", n.replace("stepcast::runtime::", "").replace("void ", "", 1)).replace(" ", "") for n in names]
    keys = [(architecture, name) for (architecture, _), name in zip(table, short)]
    return dict(sorted(zip(keys, table.values()), key=lambda row: (row[0][1], int(row[0][0][3:]))))


def read(path):
    rows = [line.split() for line in open(path) if line.strip() and not line.startswith("#")]
    return {(r[1], r[0]): dict(zip(("registers", "shared", "stack", "spills"), map(int, r[2:6]))) for r in rows}


def differences(old_table, new_table):
    """Sentences, one per kernel and architecture that got worse, or that only one table has."""
    for key in sorted(set(old_table) | set(new_table)):
        name = f"{key[1]} on {key[0]}"
        if key not in old_table or key not in new_table:
            yield f"{name}: {'new, add it to the table' if key in new_table else 'in the table, but no such kernel'}"
            continue
        old, new = old_table[key], new_table[key]
        if new["spills"] > 0:
            yield f"{name}: spills {new['spills']} bytes"
        for what, slack in (("registers", REGISTER_SLACK), ("shared", 0), ("stack", 0)):
            if new[what] > old[what] + slack:
                yield f"{name}: {what} {new[what]}, the table has {old[what]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--architectures", default=ARCHITECTURES)
    parser.add_argument("--check", metavar="TABLE")
    arguments = parser.parse_args()
    architectures = arguments.architectures.split(",")
    now = compile_kernels(arguments.nvcc, architectures)
    if not arguments.check:
        print("# kernel architecture registers shared_bytes stack_bytes spill_bytes; made by register_table.py, not by hand")
        for (architecture, name), row in now.items():
            print(name, architecture, *row.values())
        return
    table = {key: row for key, row in read(arguments.check).items() if key[0][3:] in architectures}
    problems = list(differences(table, now))
    print("\n".join(problems) if problems else f"{len(now)} kernels as in the table")
    sys.exit(1 if problems else 0)


main()
