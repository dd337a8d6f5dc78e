#!/usr/bin/env python3
"""Makes tests/data/models: tiny random models of every family, with float64 outputs of transformers.

    python3 -m venv VENV && VENV/bin/pip install torch transformers safetensors numpy
    VENV/bin/python tests/goldens/make_models.py tests/data/models

One directory a family: config.json, model.safetensors with the tensors of the encoder and of all heads, expected.safetensors with
ids, lengths and outputs. Weights have std 1 / sqrt(fan_in), query and key twice that, so that attention is far from uniform;
biases, gains and tables are random too. Each ingredient is altered in turn, and some output must move by more than 1e-3.
"""
import copy
import json
import math
import pathlib
import sys

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file as save_numpy
from safetensors.torch import save_file

LENGTHS = [1, 2, 7, 33, 300]
LONG = 1200  # more keys than fit the whole score row
MOVED = 1e-3
TOLERANCE = 1e-5  # of the tests; a model that amplifies rounding beyond it would test nothing
HEADS = ["ForSequenceClassification", "ForTokenClassification", "ForMaskedLM"]
OUTPUT = {"Model": "hidden", "ForSequenceClassification": "sequence", "ForTokenClassification": "token", "ForMaskedLM": "masked"}
torch.set_grad_enabled(False)
torch.set_num_threads(1)


