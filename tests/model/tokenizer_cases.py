"""The tokenizers that are compared: bases and what is changed in them. Part of make_tokenizer_data.py."""

import copy
import json


def added(id, content, **flags):
    token = dict(id=id, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    return token | flags


def document(model, **parts):
    base = dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=[],
        normalizer=None,
        pre_tokenizer=None,
        post_processor=None,
        decoder=None,
    )
    return base | parts | dict(model=model)


def template(cls, sep, ids, pair_type=1, two=False):
    def token(name, type_id=0):
        return {"SpecialToken": {"id": name, "type_id": type_id}}

    def text(name, type_id=0):
        return {"Sequence": {"id": name, "type_id": type_id}}

    middle = [token(sep)] * (2 if two else 1)
    return {
        "type": "TemplateProcessing",
        "single": [token(cls), text("A"), token(sep)],
        "pair": [token(cls), text("A"), *middle, text("B", pair_type), token(sep, pair_type)],
        "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in (cls, sep)},
    }


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
GPT2_SHORT = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def cases(bases):
    """[(name, base, changes, name of the case without it)]. Changes replace top-level values; "model" is merged."""
    w, b, u = (bases[name] for name in ("wordpiece", "bpe", "unigram"))
    bert = w["normalizer"]
    charsmap = {"type": "Precompiled", "precompiled_charsmap": "@"}  # "@": that of unigram.json
    split = lambda pattern, behavior="Isolated", invert=False, kind="Regex": dict(
        type="Split", pattern={kind: pattern}, behavior=behavior, invert=invert
    )
    plain = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False)
    level = b["pre_tokenizer"]
    seq_n = lambda *steps: dict(type="Sequence", normalizers=list(steps))
    seq_p = lambda *steps: dict(type="Sequence", pretokenizers=list(steps))
    meta = lambda scheme="always", split=True: dict(type="Metaspace", replacement="\u2581", prepend_scheme=scheme, split=split)
    size = {name: len(base["model"]["vocab"]) for name, base in bases.items()}
    extra = lambda name, *tokens: dict(
        added_tokens=bases[name]["added_tokens"]
        + [added(size[name] + i, content, special=False, **flags) for i, (content, flags) in enumerate(tokens)]
    )
    norm = lambda n: dict(normalizer=n)
    pre = lambda p: dict(pre_tokenizer=p)
    out = [
        ("wordpiece", "wordpiece", {}, None),
        ("bpe", "bpe", {}, None),
        ("unigram", "unigram", {}, None),
        # Normalizers: BERT's on WordPiece; on byte-level BPE, where no unknown token hides a difference.
        ("no_normalizer", "wordpiece", norm(None), "wordpiece"),
        ("bert_no_clean", "wordpiece", norm(bert | dict(clean_text=False)), "wordpiece"),
        ("bert_no_chinese", "wordpiece", norm(bert | dict(handle_chinese_chars=False)), "wordpiece"),
        ("bert_accents", "wordpiece", norm(bert | dict(strip_accents=False)), "wordpiece"),
        ("bert_cased", "wordpiece", norm(bert | dict(lowercase=False)), "wordpiece"),
        ("bert_cased_no_accents", "wordpiece", norm(bert | dict(lowercase=False, strip_accents=True)), "bert_cased"),
        ("lowercase", "bpe", norm(dict(type="Lowercase")), "bpe"),
        ("strip_accents", "bpe", norm(dict(type="StripAccents")), "bpe"),
        ("nfd", "bpe", norm(dict(type="NFD")), "bpe"),
        ("nfc", "bpe", norm(dict(type="NFC")), "bpe"),
        ("nfkd", "bpe", norm(dict(type="NFKD")), "bpe"),
        ("nfkc", "bpe", norm(dict(type="NFKC")), "bpe"),
        ("nfd_strip_lowercase", "bpe", norm(seq_n(dict(type="NFD"), dict(type="StripAccents"), dict(type="Lowercase"))), "nfd"),
        ("nmt", "bpe", norm(dict(type="Nmt")), "bpe"),
        ("replace_string", "bpe", norm(dict(type="Replace", pattern={"String": "e"}, content="oo")), "bpe"),
        ("bert_on_bytes", "bpe", norm(bert), "bpe"),
        ("bert_cased_on_bytes", "bpe", norm(bert | dict(lowercase=False)), "bert_on_bytes"),
        ("charsmap_on_bytes", "bpe", norm(dict(type="Precompiled", precompiled_charsmap="@")), "bpe"),
        (
            "replace_spaces",
            "unigram",
            norm(seq_n(charsmap, dict(type="Replace", pattern={"Regex": " {2,}"}, content=" "))) | pre(meta()),
            "metaspace_only",
        ),
        (
            "strip_both",
            "unigram",
            norm(seq_n(charsmap, dict(type="Strip", strip_left=True, strip_right=True))) | pre(meta()),
            "metaspace_only",
        ),
        (
            "strip_right",
            "unigram",
            norm(seq_n(dict(type="Strip", strip_left=False, strip_right=True), charsmap)) | pre(meta()),
            "metaspace_only",
        ),
        (
            "prepend",
            "unigram",
            norm(seq_n(dict(type="Prepend", prepend="\u2581"), dict(type="Replace", pattern={"String": " "}, content="\u2581")))
            | pre(None),
            "bare_unigram",
        ),
        ("no_charsmap", "unigram", norm(None), "unigram"),
        # Pre-tokenizers.
        ("bare_wordpiece", "wordpiece", pre(None), "wordpiece"),
        ("bare_unigram", "unigram", norm(None) | pre(None), "no_charsmap"),
        ("whitespace", "wordpiece", pre(dict(type="Whitespace")), "bare_wordpiece"),
        ("whitespace_split", "wordpiece", pre(dict(type="WhitespaceSplit")), "bare_wordpiece"),
        ("punctuation", "wordpiece", pre(seq_p(dict(type="WhitespaceSplit"), dict(type="Punctuation"))), "whitespace_split"),
        (
            "punctuation_contiguous",
            "wordpiece",
            pre(seq_p(dict(type="WhitespaceSplit"), dict(type="Punctuation", behavior="Contiguous"))),
            "punctuation",
        ),
        (
            "digits",
            "wordpiece",
            pre(seq_p(dict(type="WhitespaceSplit"), dict(type="Digits", individual_digits=True))),
            "whitespace_split",
        ),
        (
            "digits_together",
            "wordpiece",
            pre(seq_p(dict(type="WhitespaceSplit"), dict(type="Digits", individual_digits=False))),
            "whitespace_split",
        ),
        (
            "split_string_removed",
            "wordpiece",
            pre(seq_p(dict(type="WhitespaceSplit"), split("e", "Removed", kind="String"))),
            "whitespace_split",
        ),
        (
            "split_previous",
            "wordpiece",
            pre(seq_p(dict(type="WhitespaceSplit"), split("e", "MergedWithPrevious", kind="String"))),
            "whitespace_split",
        ),
        (
            "split_next",
            "wordpiece",
            pre(seq_p(dict(type="WhitespaceSplit"), split("e", "MergedWithNext", kind="String"))),
            "whitespace_split",
        ),
        ("split_inverted", "wordpiece", pre(split(r"\p{N}", "Removed", True)), "bare_wordpiece"),
        ("split_contiguous", "bpe", pre(seq_p(split(r"\s", "Contiguous"), plain)), "bpe_unsplit"),
        ("metaspace_only", "unigram", pre(meta()), "unigram"),
        ("metaspace_never", "unigram", pre(meta("never")), "metaspace_only"),
        (
            "metaspace_first",
            "unigram",
            norm(None) | pre(seq_p(split("\n", "Isolated", kind="String"), meta("first"))),
            "metaspace_first_always",
        ),
        ("metaspace_first_always", "unigram", norm(None) | pre(seq_p(split("\n", "Isolated", kind="String"), meta())), None),
        ("metaspace_unsplit", "unigram", pre(meta("always", False)), None),
        ("bpe_prefix_space", "bpe", pre(level | dict(add_prefix_space=True)), "bpe"),
        ("bpe_unsplit", "bpe", pre(plain), "bpe"),
        ("bpe_gpt2_split", "bpe", pre(seq_p(split(GPT2), plain)), "bpe_unsplit"),
        ("bpe_gpt2_short", "bpe", pre(seq_p(split(GPT2_SHORT), plain)), "bpe_unsplit"),
        ("bpe_qwen", "bpe", norm(dict(type="NFC")) | pre(seq_p(split(QWEN), plain)), "bpe_unsplit"),
        ("bpe_llama", "bpe", pre(seq_p(split(LLAMA), plain)), "bpe_qwen"),
        ("bpe_cl100k", "bpe", pre(seq_p(split(CL100K), plain)), "bpe_qwen"),
        # ModernBERT: NFC, GPT-2's splits, added runs of blanks that are looked for in the normalised text, [CLS] A [SEP] B [SEP].
        (
            "modernbert",
            "bpe",
            norm(dict(type="NFC"))
            | extra("bpe", ("|||IP|||", dict(normalized=False)), ("    ", dict(normalized=True)), ("  ", dict(normalized=True)))
            | dict(post_processor=template("<s>", "</s>", dict(zip(("<s>", "</s>"), (0, 2))), pair_type=0)),
            "bpe",
        ),
        # Added tokens.
        (
            "added_normalized",
            "wordpiece",
            extra("wordpiece", ("Z\u00fcrich", dict(normalized=True)), ("wordy", dict(normalized=False))),
            "wordpiece",
        ),
        (
            "added_single_word",
            "wordpiece",
            extra(
                "wordpiece",
                ("Z\u00fcrich", dict(normalized=True, single_word=True)),
                ("wordy", dict(normalized=False, single_word=True)),
            ),
            "added_normalized",
        ),
        (
            "added_strip",
            "bpe",
            extra("bpe", ("Z\u00fcrich", dict(lstrip=True, rstrip=True)), ("wordy", dict(rstrip=True))),
            "added_no_strip",
        ),
        ("added_no_strip", "bpe", extra("bpe", ("Z\u00fcrich", {}), ("wordy", {})), "bpe"),
        ("no_added", "wordpiece", dict(added_tokens=[]), "wordpiece"),
        # Post-processors (on pairs, too).
        ("no_post_processor", "bpe", dict(post_processor=None), "bpe"),
        (
            "bert_processing",
            "bpe",
            dict(post_processor=dict(type="BertProcessing", sep=["</s>", 2], cls=["<s>", 0])),
            "no_post_processor",
        ),
        (
            "byte_level_processing",
            "bpe",
            dict(post_processor=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True)),
            None,
        ),
        (
            "sequence_processing",
            "bpe",
            dict(
                post_processor=dict(
                    type="Sequence",
                    processors=[
                        dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True),
                        template("<s>", "</s>", {"<s>": 0, "</s>": 2}),
                    ],
                )
            ),
            "no_post_processor",
        ),
        # Options of the models.
        ("wordpiece_short_words", "wordpiece", dict(model=dict(max_input_chars_per_word=6)), "wordpiece"),
        ("unigram_bytes", "unigram", dict(model=dict(byte_fallback=True), bytes=True), "unigram"),
        ("bpe_ignore_merges", "bpe_characters", dict(model=dict(ignore_merges=True)), "bpe_characters"),
        ("bpe_characters", "bpe_characters", {}, None),
        ("bpe_fuse_unk", "bpe_characters", dict(model=dict(fuse_unk=True)), "bpe_characters"),
        ("bpe_byte_fallback", "bpe_characters", dict(model=dict(byte_fallback=True), bytes=True), "bpe_characters"),
        ("bpe_prefix_and_suffix", "bpe_affixes", {}, None),
        ("bpe_no_unk", "bpe_characters", dict(model=dict(unk_token=None)), "bpe_characters"),
    ]
    return out


def apply(base, changes, charsmap):
    """The tokenizer.json of a case. C++ does the same."""
    result = copy.deepcopy(base)
    for key, value in changes.items():
        if key == "model":
            result["model"].update(value)
        elif key == "bytes":  # pieces for the bytes
            vocabulary = result["model"]["vocab"]
            for byte in range(256):
                piece = f"<0x{byte:02X}>"
                if isinstance(vocabulary, list):
                    vocabulary.append([piece, -30.0])
                else:
                    vocabulary[piece] = len(vocabulary)
        else:
            result[key] = value
    text = json.dumps(result, ensure_ascii=False)
    if '"precompiled_charsmap": "@"' in text:
        text = text.replace('"precompiled_charsmap": "@"', '"precompiled_charsmap": ' + json.dumps(charsmap))
    return text
