"""Runtimes in turns: one process each, a warm call, then rounds in an order that changes."""
import json
import os
import random
import subprocess
import sys

import numpy as np

import ops
import work
from process import Failed, Process

HERE = os.path.dirname(os.path.abspath(__file__))
SACCADE = "saccade"
# What each rival needs beside config.json and model.safetensors: a step of prepare.py and the file that it leaves.
EXPORTS = {"onnxruntime": ("onnx", "fused.onnx"), "openvino": ("openvino", "openvino.xml"),
           "ctranslate2": ("ctranslate2", "ctranslate2/model.bin")}
TURN_SECONDS, MOST_CALLS = 0.4, 50  # a turn is one call of a batch, or as many calls of something short as fit


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


class Rounds:
    """The processes of one group of rows. `missing` collects what could not run, with the reason."""

    def __init__(self, group, threads, options, missing):
        self.group, self.threads, self.options, self.missing = group, threads, options, missing
        self.processes = {}
        for name in self.runtimes():
            try:
                self.start(name)
            except (Failed, OSError) as error:
                self.drop(name, error)

    def start(self, name):
        log = os.path.join(self.options.out, f"{name}-{self.group}-{self.threads}.log")
        process = self.processes[name] = Process(self.command(name), self.threads, log)
        process.before = int(process.ask("rss"))
        process.ask("load", *self.load_words())

    def drop(self, name, error):
        say(f"  {name}: missing: {error}")
        self.missing.append({"runtime": name, "group": self.group, "threads": self.threads, "reason": str(error)})
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

    def measure(self, name, begin, reference, live, short):
        """Peak, largest errors and seconds of each call of every round. `begin` are the words that make the case known."""
        output = os.path.join(self.options.out, "output.f32")

        def warm(_, process):
            process.ask(*begin)
            seconds = float(process.ask("run", name, 2 if short else 1).split()[-1])
            process.ask("output", name, output)
            values = live(np.fromfile(output, dtype=np.float32))
            if values.size != reference.size:
                raise Failed(f"{name}: {values.size} numbers came, {reference.size} were expected")
            error = float(np.abs(values.reshape(reference.shape) - reference).max())
            return error, int(min(MOST_CALLS, max(1, TURN_SECONDS / seconds))) if short else 1

        warmed = self.each(warm)

        def turn(runtime, process):
            # What is short finds the caches full of other processes' data; that first call is left out.
            first = 1 if short else 0
            return [float(word) for word in process.ask("run", name, warmed[runtime][1] + first).split()[first:]]

        peaks = [self.peak()]
        rounds = [self.each(turn) for _ in range(self.options.rounds)]
        peaks.append(self.peak())
        return {"threads": self.threads, "case": name, "peak_gflops": max(peaks),
                "runtimes": {runtime: {"max_error": warmed[runtime][0], "rounds": [found[runtime] for found in rounds]}
                             for runtime in self.runtimes() if runtime in self.processes}}

    def peak(self):
        return saccade_json(self.options.build, "bench", "peak", "--threads", self.threads, "--repeat", 1)["peak_gflops"]

    def close(self):
        for process in self.processes.values():
            process.close()


class EncoderRounds(Rounds):
    """Rows of one model."""

    def __init__(self, model, threads, options, missing):
        self.model, self.folder = model, os.path.join(options.models_folder, model.name)
        super().__init__(model.name, threads, options, missing)

    def runtimes(self):
        return self.options.runtimes

    def load_words(self):
        return self.folder, self.threads

    def command(self, name):
        if name == SACCADE:
            return [os.path.join(self.options.build, "bench/saccade_worker")]
        step, file = EXPORTS.get(name, (None, "config.json"))
        if not os.path.exists(os.path.join(self.folder, file)):
            say(f"  exporting {self.model.name} for {name}")
            prepare(step, self.folder)
        return [sys.executable, os.path.join(HERE, "worker.py"), name]

    def row(self, case):
        path, lengths = work.write_case(case, os.path.join(self.options.out, "cases")), case.lengths()
        prepare("float64", self.folder, path)
        reference = np.load(work.reference_path(self.folder, path))
        row = self.measure(case.name, ["case", case.name, path], reference, lambda values: values, case.sequences == 1)
        return {"model": self.model.name, "sequences": case.sequences, "longest": case.longest, "tokens": sum(lengths),
                "flops": self.model.flops(lengths), "stream_bytes": self.model.stream_bytes(), **row}

    def memory(self, case):
        found = self.each(lambda _, process: int(process.ask("rss")))
        return [{"model": self.model.name, "threads": self.threads, "case": case.name, "runtime": name,
                 "before_load": self.processes[name].before, "peak": peak} for name, peak in found.items()]


class OpRounds(Rounds):
    """Rows of single ops, beside PyTorch's."""

    def runtimes(self):
        return [SACCADE, "torch"]

    def load_words(self):
        return (self.threads,)

    def command(self, name):
        if name == SACCADE:
            return [os.path.join(self.options.build, "bench/saccade_ops")]
        return [sys.executable, os.path.join(HERE, "worker.py"), "torch-ops"]

    def row(self, op):
        path, values = ops.write_input(op, os.path.join(self.options.out, "cases"))
        row = self.measure(op.name, ["op", op.name, *op.words(path)], op.live(op.reference(values)), op.live, True)
        os.remove(path)
        return {"flops": op.flops(), "bytes": op.bytes(), **row}