def random_tensor(name, shape, generator, gain):
    """The value of a parameter by the role that its name and shape give it; gains of norms lie around `gain`."""
    x = torch.randn(shape, generator=generator)
    if len(shape) == 1:
        return (gain + 0.3 * x) if name.endswith("weight") else 0.3 * x
    if "relative_attention_bias" in name:
        return x
    if "embeddings" in name:
        return 0.1 * x
    x = x / math.sqrt(shape[1])
    if any(part in name for part in [".query.", ".key.", "q_lin", "k_lin", "attn.q.", "attn.k.", "q_proj", "k_proj"]):
        x = 2 * x
    if "Wqkv" in name:
        x[: 2 * shape[0] // 3] *= 2
    return x


class ExactRope(torch.nn.Module):
    """cos and sin of the angles in float64, where transformers computes them in float32."""

    def __init__(self, frequencies):
        super().__init__()
        self.frequencies = frequencies  # of layer types, or one for all under None

    def forward(self, x, position_ids, layer_type=None):
        angles = position_ids[..., None].double() * self.frequencies[layer_type]
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def frequencies(parameters, head_dim):
    base, factor = parameters["rope_theta"], parameters.get("factor", 1.0)
    kind = parameters.get("rope_type", "default")
    if kind == "ntk":
        base *= factor
    f = base ** (-torch.arange(0, head_dim, 2).double() / head_dim)
    return f / {"default": 1, "linear": factor, "ntk": factor ** (2 / head_dim)}[kind]


class Case:
    """A family: its classes, config and master weights, and the outputs of any alteration of them."""

    def __init__(self, name, stem, config, seed, pad=0, types=2, gain=1):
        self.name, self.stem, self.pad, self.types = name, stem, pad, types
        config = dict(config, num_labels=3)
        self.config = getattr(transformers, stem + "Config")(**config)
        self.generator = torch.Generator().manual_seed(seed)
        self.rope = getattr(self.config, "rope_parameters", None)
        self.weights = {}
        for suffix in ["Model"] + HEADS:
            model = self.build(suffix)
            self.prefix = model.base_model_prefix + "."
            for key, value in model.state_dict().items():
                key = self.plain(key)
                if key not in self.weights:
                    self.weights[key] = random_tensor(key, value.shape, self.generator, gain)
                assert self.weights[key].shape == value.shape, key
        for decoder in ["cls.predictions.decoder", "lm_head.decoder", "vocab_projector", "decoder"]:
            if decoder + ".weight" in self.weights:  # tied
                del self.weights[decoder + ".weight"]
                if decoder not in ("vocab_projector", "decoder") and decoder.rsplit(".", 1)[0] + ".bias" in self.weights:
                    del self.weights[decoder + ".bias"]
        vocab = self.config.vocab_size
        self.ids = [torch.randint(5, vocab, (n,), generator=self.generator) for n in LENGTHS]

    def plain(self, key):
        return key.removeprefix(self.prefix)

    def build(self, suffix, config=None):
        config = copy.deepcopy(config or self.config)
        # ModernBERT's own softmax is in float32; MPNet has no other.
        config._attn_implementation = "eager" if self.stem == "MPNet" else "sdpa"
        options = {"add_pooling_layer": False} if suffix == "Model" and self.stem in POOLED else {}
        return getattr(transformers, self.stem + suffix)(config, **options)

    def model(self, suffix, weights, config=None, rope=None, eps=None):
        model = self.build(suffix, config).double().eval()
        missing = []
        state = model.state_dict()
        for key in state:
            plain = self.plain(key)
            if plain in weights:
                state[key] = weights[plain].double()
            else:
                missing.append(plain)
        model.load_state_dict(state)
        model.tie_weights()
        assert all("decoder" in key or "vocab_projector" in key for key in missing), missing
        for module in model.modules():
            if eps and isinstance(module, torch.nn.LayerNorm):
                module.eps = eps
        rope = rope or self.rope
        encoder = model if suffix == "Model" else getattr(model, self.prefix[:-1])
        if rope:
            head_dim = self.config.hidden_size // self.config.num_attention_heads
            kinds = rope if "full_attention" in rope else {None: rope}
            encoder.rotary_emb = ExactRope({kind: frequencies(parameters, head_dim) for kind, parameters in kinds.items()})
        return model

    def types_of(self, n):
        return torch.arange(n) >= (n + 1) // 2

    def run(self, model, ids, types=True, position_shift=0):
        options = {}
        if self.types > 1:
            options["token_type_ids"] = (self.types_of(len(ids)) & types).long()[None]
        if position_shift:
            first = self.pad + 1 if self.stem in OFFSET else 0
            options["position_ids"] = torch.arange(first, first + len(ids))[None] + position_shift
        return model(input_ids=ids[None], **options)[0][0]

    def outputs(self, weights=None, config=None, rope=None, eps=None, suffixes=None, **options):
        """{hidden, sequence, token, masked}: rows of all sequences, one after the other."""
        out = {}
        for suffix in suffixes or ["Model"] + HEADS:
            model = self.model(suffix, weights or self.weights, config, rope, eps)
            rows = [self.run(model, ids, **options) for ids in self.ids]
            out[OUTPUT[suffix]] = torch.stack(rows) if suffix == HEADS[0] else torch.cat(rows)
        return out


POOLED = {"Bert", "Roberta", "XLMRoberta", "MPNet"}
OFFSET = {"Roberta", "XLMRoberta", "MPNet"}


def altered(config, **changes):
    config = copy.deepcopy(config)
    for key, value in changes.items():
        setattr(config, key, value)
    return config


def check_ingredients(case, base, ingredients):
    """Every tensor and every ingredient must move some output by more than MOVED, and rounding to float32 must not."""
    single = case.model("Model", case.weights).float()
    lost = float((torch.cat([case.run(single, ids) for ids in case.ids]) - base["hidden"]).abs().max())
    print(f"{case.name}: {lost:.3g} is the error of transformers in float32")
    assert lost < TOLERANCE, case.name
    print(f"{case.name}: the largest change of an output when one ingredient is altered")

    def report(what, outputs, cancels=False):
        moved = max(float((outputs[key] - base[key]).abs().max()) for key in outputs)
        print(f"  {moved:9.3g}  {what}{' (cancels in the softmax)' if cancels else ''}")
        assert moved < 1e-9 if cancels else moved > MOVED, (case.name, what, moved)

    for key, value in case.weights.items():
        change = dict(case.weights)
        if key.endswith("bias"):
            change[key] = torch.zeros_like(value)
        elif value.dim() == 1:
            change[key] = torch.ones_like(value)
        else:
            change[key] = torch.roll(value, 1, 0)
        rolled_row = value.dim() == 2 and value.shape[0] == 1
        if rolled_row:
            change[key] = torch.zeros_like(value)
        key_bias = not case.rope and any(part in key for part in [".key.bias", "k_lin.bias", "attn.k.bias"])
        report(key, case.outputs(change), cancels=key_bias)
    for what, options in ingredients.items():
        report(what, case.outputs(**options))


def sample_rows():
    """All rows of the short sequences, every seventh of the long one."""
    short = sum(LENGTHS[:-1])
    return list(range(short)) + list(range(short, short + LENGTHS[-1], 7)) + [short + LENGTHS[-1] - 1]


def expected(case, base):
    rows = sample_rows()
    few = rows[::4]
    arrays = {
        "lengths": np.array(LENGTHS, np.int64),
        "ids": torch.cat(case.ids).numpy().astype(np.int32),
        "rows": np.array(rows, np.int32),
        "masked_rows": np.array(few, np.int32),
        "hidden": base["hidden"][rows].numpy().astype(np.float32),
        "hidden_mean": base["hidden"].mean(0).numpy(),
        "sequence": base["sequence"].numpy().astype(np.float32),
        "token": base["token"][rows].numpy().astype(np.float32),
        "masked": base["masked"][few].numpy().astype(np.float32),
    }
    if case.types > 1:
        arrays["type_ids"] = np.concatenate([case.types_of(n).numpy().astype(np.int32) for n in LENGTHS])
    return arrays


def write(root, name, config, weights, arrays=None):
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    weights = {key: value.contiguous() for key, value in weights.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert (folder / "model.safetensors").stat().st_size < 300_000, name
    if arrays:
        save_numpy({key: np.ascontiguousarray(value) for key, value in arrays.items()}, folder / "expected.safetensors")


def published(case, drop=(), **keys):
    """The keys of config.json that the family reads, as a published file has them."""
    config = json.loads(case.config.to_json_string(use_diff=False))
    known = ["vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
             "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "pad_token_id", "model_type", "dim", "n_layers",
             "n_heads", "hidden_dim", "activation", "relative_attention_num_buckets"]
    out = {key: config[key] for key in known if key in config and key not in drop}
    out["architectures"] = [case.stem + "Model"]
    out["id2label"] = {str(i): name for i, name in enumerate(["no", "yes", "maybe"])}
    return dict(out, **keys)


def make_bert(root):
    case = Case("bert", "Bert", dict(vocab_size=120, hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
                                     intermediate_size=64, max_position_embeddings=310), seed=1)
    base = case.outputs()
    check_ingredients(case, base, {
        "eps 1e-5 for 1e-12": dict(eps=1e-5),
        "GELU by tanh": dict(config=altered(case.config, hidden_act="gelu_new")),
        "type ids all 0": dict(types=False),
        "positions from 1": dict(position_shift=1),
    })
    # The keys that have the defaults of the class are left out.
    config = published(case, drop=["layer_norm_eps", "hidden_act", "type_vocab_size"])
    write(root, "bert", config, case.weights, expected(case, base))
    for name, dtype in [("bert_f16", torch.float16), ("bert_bf16", torch.bfloat16)]:
        rounded = {key: value.to(dtype) for key, value in case.weights.items()}
        wide = {key: value.float() for key, value in rounded.items()}
        write(root, name, published(case), rounded, expected(case, case.outputs(wide)))


def make_distilbert(root):
    case = Case("distilbert", "DistilBert", dict(vocab_size=120, dim=48, n_layers=2, n_heads=3, hidden_dim=72, activation="gelu",
                                                 max_position_embeddings=310), seed=2, types=0)
    base = case.outputs()
    check_ingredients(case, base, {
        "GELU by tanh": dict(config=altered(case.config, activation="gelu_new")),
        "eps 1e-5 for 1e-12": dict(eps=1e-5),
        "positions from 1": dict(weights=shifted(case.weights, "embeddings.position_embeddings.weight")),
    })
    write(root, "distilbert", published(case), case.weights, expected(case, base))


def shifted(weights, key):
    return dict(weights, **{key: torch.roll(weights[key], -1, 0)})


def make_roberta(root):
    # A padding id of 3 tells the offset of positions from the usual one.
    case = Case("roberta", "Roberta", dict(vocab_size=120, hidden_size=32, num_hidden_layers=3, num_attention_heads=2,
                                           intermediate_size=64, max_position_embeddings=304, type_vocab_size=1,
                                           layer_norm_eps=1e-5, pad_token_id=3), seed=34, pad=3, types=1)
    base = case.outputs()
    check_ingredients(case, base, {
        "eps 1e-12 for 1e-5": dict(eps=1e-12),
        "GELU by tanh": dict(config=altered(case.config, hidden_act="gelu_new")),
        "positions from the padding id": dict(position_shift=-1),
    })
    write(root, "roberta", published(case), case.weights, expected(case, base))


def make_mpnet(root):
    case = Case("mpnet", "MPNet", dict(vocab_size=120, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                       intermediate_size=64, max_position_embeddings=302, layer_norm_eps=1e-5),
                seed=4, pad=1, types=0)
    base = case.outputs()
    check_ingredients(case, base, {
        "eps 1e-12 for 1e-5": dict(eps=1e-12),
        "GELU by tanh": dict(config=altered(case.config, hidden_act="gelu_new")),
        "positions from 1": dict(position_shift=-1),
        "no relative bias": dict(weights=dict(case.weights, **{"encoder.relative_attention_bias.weight": torch.zeros(32, 4)})),
    })
    write(root, "mpnet", published(case), case.weights, expected(case, base))


def make_modernbert(root):
    rope = {"full_attention": {"rope_type": "default", "rope_theta": 160000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
    case = Case("modernbert", "ModernBert", dict(vocab_size=120, hidden_size=32, num_hidden_layers=3, num_attention_heads=2,
                                                 intermediate_size=48, max_position_embeddings=1300, local_attention=16,
                                                 pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
                                                 rope_parameters=rope, classifier_pooling="mean"), seed=6, types=0, gain=0.7)
    base = case.outputs()
    halves = [key for key in case.weights if key.endswith("mlp.Wi.weight")]
    swap = {key: torch.roll(case.weights[key], case.weights[key].shape[0] // 2, 0) for key in halves}

    def based(kind, theta):
        return dict(rope, **{kind: dict(rope[kind], rope_theta=theta)})
    check_ingredients(case, base, {
        "eps 1e-12 for 1e-5": dict(eps=1e-12),
        "GELU by tanh": dict(config=altered(case.config, hidden_activation="gelu_new")),
        "ReLU in the head": dict(config=altered(case.config, classifier_activation="relu")),
        "base of full layers 10000": dict(rope=based("full_attention", 10000.0)),
        "base of local layers 160000": dict(rope=based("sliding_attention", 160000.0)),
        "window of 9 on each side": dict(config=altered(case.config, local_attention=18)),
        "all layers full": dict(config=altered(case.config, layer_types=["full_attention"] * 3)),
        "gate and up swapped": dict(weights=dict(case.weights, **swap)),
        "classifier on the first token": dict(config=altered(case.config, classifier_pooling="cls")),
    })
    arrays = expected(case, base)
    ids = case.ids
    case.ids = [torch.randint(5, 120, (LONG,), generator=case.generator)]
    long = case.outputs(suffixes=["Model"])["hidden"]
    rows = list(range(0, LONG, 23)) + [LONG - 1]
    arrays |= {"long_ids": case.ids[0].numpy().astype(np.int32), "long_rows": np.array(rows, np.int32),
               "long_hidden": long[rows].numpy().astype(np.float32), "long_hidden_mean": long.mean(0).numpy()}
    config = published(case, hidden_activation="gelu", norm_eps=1e-5, local_attention=16, classifier_pooling="mean")
    write(root, "modernbert", dict(config, layer_types=case.config.layer_types, rope_parameters=rope), case.weights, arrays)
    rounded = {key: value.to(torch.bfloat16) for key, value in case.weights.items()}
    wide = {key: value.float() for key, value in rounded.items()}
    case.ids = ids
    write(root, "modernbert_bf16", dict(config, layer_types=case.config.layer_types, rope_parameters=rope), rounded,
          expected(case, case.outputs(wide)))
    old = dict(config, global_attn_every_n_layers=3, global_rope_theta=160000.0, local_rope_theta=10000.0)
    (root / "modernbert" / "config_old.json").write_text(json.dumps(old, indent=1) + "\n")


def swapped(weights):
    """gate_proj and up_proj in each other's place."""
    other = {key: key.replace("gate_proj", "up_proj") for key in weights if "gate_proj" in key}
    return {a: weights[b] for pair in other.items() for a, b in (pair, pair[::-1])}


NOMIC_OLD = [("layers.", "encoder.layers."), ("embeddings.LayerNorm", "emb_ln"), ("self_attn.o_proj", "attn.out_proj"),
             ("mlp.up_proj", "mlp.fc11"), ("mlp.gate_proj", "mlp.fc12"), ("mlp.down_proj", "mlp.fc2"),
             ("post_attention_layernorm", "norm1"), ("post_mlp_layernorm", "norm2")]
GTE_OLD = [("layers.", "encoder.layer."), ("self_attn.o_proj", "attention.o_proj"), ("post_attention_layernorm", "attn_ln"),
           ("post_mlp_layernorm", "mlp_ln"), ("lm_head.layer_norm", "lm_head.norm")]


def old_spelling(weights, names, fused):
    """The weights as the family's first publication spells them: renamed, and `fused` = {new: [parts]} put together."""
    out = {}
    for key, value in weights.items():
        part = next((f for f, parts in fused.items() if any(p in key for p in parts)), None)
        if part:
            first = next(p for p in fused[part] if p in key)
            if first != fused[part][0]:
                continue
            value = torch.cat([weights[key.replace(first, p)] for p in fused[part]])
            key = key.replace(first, part)
        for new, old in names:
            key = key.replace(new, old)
        out[key] = value
    return out


def make_nomic(root):
    rope = {"rope_type": "default", "rope_theta": 1000.0}
    case = Case("nomic_bert", "NomicBert", dict(vocab_size=120, hidden_size=48, num_hidden_layers=2, num_attention_heads=3,
                                                intermediate_size=64, max_position_embeddings=400, rope_parameters=rope), seed=6)
    base = case.outputs()
    swap = swapped(case.weights)
    check_ingredients(case, base, {
        "eps 1e-5 for 1e-12": dict(eps=1e-5),
        "GELU for SiLU": dict(config=altered(case.config, hidden_act="gelu")),
        "type ids all 0": dict(types=False),
        "base 10000": dict(rope=dict(rope, rope_theta=10000.0)),
        "gate and up swapped": dict(weights=dict(case.weights, **swap)),
    })
    native = published(case, rope_parameters=rope)
    write(root, "nomic_bert_native", native, case.weights)
    old = {"model_type": "nomic_bert", "architectures": native["architectures"], "id2label": native["id2label"],
           "vocab_size": 120, "n_embd": 48, "n_layer": 2, "n_head": 3, "n_inner": 64, "n_positions": 400, "type_vocab_size": 2,
           "layer_norm_epsilon": 1e-12, "activation_function": "swiglu", "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
           "rotary_emb_interleaved": False, "rotary_scaling_factor": None, "qkv_proj_bias": False, "mlp_fc1_bias": False,
           "mlp_fc2_bias": False, "prenorm": False, "causal": False, "use_rms_norm": False, "parallel_block": False}
    fused = {"attn.Wqkv": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]}
    write(root, "nomic_bert", old, old_spelling(case.weights, NOMIC_OLD, fused), expected(case, base))


def make_gte(root):
    ntk = {"rope_type": "ntk", "rope_theta": 20000.0, "factor": 2.5}
    linear = {"rope_type": "linear", "rope_theta": 160000.0, "factor": 2.0}
    plain = {"rope_type": "default", "rope_theta": 160000.0}
    case = Case("gte", "Gte", dict(vocab_size=120, hidden_size=48, num_hidden_layers=2, num_attention_heads=3,
                                   intermediate_size=64, max_position_embeddings=400, type_vocab_size=1,
                                   rope_parameters=plain), seed=7, pad=1, types=1)
    base = case.outputs(rope=ntk)
    case.rope = ntk
    swap = swapped(case.weights)
    check_ingredients(case, base, {
        "eps 1e-5 for 1e-12": dict(eps=1e-5),
        "GELU by tanh": dict(config=altered(case.config, hidden_act="gelu_new")),
        "base 160000": dict(rope=dict(ntk, rope_theta=160000.0)),
        "frequencies not divided": dict(rope={"rope_type": "default", "rope_theta": 20000.0 * 2.5}),
        "base not multiplied": dict(rope={"rope_type": "linear", "rope_theta": 20000.0, "factor": 2.5 ** (2 / 16)}),
        "gate and up swapped": dict(weights=dict(case.weights, **swap)),
    })
    arrays = expected(case, base)
    # transformers' own RoPE, in float32, agrees with the exact one.
    case.rope = None
    own = case.outputs(config=altered(case.config, rope_parameters=linear), suffixes=["Model"])["hidden"]
    case.rope = linear
    exact = case.outputs(suffixes=["Model"])["hidden"]
    assert float((own - exact).abs().max()) < 1e-4
    rows = sample_rows()
    arrays |= {"linear_hidden": exact[rows].numpy().astype(np.float32)}
    native = published(case, rope_parameters=linear)
    write(root, "gte_native", native, case.weights)
    old = published(case, model_type="new", architectures=["NewModel"], position_embedding_type="rope", rope_theta=20000.0,
                    rope_scaling={"type": "ntk", "factor": 2.5}, layer_norm_type="layer_norm", pack_qkv=True,
                    logn_attention_scale=False)
    fused = {"attention.qkv_proj": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
             "mlp.up_gate_proj": ["mlp.up_proj", "mlp.gate_proj"]}
    write(root, "gte", old, old_spelling(case.weights, GTE_OLD, fused), arrays)


if __name__ == "__main__":
    makers = {"bert": make_bert, "distilbert": make_distilbert, "roberta": make_roberta, "mpnet": make_mpnet,
              "modernbert": make_modernbert, "nomic_bert": make_nomic, "gte": make_gte}
    for family in sys.argv[2:] or makers:
        makers[family](pathlib.Path(sys.argv[1]))
