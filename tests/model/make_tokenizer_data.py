#!/usr/bin/env python3
"""Makes tests/data/tokenizers: vocabularies, strings, and what the published `tokenizers` library makes of them.

    make_tokenizer_data.py --minilm DIR    DIR: all-MiniLM-L6-v2 as tools/get_model brings it
Needs: pip install tokenizers sentencepiece protobuf unicodedata2; Debian's translations (/usr/share/locale) as multilingual
text to train on. What it writes is described in tests/data/tokenizers/README.md.
"""

import argparse
import array
import base64
import json
import os
import struct
import zlib

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tokenizer_cases import added, apply, cases, document, template
from tokenizer_strings import corpus, make_strings, messages, sweep, sweep_string

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "tokenizers")
PIECES = 4500


def wordpiece(minilm):
    """4,000 entries of MiniLM's vocabulary: special tokens, single characters, then the first (most frequent) others."""
    with open(os.path.join(minilm, "vocab.txt"), encoding="utf-8") as file:
        entries = file.read().split("\n")
    entries = [e for e in entries if e]
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    bare = lambda e: e.removeprefix("##")
    chosen = set(names) | {e for e in entries if len(bare(e)) == 1}
    for entry in entries:
        if len(chosen) >= 4000:
            break
        if not entry.startswith("[unused"):
            chosen.add(entry)
    vocabulary = names + [e for e in entries if e in chosen and e not in names]
    ids = {e: i for i, e in enumerate(vocabulary)}
    return document(
        dict(type="WordPiece", unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=100, vocab=ids),
        added_tokens=[added(ids[n], n) for n in names],
        normalizer=dict(type="BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True),
        pre_tokenizer=dict(type="BertPreTokenizer"),
        post_processor=template("[CLS]", "[SEP]", ids),
    )


def bpe(lines):
    """RoBERTa's: byte-level BPE, <s> A </s></s> B </s>."""
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES, special_tokens=names, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    ids = model["vocab"]
    ids["<mask>"] = len(ids)
    return document(
        model,
        added_tokens=[added(ids[n], n) for n in names] + [added(ids["<mask>"], "<mask>", lstrip=True)],
        pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True),
        post_processor=dict(
            type="RobertaProcessing",
            sep=["</s>", ids["</s>"]],
            cls=["<s>", ids["<s>"]],
            trim_offsets=True,
            add_prefix_space=False,
        ),
    )


def unigram(lines):
    """XLM-R's: sentencepiece's model with the ids shifted by one. Returns it and the bytes of sentencepiece's file."""
    prefix = "/tmp/saccade_unigram"
    sentencepiece.set_random_generator_seed(1)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for line in lines if len(line.encode()) < 4000),
        model_prefix=prefix,
        vocab_size=PIECES,
        model_type="unigram",
        normalization_rule_name="nmt_nfkc",
        character_coverage=0.999,
        num_threads=2,
        minloglevel=2,
        input_sentence_size=60000,
        shuffle_input_sentence=False,
    )
    with open(prefix + ".model", "rb") as file:
        content = file.read()
    proto = sentencepiece_model_pb2.ModelProto.FromString(content)
    for field in ("input", "model_prefix"):  # what training recorded about this machine
        proto.trainer_spec.ClearField(field)
    content = proto.SerializeToString(deterministic=True)
    vocabulary = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]
    vocabulary += [[piece.piece, piece.score] for piece in proto.pieces[3:]] + [["<mask>", 0.0]]
    charsmap = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
    ids = {"<s>": 0, "</s>": 2}
    return (
        document(
            dict(type="Unigram", unk_id=3, vocab=vocabulary, byte_fallback=False),
            added_tokens=[added(i, n) for i, n in enumerate(["<s>", "<pad>", "</s>", "<unk>"])]
            + [added(len(vocabulary) - 1, "<mask>", lstrip=True)],
            normalizer=dict(type="Precompiled", precompiled_charsmap=charsmap),
            pre_tokenizer=dict(
                type="Sequence",
                pretokenizers=[
                    dict(type="WhitespaceSplit"),
                    dict(type="Metaspace", replacement="\u2581", prepend_scheme="always", split=True),
                ],
            ),
            post_processor=template("<s>", "</s>", ids, pair_type=0, two=True),
        ),
        content,
    )


