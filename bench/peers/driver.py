#!/usr/bin/env python3
"""Runs Saccade and its rivals in turns; bench/peers/run prepares the environment and calls it. See README.md beside it."""
import argparse
import datetime
import fnmatch
import importlib.metadata
import json
import os
import random
import subprocess
import sys

import numpy as np

import report
import work
from process import Failed, Process
from worker import RUNTIMES

HERE = os.path.dirname(os.path.abspath(__file__))
SACCADE = "saccade"
# What each rival needs beside config.json and model.safetensors: a step of prepare.py and the file that it leaves.
EXPORTS = {"onnxruntime": ("onnx", "fused.onnx"), "openvino": ("openvino", "openvino.xml"),
           "ctranslate2": ("ctranslate2", "ctranslate2/model.bin")}
PACKAGES = ["torch", "transformers", "onnxruntime", "openvino", "ctranslate2", "numpy"]
TURN_SECONDS, MOST_CALLS = 0.4, 50  # a turn is one call, or as many as fit


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def prepare(step, folder, *arguments):
    result = subprocess.run([sys.executable, os.path.join(HERE, "prepare.py"), step, folder, *arguments], capture_output=True,
                            text=True, check=False)
    if result.returncode != 0:
        raise Failed(f"{step}: " + (result.stderr.strip().splitlines() or ["no message"])[-1][:300])


