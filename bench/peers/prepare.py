#!/usr/bin/env python3
"""One step of preparing a model folder (config.json, model.safetensors), each in a process of its own:

    prepare.py bert-base FOLDER      the weights: BERT-base's shape, seeded
    prepare.py onnx|openvino|ctranslate2 FOLDER
    prepare.py float64 FOLDER CASE...     hidden states of the live tokens [tokens, width] by transformers, without padding
"""
import os
import sys

import numpy as np

import work


def bert_base(folder):
    """Weights of standard deviation 1/sqrt(fan_in), so that attention is not uniform; biases and gains random too."""
    import torch
    import transformers

    config = transformers.BertConfig(position_embedding_type="absolute")
    model = transformers.BertModel(config, add_pooling_layer=False)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            noise = torch.randn(tensor.shape, generator=generator)
            if tensor.dim() == 1:
                tensor.copy_(0.1 * noise + ("LayerNorm.weight" in name))
            else:
                tensor.copy_(noise if "embeddings" in name else noise / tensor.shape[1] ** 0.5)
    model.save_pretrained(folder)
    # CTranslate2's converter asks for a tokenizer; nothing here tokenizes.
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="ascii") as file:
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        file.writelines(f"{token}\n" for token in [*special, *(f"t{i}" for i in range(len(special), config.vocab_size))])
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="ascii") as file:
        file.write('{"tokenizer_class": "BertTokenizer"}\n')


def onnx(folder):
    """Classic attention, then ONNX Runtime's own transformer optimiser; every layer's attention must have been fused."""
    import torch
    from onnxruntime.transformers import fusion_options, optimizer

    import encoder

    model = encoder.Bert(folder, sdpa=False).eval()
    plain, fused = os.path.join(folder, "plain.onnx"), os.path.join(folder, "fused.onnx")
    ids = torch.ones(2, 7, dtype=torch.int64)
    axes = {0: "sequences", 1: "longest"}
    torch.onnx.export(model, (ids, ids), plain, input_names=["ids", "mask"], output_names=["hidden"], opset_version=17,
                      dynamic_axes={"ids": axes, "mask": axes, "hidden": axes}, dynamo=False)
    options = fusion_options.FusionOptions("bert")
    result = optimizer.optimize_model(plain, "bert", num_heads=model.heads, hidden_size=model.config["hidden_size"],
                                      optimization_options=options, opt_level=1)
    counts = result.get_fused_operator_statistics()
    result.save_model_to_file(fused)
    os.remove(plain)
    print(" ".join(f"{name} {count}" for name, count in counts.items() if count))
    attention = counts.get("Attention", 0) + counts.get("MultiHeadAttention", 0)
    if attention != len(model.layers):
        raise RuntimeError(f"attention fused in {attention} of {len(model.layers)} layers")


def openvino(folder):
    import openvino as ov
    import torch

    import encoder

    ids = torch.ones(2, 7, dtype=torch.int64)
    model = ov.convert_model(encoder.Bert(folder, sdpa=True).eval(), example_input=(ids, ids),
                             input=[("ids", [-1, -1], ov.Type.i64), ("mask", [-1, -1], ov.Type.i64)])
    ov.save_model(model, os.path.join(folder, "openvino.xml"), compress_to_fp16=False)


def ctranslate2(folder):
    import transformers
    from ctranslate2 import converters

    # Its converter reads a setting that transformers 5 no longer gives a default.
    if not hasattr(transformers.BertConfig, "position_embedding_type"):
        transformers.BertConfig.position_embedding_type = "absolute"
    converters.TransformersConverter(folder).convert(os.path.join(folder, "ctranslate2"), quantization="float32", force=True)


def float64(folder, *cases):
    import torch
    import transformers

    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False, dtype=torch.float64).eval()
    for case in cases:
        path = work.reference_path(folder, case)
        if os.path.exists(path):
            continue
        lengths, ids = work.read_case(case)
        with torch.inference_mode():
            parts = torch.split(torch.tensor(ids), lengths)
            hidden = np.concatenate([model(part[None]).last_hidden_state[0].numpy() for part in parts])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        np.save(path + ".part.npy", hidden)
        os.replace(path + ".part.npy", path)


STEPS = {"bert-base": bert_base, "onnx": onnx, "openvino": openvino, "ctranslate2": ctranslate2, "float64": float64}

if __name__ == "__main__":
    STEPS[sys.argv[1]](*sys.argv[2:])
