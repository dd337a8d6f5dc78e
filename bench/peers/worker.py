#!/usr/bin/env python3
"""One rival in one process: worker.py RUNTIME. The commands are those of saccade_worker.cc and saccade_ops.cc."""
import os
import sys
import time

import numpy as np

import work


class Torch:
    """transformers' BertModel with SDPA on padded ids; no mask where nothing is padded, which is faster."""

    def load(self, folder, threads):
        import torch
        import transformers

        self.torch = torch
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        torch.set_grad_enabled(False)
        self.model = self.make(folder)
        return torch.__version__ + ", transformers " + transformers.__version__

    def make(self, folder):
        import transformers

        return transformers.BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="sdpa").eval()

    def prepare(self, lengths, ids):
        padded, mask = work.pad(lengths, ids)
        full = min(lengths) == max(lengths)
        return {"input_ids": self.torch.from_numpy(padded), "attention_mask": None if full else self.torch.from_numpy(mask)}

    def run(self, inputs):
        with self.torch.inference_mode():
            return self.model(**inputs).last_hidden_state

    def hidden(self, output):
        return output.numpy()


class TorchPacked(Torch):
    """The same weights packed by hand: linears on live tokens, one SDPA per sequence."""

    def make(self, folder):
        import encoder

        return encoder.PackedBert(folder).eval()

    def prepare(self, lengths, ids):
        return {"ids": self.torch.tensor(ids), "lengths": lengths}

    def run(self, inputs):
        with self.torch.inference_mode():
            return self.model(**inputs)


class OnnxRuntime:
    """Fused graph, sequential, inputs and output bound to kept buffers."""

    def load(self, folder, threads):
        import onnxruntime

        self.ort = onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(os.path.join(folder, "fused.onnx"), options, ["CPUExecutionProvider"])
        return onnxruntime.__version__

    def prepare(self, lengths, ids):
        binding = self.session.io_binding()
        padded, mask = work.pad(lengths, ids)
        width = self.session.get_outputs()[0].shape[2]
        hidden = self.ort.OrtValue.ortvalue_from_shape_and_type([*padded.shape, width], np.float32)
        inputs = [self.ort.OrtValue.ortvalue_from_numpy(value) for value in (padded, mask)]
        for name, value in zip(("ids", "mask"), inputs):
            binding.bind_ortvalue_input(name, value)
        binding.bind_ortvalue_output("hidden", hidden)
        return binding, inputs, hidden

    def run(self, inputs):
        self.session.run_with_iobinding(inputs[0])
        return inputs[2]

    def hidden(self, output):
        return output.numpy()


class OpenVino:
    """f32, latency hint, one stream, one request per case with kept tensors."""

    def load(self, folder, threads):
        import openvino

        self.ov = openvino
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1,
                    "INFERENCE_NUM_THREADS": threads}
        core = openvino.Core()
        self.model = core.compile_model(core.read_model(os.path.join(folder, "openvino.xml")), "CPU", settings)
        return openvino.__version__.split("-")[0]

    def prepare(self, lengths, ids):
        request = self.model.create_infer_request()
        for i, value in enumerate(work.pad(lengths, ids)):
            request.set_input_tensor(i, self.ov.Tensor(value))
        return request

    def run(self, request):
        request.infer()
        return request

    def hidden(self, request):
        return request.get_output_tensor().data


class CTranslate2:
    """f32, padding skipped in its linears (it is given the lengths)."""

    def load(self, folder, threads):
        import ctranslate2

        self.ct2 = ctranslate2
        self.encoder = ctranslate2.Encoder(os.path.join(folder, "ctranslate2"), device="cpu", compute_type="float32",
                                           inter_threads=1, intra_threads=threads)
        return ctranslate2.__version__

    def prepare(self, lengths, ids):
        padded = work.pad(lengths, ids)[0].astype(np.int32)
        return (self.ct2.StorageView.from_array(padded), self.ct2.StorageView.from_array(np.array(lengths, dtype=np.int32)))

    def run(self, inputs):
        return self.encoder.forward_batch(*inputs).last_hidden_state

    def hidden(self, output):
        return np.array(output)


class TorchOps:
    """Single ops on kept tensors; attention on dense [batch, heads, length, dim], key padding as an additive mask."""

    def load(self, threads):
        import torch

        self.torch = torch
        torch.set_num_threads(threads)
        return torch.__version__

    def prepare(self, kind, path, *numbers):
        numbers = [int(number) for number in numbers]
        values = self.torch.from_numpy(np.fromfile(path, dtype=np.float32))
        if kind != "attention":
            x = values.view(*numbers)
            return kind, x, self.torch.empty_like(x)
        batch, heads, length, dim, causal, *lengths = numbers
        mask = None
        if lengths:
            mask = self.torch.zeros(batch, 1, 1, length)
            mask[self.torch.arange(length) >= self.torch.tensor(lengths)[:, None, None, None]] = float("-inf")
        return kind, values.view(3, batch, heads, length, dim), mask, bool(causal)

    def run(self, op):
        torch = self.torch
        with torch.inference_mode():
            if op[0] == "softmax":
                return torch.softmax(op[1], -1, out=op[2])
            if op[0] == "gelu":
                return torch._C._nn.gelu(op[1], out=op[2])
            return torch.nn.functional.scaled_dot_product_attention(*op[1], attn_mask=op[2], is_causal=op[3])

    def hidden(self, output):
        return output.numpy()


RUNTIMES = {"torch": Torch, "torch-packed": TorchPacked, "onnxruntime": OnnxRuntime, "openvino": OpenVino,
            "ctranslate2": CTranslate2}


def peak_resident_bytes():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) * 1024


class Worker:
    def __init__(self, runtime):
        self.runtime, self.cases, self.outputs = runtime, {}, {}

    def load(self, *arguments):
        return self.runtime.load(*arguments[:-1], int(arguments[-1]))

    def case(self, name, path):
        lengths, ids = work.read_case(path)
        self.cases[name] = lengths, self.runtime.prepare(lengths, ids)

    def op(self, name, *words):
        self.cases[name] = None, self.runtime.prepare(*words)

    def run(self, name, count):
        inputs, seconds = self.cases[name][1], []
        for _ in range(int(count)):
            begin = time.perf_counter()
            output = self.runtime.run(inputs)
            seconds.append(time.perf_counter() - begin)
        self.outputs = {name: output}  # only the last: kept ones would count as this runtime's memory
        return " ".join(f"{s:.9f}" for s in seconds)

    def output(self, name, path):
        lengths = self.cases[name][0]
        hidden = self.runtime.hidden(self.outputs[name])
        if lengths and hidden.ndim == 3:
            hidden = hidden[np.arange(hidden.shape[1]) < np.array(lengths)[:, None]]
        np.ascontiguousarray(hidden, dtype=np.float32).tofile(path)

    def rss(self):
        return peak_resident_bytes()


def main():
    worker = Worker({**RUNTIMES, "torch-ops": TorchOps}[sys.argv[1]]())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            result = getattr(worker, command)(*arguments)
            answers.write("ok" if result is None else f"ok {result}")
        except Exception as error:  # whatever a rival throws, the others go on
            answers.write("error " + " ".join(f"{type(error).__name__}: {error}".split())[:300])
        answers.write("\n")
        answers.flush()


if __name__ == "__main__":
    main()
