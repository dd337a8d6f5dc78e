"""BERT in plain PyTorch on the tensors of a published model: as exports want it, and packed by hand."""
import json
import os

import safetensors.torch
import torch
from torch.nn import functional as F


class Bert(torch.nn.Module):
    """forward(ids, mask), both int64 [sequences, longest] -> hidden states [sequences, longest, width].

    sdpa: scaled_dot_product_attention; else the classic matmul, softmax, matmul, whose export ONNX Runtime's optimiser knows.
    """

    def __init__(self, folder, sdpa):
        super().__init__()
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        self.sdpa, self.heads, self.eps = sdpa, self.config["num_attention_heads"], self.config["layer_norm_eps"]
        tensors = safetensors.torch.load_file(os.path.join(folder, "model.safetensors"))
        take = lambda name: torch.nn.Parameter(tensors[name], requires_grad=False)  # noqa: E731
        pair = lambda name: torch.nn.ParameterList([take(name + ".weight"), take(name + ".bias")])  # noqa: E731
        self.words, self.positions, self.types = (
            take(f"embeddings.{kind}_embeddings.weight") for kind in ("word", "position", "token_type"))
        self.norm = pair("embeddings.LayerNorm")
        self.layers = torch.nn.ModuleList()
        for i in range(self.config["num_hidden_layers"]):
            prefix = f"encoder.layer.{i}."
            self.layers.append(torch.nn.ModuleDict({short: pair(prefix + name) for short, name in (
                ("q", "attention.self.query"), ("k", "attention.self.key"), ("v", "attention.self.value"),
                ("o", "attention.output.dense"), ("norm1", "attention.output.LayerNorm"),
                ("up", "intermediate.dense"), ("down", "output.dense"), ("norm2", "output.LayerNorm"))}))

    def normalise(self, x, norm):
        return F.layer_norm(x, norm[0].shape, norm[0], norm[1], self.eps)

    def embed(self, ids, positions):
        return self.normalise(F.embedding(ids, self.words) + self.types[0] + F.embedding(positions, self.positions), self.norm)

    def finish(self, layer, x, attended):
        x = self.normalise(F.linear(attended, *layer["o"]) + x, layer["norm1"])
        up = F.gelu(F.linear(x, *layer["up"]))
        return self.normalise(F.linear(up, *layer["down"]) + x, layer["norm2"])

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, x.size(2) // self.heads).permute(0, 2, 1, 3)

    def attend(self, q, k, v, dropped):
        if self.sdpa:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=dropped)
        scores = torch.matmul(q, k.transpose(-1, -2)) / (q.size(-1) ** 0.5)
        return torch.matmul(torch.softmax(scores + dropped, dim=-1), v)

    def forward(self, ids, mask):
        x = self.embed(ids, torch.arange(ids.size(1), dtype=torch.int64).unsqueeze(0))
        dropped = (1.0 - mask.unsqueeze(1).unsqueeze(2).to(torch.float32)) * torch.finfo(torch.float32).min
        for layer in self.layers:
            q, k, v = (self.split(F.linear(x, *layer[name])) for name in "qkv")
            attended = self.attend(q, k, v, dropped).permute(0, 2, 1, 3).contiguous()
            x = self.finish(layer, x, attended.view(x.size(0), x.size(1), x.size(2)))
        return x


class PackedBert(Bert):
    """forward(ids [tokens], lengths): linears on live tokens only, Q, K and V in one, attention sequence by sequence."""

    def __init__(self, folder):
        super().__init__(folder, sdpa=True)
        for layer in self.layers:
            layer["qkv"] = torch.nn.ParameterList(
                [torch.nn.Parameter(torch.cat([layer[name][i] for name in "qkv"]), requires_grad=False) for i in (0, 1)])
            for name in "qkv":
                del layer[name]

    def forward(self, ids, lengths):
        x = self.embed(ids, torch.cat([torch.arange(length) for length in lengths]))
        for layer in self.layers:
            qkv = F.linear(x, *layer["qkv"]).view(len(ids), 3, self.heads, -1)
            attended = []
            for part in torch.split(qkv, lengths):
                q, k, v = part.permute(1, 2, 0, 3).unsqueeze(1)  # each [1, heads, length, head_dim]
                attended.append(F.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1).flatten(1))
            x = self.finish(layer, x, torch.cat(attended))
        return x