def characters_bpe(lines):
    """BPE over characters, with an unknown token; some merges left out, so that ignore_merges has words to find."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(
        lines[:8000], trainers.BpeTrainer(vocab_size=1500, special_tokens=["<unk>"], limit_alphabet=300, show_progress=False)
    )
    model = json.loads(tokenizer.to_str())["model"]
    model["merges"] = [merge for i, merge in enumerate(model["merges"]) if i % 7 != 3]
    return document(model, added_tokens=[added(0, "<unk>")], pre_tokenizer=dict(type="WhitespaceSplit"))


def affixes_bpe(lines):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(
        lines[:8000],
        trainers.BpeTrainer(
            vocab_size=1500,
            special_tokens=["<unk>"],
            limit_alphabet=200,
            show_progress=False,
            continuing_subword_prefix="##",
            end_of_word_suffix="</w>",
        ),
    )
    return document(
        json.loads(tokenizer.to_str())["model"], added_tokens=[added(0, "<unk>")], pre_tokenizer=dict(type="WhitespaceSplit")
    )


def digest(encodings):
    """CRC-32 over the encodings: the ids of one (32 bits each), then a byte per token (type and mask); folded to 16 bits."""
    crc = 0
    for encoding in encodings:
        crc = zlib.crc32(array.array("I", encoding.ids).tobytes(), crc)
        crc = zlib.crc32(bytes(t << 1 | m for t, m in zip(encoding.type_ids, encoding.special_tokens_mask)), crc)
    return (crc >> 16) ^ (crc & 0xFFFF)


def digests(groups):
    hashes = [digest(group) for group in groups]
    return struct.pack(f"<{len(hashes)}H", *hashes)


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


PAIRS = 1200


def pair(i, count):
    """Texts of pair i, the limit, and whether special tokens are added. C++ does the same."""
    return (i * 7919) % count, (i * 104729 + 5) % count, 4 + i % 29, i % 11 != 0


def results(tokenizer, texts, full):
    singles = tokenizer.encode_batch_fast(texts)
    data = digests(singles[i : i + 2] for i in range(0, len(singles), 2))
    swept = tokenizer.encode_batch_fast([sweep_string(*block) for block in sweep()])
    data += digests([e] for e in swept)
    cut = []
    for i in range(PAIRS):
        first, second, limit, special = pair(i, len(texts))
        tokenizer.enable_truncation(limit)
        cut.append(
            [
                tokenizer.encode(texts[first], texts[second], add_special_tokens=special),
                tokenizer.encode(texts[first], add_special_tokens=special),
            ]
        )
    tokenizer.no_truncation()
    data += digests(cut)
    if full:
        data += b"".join(varint(len(e.ids)) + b"".join(varint(id) for id in e.ids) for e in singles)
    return data, [e.ids for e in singles]


FULL = ("wordpiece", "bpe", "unigram")  # these have every id, the others hashes only


def write(name, content):
    with open(os.path.join(OUT, name), "wb") as file:
        file.write(content)
    print(f"{name}: {len(content):,} bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minilm", required=True)
    minilm = parser.parse_args().minilm
    os.makedirs(OUT, exist_ok=True)
    texts = messages()
    lines = corpus(texts)
    print(f"{len(lines):,} lines of {len(texts)} languages")
    bases = dict(
        wordpiece=wordpiece(minilm), bpe=bpe(lines), bpe_characters=characters_bpe(lines), bpe_affixes=affixes_bpe(lines)
    )
    bases["unigram"], model = unigram(lines)
    strings = make_strings(texts)
    print(f"{len(strings):,} strings, {sum(map(len, strings)):,} bytes")
    decoded = [s.decode("utf-8", "replace") for s in strings]
    write("strings.bin", b"".join(varint(len(s)) + s for s in strings))
    for name, base in bases.items():
        write(f"{name}.json", json.dumps(base, ensure_ascii=False, separators=(",", ":")).encode())
    write("sentencepiece.bpe.model", model)

    all_cases = cases(bases)
    listing, ids = [], {}
    for name, base, changes, _ in all_cases:
        data, ids[name] = results(
            Tokenizer.from_str(apply(bases[base], changes, bases["unigram"]["normalizer"]["precompiled_charsmap"])),
            decoded,
            name in FULL,
        )
        write(f"{name}.out", data)
        listing.append(dict(name=name, base=base, changes=changes, full=name in FULL))
    with open(os.path.join(minilm, "tokenizer.json"), encoding="utf-8") as file:
        real = json.load(file) | dict(truncation=None, padding=None)
    data, ids["minilm"] = results(Tokenizer.from_str(json.dumps(real)), decoded, False)
    write("minilm.out", data)
    write("cases.json", json.dumps(listing, ensure_ascii=False, indent=0).encode())

    print("strings whose ids change when a component is switched on or off:")
    for name, _, _, without in all_cases:
        if without is None:
            continue
        changed = sum(a != b for a, b in zip(ids[name], ids[without]))
        print(f"  {name:24} against {without:24} {changed:6}")
        assert changed >= 20, name


main()
