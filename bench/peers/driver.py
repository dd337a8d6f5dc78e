#!/usr/bin/env python3
"""Runs Saccade and its rivals in turns; bench/peers/run prepares the environment and calls it. See README.md beside it."""
import argparse
import datetime
import fnmatch
import importlib.metadata
import os
import sys

import ops
import report
import rounds
import work
from worker import RUNTIMES

PACKAGES = ["torch", "transformers", "onnxruntime", "openvino", "ctranslate2", "numpy"]
ALL_RUNTIMES = [rounds.SACCADE, *RUNTIMES]
GROUPS = [*work.MODELS, "ops"]


def parse():
    names = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser(prog="bench/peers/run", description="Saccade beside other runtimes on the same work.")
    parser.add_argument("--quick", action="store_true", help="two rounds of small cases: does everything run?")
    parser.add_argument("--threads", type=names, default=sorted({"1", str(len(os.sched_getaffinity(0)))}), help="1,2")
    parser.add_argument("--models", type=names, default=GROUPS, help=",".join(GROUPS))
    parser.add_argument("--cases", default="*", help="shell pattern of names: 1x*, 32x128-0.6, softmax*")
    parser.add_argument("--runtimes", type=names, default=ALL_RUNTIMES, help=",".join(ALL_RUNTIMES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", default="build/peers/results", help="folder of results.json, results.md, results.html")
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.threads = [int(count) for count in options.threads]
    options.models_folder = os.path.join(options.build, "peers/models")
    options.selected = [case for case in work.CASES if fnmatch.fnmatch(case.name, options.cases)]
    options.selected_ops = [op for op in ops.OPS if fnmatch.fnmatch(op.name, options.cases)]
    if options.quick:
        options.rounds, options.selected = 2, [work.Case(1, 8), work.Case(1, 32), work.Case(4, 32, 0.6)]
        options.selected_ops = [op for op in ops.OPS if op.name.startswith("attention-128") or op.name.endswith("-1MiB")]
    unknown = [name for name in options.models if name not in GROUPS]
    unknown += [name for name in options.runtimes if name not in ALL_RUNTIMES]
    if unknown or not options.selected + options.selected_ops or options.rounds < 1:
        parser.error(f"nothing to run: unknown {unknown}, cases {options.cases}, {options.rounds} rounds")
    return options


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def run_rows(group, cases, result, options):
    """Rows one after the other; the files are written after each."""
    try:
        for case in cases:
            row = group.row(case)
            result["ops" if group.group == "ops" else "rows"].append(row)
            rounds.say("  " + report.row_text(row))
            if group.group != "ops" and case is cases[0]:
                result["memory"] += group.memory(case)
            report.write(result, options.out)
    finally:
        group.close()


def main():
    options = parse()
    os.makedirs(options.out, exist_ok=True)
    result = {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
              "command": " ".join(["bench/peers/run", *sys.argv[1:]]), "machine": rounds.saccade_json(options.build, "info"),
              "versions": {package: version(package) for package in PACKAGES}, "rounds": options.rounds,
              "runtimes": options.runtimes, "missing": [], "rows": [], "memory": [], "ops": []}
    bert_base = os.path.join(options.models_folder, "bert-base")
    if "bert-base" in options.models and not os.path.exists(os.path.join(bert_base, "model.safetensors")):
        rounds.prepare("bert-base", bert_base)
    try:
        for name in options.models:
            for threads in options.threads if name in work.MODELS else [1]:
                rounds.say(f"{name}, {threads} thread{'s' if threads > 1 else ''}")
                if name in work.MODELS:
                    group, cases = rounds.EncoderRounds(work.MODELS[name], threads, options, result["missing"]), options.selected
                else:
                    group, cases = rounds.OpRounds(name, threads, options, result["missing"]), options.selected_ops
                run_rows(group, cases, result, options)
    except KeyboardInterrupt:
        rounds.say("interrupted: the rows so far are kept")
    if not result["rows"] + result["ops"]:
        sys.exit("bench/peers/run: no row was finished")
    for name in "json", "md", "html":
        rounds.say(os.path.join(options.out, f"results.{name}"))


if __name__ == "__main__":
    main()