def saccade_json(build, *arguments):
    command = [os.path.join(build, "bin/saccade"), *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["results"]


def peak(build, threads):
    return saccade_json(build, "bench", "peak", "--threads", threads, "--repeat", 1)["peak_gflops"]


class Comparison:
    """One model and number of threads: a process for each runtime, rows of one case each."""

    def __init__(self, model, threads, options, missing):
        self.model, self.threads, self.options, self.missing = model, threads, options, missing
        self.folder = os.path.join(options.models_folder, model.name)
        self.cases_folder = os.path.join(options.out, "cases")
        self.processes, self.versions = {}, {}
        for name in options.runtimes:
            try:
                self.start(name)
            except (Failed, OSError) as error:
                self.drop(name, error)

    def start(self, name):
        if name == SACCADE:
            command = [os.path.join(self.options.build, "bench/saccade_worker")]
        else:
            command = [sys.executable, os.path.join(HERE, "worker.py"), name]
            step, file = EXPORTS.get(name, (None, "config.json"))
            if not os.path.exists(os.path.join(self.folder, file)):
                say(f"  exporting {self.model.name} for {name}")
                prepare(step, self.folder)
        log = os.path.join(self.options.out, f"{name}-{self.model.name}-{self.threads}.log")
        process = self.processes[name] = Process(command, self.threads, log)
        before = int(process.ask("rss"))
        self.versions[name] = process.ask("load", self.folder, self.threads)
        process.before = before

    def drop(self, name, error):
        say(f"  {name}: missing: {error}")
        self.missing.append({"runtime": name, "model": self.model.name, "threads": self.threads, "reason": str(error)})
        if name in self.processes:
            self.processes.pop(name).close()

    def each(self, action):
        """action(name, process) for every runtime in a new order; one that fails is dropped. Results by name."""
        names = list(self.processes)
        random.shuffle(names)
        results = {}
        for name in names:
            try:
                results[name] = action(name, self.processes[name])
            except Failed as error:
                self.drop(name, error)
        return results

    def row(self, case):
        """Every runtime in turn, once to warm up and `rounds` times to measure."""
        path = work.write_case(case, self.cases_folder)
        lengths = case.lengths()
        prepare("float64", self.folder, path)
        reference = np.load(work.reference_path(self.folder, path))
        output = os.path.join(self.options.out, "output.f32")

        def warm(_, process):
            process.ask("case", case.name, path)
            single = case.sequences == 1
            seconds = float(process.ask("run", case.name, 2 if single else 1).split()[-1])
            process.ask("output", case.name, output)
            hidden = np.fromfile(output, dtype=np.float32)
            if hidden.size != reference.size:
                raise Failed(f"{hidden.size} numbers came, {reference.size} were expected")
            error = float(np.abs(hidden.reshape(reference.shape) - reference).max())
            return error, int(min(MOST_CALLS, max(1, TURN_SECONDS / seconds))) if single else 1

        warmed = self.each(warm)
        peaks = [peak(self.options.build, self.threads)]
        rounds = []
        for _ in range(self.options.rounds):
            rounds.append(self.each(lambda name, process: self.turn(process, case, warmed[name][1])))
        peaks.append(peak(self.options.build, self.threads))
        flops = self.model.flops(lengths)
        return {"model": self.model.name, "threads": self.threads, "case": case.name, "sequences": case.sequences,
                "longest": case.longest, "tokens": sum(lengths), "flops": flops, "peak_gflops": max(peaks),
                "stream_bytes": self.model.stream_bytes(),
                "runtimes": {name: {"max_error": warmed[name][0], "rounds": [turn[name] for turn in rounds]}
                             for name in self.options.runtimes if name in self.processes}}

    @staticmethod
    def turn(process, case, calls):
        """Seconds of each call. A single sequence's first call finds the caches full of other processes' data and is left out."""
        first = 1 if case.sequences == 1 else 0
        return [float(word) for word in process.ask("run", case.name, calls + first).split()[first:]]

    def memory(self, case):
        found = self.each(lambda _, process: int(process.ask("rss")))
        return [{"model": self.model.name, "threads": self.threads, "case": case.name, "runtime": name,
                 "before_load": self.processes[name].before, "peak": bytes_} for name, bytes_ in found.items()]

    def close(self):
        for process in self.processes.values():
            process.close()


def parse():
    names = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser(prog="bench/peers/run", description="Saccade beside other runtimes on the same work.")
    parser.add_argument("--quick", action="store_true", help="two rounds of three small cases of minilm: does everything run?")
    parser.add_argument("--threads", type=names, default=sorted({"1", str(len(os.sched_getaffinity(0)))}), help="1,2")
    parser.add_argument("--models", type=names, default=list(work.MODELS), help=",".join(work.MODELS))
    parser.add_argument("--cases", default="*", help="shell pattern of case names: 1x*, 32x128-0.6")
    parser.add_argument("--runtimes", type=names, default=[SACCADE, *RUNTIMES], help=",".join([SACCADE, *RUNTIMES]))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", default="build/peers/results", help="folder of results.json, results.md, results.html")
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.threads = [int(count) for count in options.threads]
    options.models_folder = os.path.join(options.build, "peers/models")
    options.selected = [case for case in work.CASES if fnmatch.fnmatch(case.name, options.cases)]
    if options.quick:
        options.models, options.rounds = options.models[:1], 2
        options.selected = [work.Case(1, 8), work.Case(1, 32), work.Case(4, 32, 0.6)]
    unknown = [name for name in options.models if name not in work.MODELS]
    unknown += [name for name in options.runtimes if name not in (SACCADE, *RUNTIMES)]
    if unknown or not options.selected or options.rounds < 1:
        parser.error(f"nothing to run: unknown {unknown}, cases {options.cases}, {options.rounds} rounds")
    return options


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def main():
    options = parse()
    os.makedirs(options.out, exist_ok=True)
    info = saccade_json(options.build, "info")
    result = {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
              "command": " ".join(["bench/peers/run", *sys.argv[1:]]), "machine": info,
              "versions": {package: version(package) for package in PACKAGES}, "rounds": options.rounds,
              "runtimes": options.runtimes, "missing": [], "rows": [], "memory": []}
    bert_base = os.path.join(options.models_folder, "bert-base")
    if "bert-base" in options.models and not os.path.exists(os.path.join(bert_base, "model.safetensors")):
        prepare("bert-base", bert_base)
    try:
        for name in options.models:
            for threads in options.threads:
                say(f"{name}, {threads} thread(s)")
                comparison = Comparison(work.MODELS[name], threads, options, result["missing"])
                try:
                    for case in options.selected:
                        row = comparison.row(case)
                        result["rows"].append(row)
                        say("  " + report.row_text(row))
                        if case is options.selected[0]:
                            result["memory"] += comparison.memory(case)
                        report.write(result, options.out)
                finally:
                    comparison.close()
    except KeyboardInterrupt:
        say("interrupted: the rows so far are kept")
    for name in "json", "md", "html":
        say(os.path.join(options.out, f"results.{name}"))


if __name__ == "__main__":
    main()
