"""What is run: the models, the batches, and where each lies on disk."""
import dataclasses
import hashlib
import os

import numpy as np


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    layers: int
    width: int
    ffn: int

    def flops(self, lengths):
        """Multiplications and additions of the linears (2 M N K) and of attention (4 heads S S head_dim) on live tokens."""
        tokens, squares = sum(lengths), sum(length * length for length in lengths)
        linears = 2 * tokens * (4 * self.width * self.width + 2 * self.width * self.ffn)
        return self.layers * (linears + 4 * self.width * squares)

    def stream_bytes(self):
        """Bytes of the layers' f32 weights, which each run reads once however few tokens it has."""
        return 4 * self.layers * (4 * self.width * self.width + 2 * self.width * self.ffn)


MODELS = {model.name: model for model in (Model("minilm", 6, 384, 1536), Model("bert-base", 12, 768, 3072))}


@dataclasses.dataclass(frozen=True)
class Case:
    sequences: int
    longest: int
    ratio: float = 1.0  # mean length / longest length

    @property
    def name(self):
        return f"{self.sequences}x{self.longest}" + (f"-{self.ratio}" if self.sequences > 1 else "")

    def lengths(self):
        """least + (longest - least) u^p for u spread evenly over (0, 1), p such that the mean is as asked; shuffled."""
        u = (np.arange(self.sequences) + 0.5) / self.sequences
        least = self.longest / 16
        p = (self.longest - least) / (self.ratio * self.longest - least) - 1
        lengths = np.rint(least + (self.longest - least) * u**p).astype(int)
        lengths[-1] = self.longest
        return np.random.default_rng(1).permutation(lengths).tolist()

    def ids(self):
        """[tokens] above the special ids of BERT's vocabulary of 30,522."""
        return np.random.default_rng(2).integers(1000, 30522, sum(self.lengths())).tolist()


# The longest single sequence comes first: peak memory is read after it.
CASES = [Case(1, 512), *(Case(1, length) for length in (8, 16, 32, 128)),
         *(Case(32, 128, ratio) for ratio in (1.0, 0.6, 0.3)), *(Case(8, 512, ratio) for ratio in (1.0, 0.6, 0.3))]


def write_case(case, folder):
    """Lengths on one line, ids on the next: what the workers read."""
    path = os.path.join(folder, case.name)
    os.makedirs(folder, exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        for numbers in case.lengths(), case.ids():
            file.write(" ".join(map(str, numbers)) + "\n")
    return path


def read_case(path):
    with open(path, encoding="ascii") as file:
        lengths, ids = ([int(word) for word in line.split()] for line in file)
    return lengths, ids


def pad(lengths, ids):
    """ids and 0/1 mask, int64 [sequences, longest]."""
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    padded = np.zeros(mask.shape, dtype=np.int64)
    padded[mask] = ids
    return padded, mask.astype(np.int64)


def reference_path(model_folder, case_path):
    """The float64 result belongs to the words of the case."""
    with open(case_path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:12]
    return os.path.join(model_folder, "float64", digest + ".npy")
