#!/usr/bin/env python3
"""Registers, static shared memory, stack and spills of every kernel as ptxas reports them.

  register_table.py --nvcc NVCC > register_table.txt          write the table
  register_table.py --nvcc NVCC --check register_table.txt    compare: fails on spills, on a kernel that is new or gone, and on more than
                                                              8 registers or any shared memory above the table
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ARCHITECTURE = "sm_90"  # the table's; other ones are watched by -Xptxas=-warn-spills,-Werror in the build
REGISTER_SLACK = 8      # one allocation unit of registers per thread; compilers move by that much


def compile_kernels(nvcc):
    folder = pathlib.Path(__file__).resolve().parent
    table = {}
    with tempfile.TemporaryDirectory() as scratch:
        for source in sorted(folder.glob("*.cu")):
            command = [nvcc, "-cubin", f"-arch={ARCHITECTURE}", "-std=c++20", "-O3", "--expt-relaxed-constexpr", "-Xptxas=-v",
                       f"-I{folder.parent.parent}", str(source), "-o", f"{scratch}/{source.stem}.cubin"]
            if source.stem == "compress":
                command.insert(1, "-fmad=false")
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
            kernel = None
            for line in (done.stdout + done.stderr).splitlines():
                if match := re.search(r"Compiling entry function '(\w+)'", line):
                    kernel = match[1]
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
    names = subprocess.run(["c++filt"], input="\n".join(table), capture_output=True, text=True, check=True).stdout.splitlines()
    short = [re.sub(r"\(.*", "", n.replace("stepcast::runtime::", "").replace("void ", "", 1)).replace(" ", "") for n in names]
    return dict(sorted(zip(short, table.values())))


def read(path):
    rows = [line.split() for line in open(path) if line.strip() and not line.startswith("#")]
    return {r[0]: {"registers": int(r[1]), "shared": int(r[2]), "stack": int(r[3]), "spills": int(r[4])} for r in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--check")
    arguments = parser.parse_args()
    now = compile_kernels(arguments.nvcc)
    if not arguments.check:
        print(f"# kernel registers shared_bytes stack_bytes spill_bytes; {ARCHITECTURE}; made by register_table.py, not by hand")
        for name, row in now.items():
            print(name, row["registers"], row["shared"], row["stack"], row["spills"])
        return
    problems = []
    table = read(arguments.check)
    for name in sorted(set(table) | set(now)):
        if name not in table or name not in now:
            problems.append(f"{name}: {'new, add it to the table' if name in now else 'in the table, but no such kernel'}")
            continue
        old, new = table[name], now[name]
        if new["spills"] > 0:
            problems.append(f"{name}: spills {new['spills']} bytes")
        if new["registers"] > old["registers"] + REGISTER_SLACK:
            problems.append(f"{name}: {new['registers']} registers, the table has {old['registers']}")
        if new["shared"] > old["shared"]:
            problems.append(f"{name}: {new['shared']} bytes of shared memory, the table has {old['shared']}")
    print("\n".join(problems) if problems else f"{len(now)} kernels as in the table")
    sys.exit(1 if problems else 0)


main()
