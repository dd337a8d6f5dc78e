"""Single ops beside PyTorch's, one thread each: attention, softmax of rows of 512, erf GELU."""
import dataclasses
import math
import os

import numpy as np

import work


@dataclasses.dataclass(frozen=True)
class Op:
    name: str
    kind: str
    shape: tuple  # attention: batch, heads, length, dim; else rows, width
    causal: bool = False
    ratio: float = 1.0  # attention: mean length / longest, by key padding

    def lengths(self):
        return work.Case(self.shape[0], self.shape[2], self.ratio).lengths() if self.ratio < 1 else []

    def words(self, path):
        flags = [int(self.causal), *self.lengths()] if self.kind == "attention" else []
        return [self.kind, path, *self.shape, *flags]

    def make_input(self):
        shape = (3, *self.shape) if self.kind == "attention" else self.shape
        return np.random.default_rng(1).standard_normal(shape, dtype=np.float32)

    def live(self, values):
        """The part of a result that is compared: rows of live queries."""
        values = values.reshape(self.shape)
        lengths = self.lengths()
        return np.concatenate([values[i, :, :n].ravel() for i, n in enumerate(lengths)]) if lengths else values.ravel()

    def flops(self):
        """Of live pairs; 0 for softmax and GELU."""
        if self.kind != "attention":
            return 0
        batch, heads, length, dim = self.shape
        pairs = length * (length + 1) / 2 * batch if self.causal else sum(n * n for n in self.lengths() or [length] * batch)
        return 4 * heads * dim * pairs

    def bytes(self):
        """Read once and written once."""
        return 8 * math.prod(self.shape)

    def reference(self, values):
        """The op in float64, by PyTorch."""
        import torch

        x = torch.from_numpy(values).double()
        if self.kind == "softmax":
            return torch.softmax(x, -1).numpy()
        if self.kind == "gelu":
            return torch.nn.functional.gelu(x).numpy()
        out = torch.zeros(self.shape, dtype=torch.float64)
        for i, n in enumerate(self.lengths() or [self.shape[2]] * self.shape[0]):
            q, k, v = x[:, i : i + 1, :, :n]
            out[i, :, :n] = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)[0]
        return out.numpy()


def attention(name, batch, length, **options):
    return Op(f"attention-{length}{name}", "attention", (batch, 12, length, 64), **options)


MIB = 2**20 // 4 // 512  # rows of 512 floats in 1 MiB
OPS = [op for batch, length in ((8, 128), (8, 512), (1, 2048)) for op in (
    attention("", batch, length), attention("-causal", batch, length, causal=True))]
OPS += [attention("-padded-0.6", 8, length, ratio=0.6) for length in (128, 512)]
OPS += [attention("-padded-0.6", 4, 2048, ratio=0.6)]
OPS += [Op(f"{kind}-{size}MiB", kind, (size * MIB, 512)) for kind in ("softmax", "gelu") for size in (1, 64)]


def write_input(op, folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, op.name + ".f32")
    values = op.make_input()
    values.tofile(path)
    return path, values
