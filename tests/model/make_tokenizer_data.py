#!/usr/bin/env python3
"""Makes tests/data/tokenizers: vocabularies, strings, and what the published `tokenizers` library makes of them.

    make_tokenizer_data.py --minilm DIR    DIR: all-MiniLM-L6-v2 as tools/get_model brings it
Needs: pip install tokenizers sentencepiece protobuf unicodedata2; Debian's translations (/usr/share/locale) as multilingual text to train on.
What it writes is described in tests/data/tokenizers/README.md.
"""
import argparse
import array
import collections
import copy
import gettext
import json
import os
import random
import re
import struct
import sys
import zlib

import sentencepiece
import tokenizers
import unicodedata2
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "tokenizers")
LOCALES = "/usr/share/locale"
PIECES = 4500
random = random.Random(20261130)


# ---------------------------------------------------------------------------------------------------- text to train on

def messages():
    """{language: [message]} of the installed translations; English are the originals."""
    texts = collections.defaultdict(list)
    for language in sorted(os.listdir(LOCALES)):
        folder = os.path.join(LOCALES, language, "LC_MESSAGES")
        if "@" in language and language not in ("sr@latin", "be@latin") or not os.path.isdir(folder):
            continue
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".mo"):
                continue
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    catalog = gettext.GNUTranslations(file)._catalog
            except (OSError, UnicodeDecodeError, ValueError, IndexError):
                continue
            for key, text in catalog.items():
                if key and isinstance(text, str):
                    texts[language].append(text)
                if key and language == "de":
                    texts["en"].append(key if isinstance(key, str) else key[0])
    return texts


def corpus(texts):
    """About the same amount of every language, English and a few large ones more."""
    lines = []
    for language, all_texts in sorted(texts.items()):
        lines_of = [line for text in all_texts for line in text.splitlines() if len(line) > 8]
        random.shuffle(lines_of)
        size = 0
        for line in lines_of:
            lines.append(line)
            size += len(line)
            if size > (400_000 if language == "en" else 60_000):
                break
    random.shuffle(lines)
    return lines


# ---------------------------------------------------------------------------------------------------- vocabularies

def added(id, content, **flags):
    token = dict(id=id, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    return token | flags


def document(model, **parts):
    base = dict(version="1.0", truncation=None, padding=None, added_tokens=[], normalizer=None, pre_tokenizer=None,
                post_processor=None, decoder=None)
    return base | parts | dict(model=model)


def special(name):
    return {"SpecialToken": {"id": name, "type_id": 0}}


def template(cls, sep, ids, pair_type=1, two=False):
    def token(name, type_id=0):
        return {"SpecialToken": {"id": name, "type_id": type_id}}

    def text(name, type_id=0):
        return {"Sequence": {"id": name, "type_id": type_id}}

    middle = [token(sep)] * (2 if two else 1)
    return {"type": "TemplateProcessing", "single": [token(cls), text("A"), token(sep)],
            "pair": [token(cls), text("A"), *middle, text("B", pair_type), token(sep, pair_type)],
            "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in (cls, sep)}}


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
        pre_tokenizer=dict(type="BertPreTokenizer"), post_processor=template("[CLS]", "[SEP]", ids))


def bpe(lines):
    """RoBERTa's: byte-level BPE, <s> A </s></s> B </s>."""
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=PIECES, special_tokens=names, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    ids = model["vocab"]
    ids["<mask>"] = len(ids)
    return document(model, added_tokens=[added(ids[n], n) for n in names] + [added(ids["<mask>"], "<mask>", lstrip=True)],
                    pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True),
                    post_processor=dict(type="RobertaProcessing", sep=["</s>", ids["</s>"]], cls=["<s>", ids["<s>"]],
                                        trim_offsets=True, add_prefix_space=False))


def unigram(lines):
    """XLM-R's: sentencepiece's model with the ids shifted by one. Returns it and the bytes of sentencepiece's file."""
    prefix = "/tmp/saccade_unigram"
    sentencepiece.set_random_generator_seed(1)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for line in lines if len(line.encode()) < 4000), model_prefix=prefix, vocab_size=PIECES,
        model_type="unigram", normalization_rule_name="nmt_nfkc", character_coverage=0.999, num_threads=2, minloglevel=2,
        input_sentence_size=60000, shuffle_input_sentence=False)
    with open(prefix + ".model", "rb") as file:
        content = file.read()
    from sentencepiece import sentencepiece_model_pb2  # with protobuf
    proto = sentencepiece_model_pb2.ModelProto.FromString(content)
    for field in ("input", "model_prefix"):  # what training recorded about this machine
        proto.trainer_spec.ClearField(field)
    content = proto.SerializeToString(deterministic=True)
    vocabulary = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]
    vocabulary += [[piece.piece, piece.score] for piece in proto.pieces[3:]] + [["<mask>", 0.0]]
    import base64
    charsmap = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
    ids = {"<s>": 0, "</s>": 2}
    return document(
        dict(type="Unigram", unk_id=3, vocab=vocabulary, byte_fallback=False),
        added_tokens=[added(i, n) for i, n in enumerate(["<s>", "<pad>", "</s>", "<unk>"])]
        + [added(len(vocabulary) - 1, "<mask>", lstrip=True)],
        normalizer=dict(type="Precompiled", precompiled_charsmap=charsmap),
        pre_tokenizer=dict(type="Sequence", pretokenizers=[
            dict(type="WhitespaceSplit"), dict(type="Metaspace", replacement="\u2581", prepend_scheme="always", split=True)]),
        post_processor=template("<s>", "</s>", ids, pair_type=0, two=True)), content


# ---------------------------------------------------------------------------------------------------- strings

def make_strings(texts):
    """Byte strings of many kinds. Sentences are words of the translations in random order."""
    words = {language: sorted({word for text in all_texts[:4000] for word in text.split() if len(word) < 40})
             for language, all_texts in sorted(texts.items())}
    words = {language: of for language, of in words.items() if len(of) >= 100}
    languages = sorted(words)
    pick = random.choice
    strings = ["", " ", "  ", "\n", "\t\n ", "a", "Hello, world!", "\u00e9", "e\u0301", "\u3000", "\ufeff", "\u2581", "\u2581a", "##ing"]

    def sentence(language, least=1, most=14):
        return " ".join(pick(words[language]) for _ in range(random.randint(least, most)))

    for i in range(1500):
        strings.append(sentence(languages[i % len(languages)]))
    for _ in range(300):  # languages mixed, odd white space between
        blanks = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\u2028", "\u0085", "\u000b", "\u000c", "   ", " \n ", "\n\n\n"]
        strings.append("".join(sentence(pick(languages), 1, 3) + pick(blanks) for _ in range(random.randint(1, 5))))
    emoji = ["😀", "👍", "👩", "👨", "👧", "❤", "🏳", "🌈", "🚀", "✈", "☺", "🤷", "🧑", "💻", "🇩", "🇪", "🇫", "🇷", "1\ufe0f\u20e3"]
    for _ in range(300):
        parts = []
        for _ in range(random.randint(1, 6)):
            one = pick(emoji)
            if random.random() < 0.3:
                one += chr(0x1F3FB + random.randrange(5))
            if random.random() < 0.3:
                one += "\ufe0f"
            parts.append(one + pick(["", "", " ", "\u200d", "\u200d", "a", "\U000e0067\U000e0062\U000e007f"]))
        strings.append("".join(parts))
    marks = [chr(c) for c in list(range(0x300, 0x370)) + list(range(0x483, 0x48A)) + list(range(0x591, 0x5C8)) + list(range(0x610, 0x61B))
             + list(range(0x64B, 0x660)) + list(range(0x1AB0, 0x1ACF)) + list(range(0x1DC0, 0x1E00)) + list(range(0x20D0, 0x20F1))
             + [0x93C, 0x94D, 0x9CD, 0xE38, 0xEB8, 0x1037, 0x3099, 0x302A, 0xFB1E, 0x1D165, 0x1D167, 0x1E94A, 0x16FF0, 0x10A0F]]
    bases = [chr(c) for c in list(range(0x41, 0x7B)) + list(range(0xC0, 0x250)) + list(range(0x391, 0x3CA)) + list(range(0x410, 0x450))
             + list(range(0x5D0, 0x5EB)) + list(range(0x627, 0x64B)) + list(range(0x905, 0x93A)) + list(range(0x1E00, 0x1F00))
             + list(range(0x3041, 0x3097)) + list(range(0x1F00, 0x1FFF)) + list(range(0x2100, 0x2150)) + list(range(0xFF01, 0xFF60))]
    for _ in range(500):
        strings.append("".join(pick(bases) + "".join(pick(marks) for _ in range(pick([0, 0, 1, 1, 2, 3])))
                               + pick(["", "", " "]) for _ in range(random.randint(1, 10))))
    for _ in range(150):  # Hangul: syllables, jamo in order and out of it; compatibility forms
        strings.append("".join(pick([chr(random.randrange(0xAC00, 0xD7A4)), chr(random.randrange(0x1100, 0x1113)) + chr(random.randrange(0x1161, 0x1176)),
                                     chr(random.randrange(0x11A8, 0x11C3)), chr(random.randrange(0x3131, 0x3164)), " "]) for _ in range(random.randint(1, 12))))
    for _ in range(150):  # Indic conjuncts
        block = pick([0x900, 0x980, 0xA00, 0xA80, 0xB00, 0xB80, 0xC00, 0xC80, 0xD00])
        strings.append("".join(pick([chr(block + random.randrange(0x15, 0x3A)), chr(block + 0x4D), chr(block + random.randrange(0x3E, 0x4D)),
                                     "\u200d", "\u200c", " "]) for _ in range(random.randint(2, 14))))
    for _ in range(250):  # control characters and white space
        strings.append("".join(pick([chr(random.randrange(0x20)), chr(random.randrange(0x7F, 0xA1)), chr(pick([0x200B, 0x200D, 0x200E, 0x2060, 0xFEFF, 0xAD, 0x61C, 0x180E, 0xFFF9, 0xFFFD, 0xE000, 0xFFFF, 0x10FFFF])),
                                     "a", "Bc", " ", "\u2581"]) for _ in range(random.randint(1, 12))))
    names = ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "<s>", "</s>", "<mask>", "<pad>", "<unk>", "[sep]", "<S>", "[MASK", "</s",
             "Zürich", "zurich", "wordy", "Wordy", "|||IP|||", "    ", "  ", "\u00e9t\u00e9", "<0x41>"]
    for _ in range(700):
        strings.append("".join(pick([pick(names), pick(names), pick(words["en"]), pick(words[pick(languages)])]) + pick(["", "", " ", "  ", "\n", ".", "_", "\u00a0"])
                               for _ in range(random.randint(1, 7))))
    code = ["it's", "I'LL", "we'Re", "don't", "'s", "''ve", "x'd", "'\u017f", "'S", "123456789", "3.14", "1,000", "\u00bd", "\u0661\u0662\u0663", "\u2167", "\u216b7",
            "x=y+1;", "if(a!=b){", "}\r\n", "\n\n", " \n", "\n ", "\t\t", "http://a.b/c?d=e&f", "foo_bar", "camelCase", "--flag", "...", "!!!", "$5", "5%", "#1", "@me",
            "\uff11\uff12", "\u3002", "\u00ab\u00bb", "\u201cq\u201d", "\u2014", "~", "`", "^", "|", "a\u00b2", "\u00b5m", "\u2460", "\u337f", "\ufb01n", "\ufdfa", "\u0130stanbul", "\u00df", "\u1e9e", "\u03a3\u03a3"]
    for _ in range(600):
        strings.append("".join(pick(code) + pick(["", "", " ", " ", "  "]) for _ in range(random.randint(1, 9))))
    for i in range(60):  # long words, some over the limit of WordPiece
        unit = pick([pick(words["en"]), pick(words["ru"]), pick(words["ja"]), pick(words["th"]), "a", "\u00e9", "xyz", "\U0001f680", "e\u0301", "12"])
        strings.append(unit * (pick([40, 99, 100, 101, 150]) // max(len(unit), 1) + 1))
    strings += ["ab" * 3000, "a " * 2000, "\u4e2d\u6587" * 500, " ".join(sentence("en") for _ in range(40))]
    for _ in range(400):  # rare scripts: any assigned character
        plane = random.choice([(0x370, 0x3000), (0x3000, 0xFFFE), (0x10000, 0x12000), (0x16000, 0x1F000), (0x1D000, 0x1F000), (0x20000, 0x323B0)])
        chars = []
        while len(chars) < 8:
            c = chr(random.randrange(*plane))
            if unicodedata2.category(c) not in ("Cn", "Cs"):
                chars.append(c + pick(["", "", " ", "a"]))
        strings.append("".join(chars))
    for _ in range(120):  # words in NFD, NFC, NFKD
        strings.append(unicodedata2.normalize(pick(["NFD", "NFC", "NFKD"]), sentence(pick(["vi", "fr", "cs", "ko", "el", "hi", "ru"]), 1, 6)))
    # A character that the character map changes, with every mark: whether they are one grapheme cluster decides.
    every_mark = [chr(c) for c in range(0x110000) if unicodedata2.category(chr(c))[0] == "M"]
    for i in range(0, len(every_mark), 24):
        strings.append(" ".join("\u00aa" + mark for mark in every_mark[i:i + 24]))
    data = [s.encode() for s in strings]
    bad = [b"\xff", b"\xc0\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80", b"\xbf\xbf", b"\xf8\x88\x80\x80", b"\xe0\x9f\x80", b"\xc3", b"\xf1\x80\x80",
           b"\xf0\x80\x80\x80", b"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"]
    for _ in range(450):
        data.append(b"".join(pick([pick(bad), pick(words[pick(languages)]).encode(), b" ", bytes([random.randrange(256)])]) for _ in range(random.randint(1, 8))))
    return data


def sweep():
    """Code points: all up to where scripts and symbols end, of the others some of every plane. (first, behind the last) of each
    string. C++ makes the same ones."""
    small = [(c, c + 128) for c in range(0, 0x32400, 128)] + [(c, c + 128) for c in range(0xE0000, 0xE0200, 128)]
    large = [(c, c + 4096) for c in range(0x32400, 0x110000, 0x10000)]
    return small + large


def sweep_string(first, end):
    glue = ["a", " ", ""]
    return "".join(chr(c) + glue[c % 3] for c in range(first, end) if not 0xD800 <= c < 0xE000)


# ---------------------------------------------------------------------------------------------------- cases

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
    split = lambda pattern, behavior="Isolated", invert=False, kind="Regex": dict(type="Split", pattern={kind: pattern}, behavior=behavior, invert=invert)
    plain = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False)
    level = b["pre_tokenizer"]
    seq_n = lambda *steps: dict(type="Sequence", normalizers=list(steps))
    seq_p = lambda *steps: dict(type="Sequence", pretokenizers=list(steps))
    meta = lambda scheme="always", split=True: dict(type="Metaspace", replacement="\u2581", prepend_scheme=scheme, split=split)
    size = {name: len(base["model"]["vocab"]) for name, base in bases.items()}
    extra = lambda name, *tokens: dict(added_tokens=bases[name]["added_tokens"] + [added(size[name] + i, content, special=False, **flags) for i, (content, flags) in enumerate(tokens)])
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
        ("replace_spaces", "unigram", norm(seq_n(charsmap, dict(type="Replace", pattern={"Regex": " {2,}"}, content=" "))) | pre(meta()), "metaspace_only"),
        ("strip_both", "unigram", norm(seq_n(charsmap, dict(type="Strip", strip_left=True, strip_right=True))) | pre(meta()), "metaspace_only"),
        ("strip_right", "unigram", norm(seq_n(dict(type="Strip", strip_left=False, strip_right=True), charsmap)) | pre(meta()), "metaspace_only"),
        ("prepend", "unigram", norm(seq_n(dict(type="Prepend", prepend="\u2581"), dict(type="Replace", pattern={"String": " "}, content="\u2581"))) | pre(None), "bare_unigram"),
        ("no_charsmap", "unigram", norm(None), "unigram"),
        # Pre-tokenizers.
        ("bare_wordpiece", "wordpiece", pre(None), "wordpiece"),
        ("bare_unigram", "unigram", norm(None) | pre(None), "no_charsmap"),
        ("whitespace", "wordpiece", pre(dict(type="Whitespace")), "bare_wordpiece"),
        ("whitespace_split", "wordpiece", pre(dict(type="WhitespaceSplit")), "bare_wordpiece"),
        ("punctuation", "wordpiece", pre(seq_p(dict(type="WhitespaceSplit"), dict(type="Punctuation"))), "whitespace_split"),
        ("punctuation_contiguous", "wordpiece", pre(seq_p(dict(type="WhitespaceSplit"), dict(type="Punctuation", behavior="Contiguous"))), "punctuation"),
        ("digits", "wordpiece", pre(seq_p(dict(type="WhitespaceSplit"), dict(type="Digits", individual_digits=True))), "whitespace_split"),
        ("digits_together", "wordpiece", pre(seq_p(dict(type="WhitespaceSplit"), dict(type="Digits", individual_digits=False))), "whitespace_split"),
        ("split_string_removed", "wordpiece", pre(seq_p(dict(type="WhitespaceSplit"), split("e", "Removed", kind="String"))), "whitespace_split"),
        ("split_previous", "wordpiece", pre(seq_p(dict(type="WhitespaceSplit"), split("e", "MergedWithPrevious", kind="String"))), "whitespace_split"),
        ("split_next", "wordpiece", pre(seq_p(dict(type="WhitespaceSplit"), split("e", "MergedWithNext", kind="String"))), "whitespace_split"),
        ("split_inverted", "wordpiece", pre(split(r"\p{N}", "Removed", True)), "bare_wordpiece"),
        ("split_contiguous", "bpe", pre(seq_p(split(r"\s", "Contiguous"), plain)), "bpe_unsplit"),
        ("metaspace_only", "unigram", pre(meta()), "unigram"),
        ("metaspace_never", "unigram", pre(meta("never")), "metaspace_only"),
        ("metaspace_first", "unigram", norm(None) | pre(seq_p(split("\n", "Isolated", kind="String"), meta("first"))), "metaspace_first_always"),
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
        ("modernbert", "bpe", norm(dict(type="NFC")) | extra("bpe", ("|||IP|||", dict(normalized=False)), ("    ", dict(normalized=True)), ("  ", dict(normalized=True)))
         | dict(post_processor=template("<s>", "</s>", dict(zip(("<s>", "</s>"), (0, 2))), pair_type=0)), "bpe"),
        # Added tokens.
        ("added_normalized", "wordpiece", extra("wordpiece", ("Z\u00fcrich", dict(normalized=True)), ("wordy", dict(normalized=False))), "wordpiece"),
        ("added_single_word", "wordpiece", extra("wordpiece", ("Z\u00fcrich", dict(normalized=True, single_word=True)), ("wordy", dict(normalized=False, single_word=True))), "added_normalized"),
        ("added_strip", "bpe", extra("bpe", ("Z\u00fcrich", dict(lstrip=True, rstrip=True)), ("wordy", dict(rstrip=True))), "added_no_strip"),
        ("added_no_strip", "bpe", extra("bpe", ("Z\u00fcrich", {}), ("wordy", {})), "bpe"),
        ("no_added", "wordpiece", dict(added_tokens=[]), "wordpiece"),
        # Post-processors (on pairs, too).
        ("no_post_processor", "bpe", dict(post_processor=None), "bpe"),
        ("bert_processing", "bpe", dict(post_processor=dict(type="BertProcessing", sep=["</s>", 2], cls=["<s>", 0])), "no_post_processor"),
        ("byte_level_processing", "bpe", dict(post_processor=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True)), None),
        ("sequence_processing", "bpe", dict(post_processor=dict(type="Sequence", processors=[
            dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True), template("<s>", "</s>", {"<s>": 0, "</s>": 2})])), "no_post_processor"),
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


def characters_bpe(lines):
    """BPE over characters, with an unknown token; some merges left out, so that ignore_merges has words to find."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(lines[:8000], trainers.BpeTrainer(vocab_size=1500, special_tokens=["<unk>"], limit_alphabet=300, show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    model["merges"] = [merge for i, merge in enumerate(model["merges"]) if i % 7 != 3]
    return document(model, added_tokens=[added(0, "<unk>")], pre_tokenizer=dict(type="WhitespaceSplit"))


def affixes_bpe(lines):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(lines[:8000], trainers.BpeTrainer(vocab_size=1500, special_tokens=["<unk>"], limit_alphabet=200, show_progress=False,
                                                                   continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    return document(json.loads(tokenizer.to_str())["model"], added_tokens=[added(0, "<unk>")], pre_tokenizer=dict(type="WhitespaceSplit"))


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


# ---------------------------------------------------------------------------------------------------- results

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
    data = digests(singles[i:i + 2] for i in range(0, len(singles), 2))
    swept = tokenizer.encode_batch_fast([sweep_string(*block) for block in sweep()])
    data += digests([e] for e in swept)
    cut = []
    for i in range(PAIRS):
        first, second, limit, special = pair(i, len(texts))
        tokenizer.enable_truncation(limit)
        cut.append([tokenizer.encode(texts[first], texts[second], add_special_tokens=special),
                    tokenizer.encode(texts[first], add_special_tokens=special)])
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
    bases = dict(wordpiece=wordpiece(minilm), bpe=bpe(lines), bpe_characters=characters_bpe(lines), bpe_affixes=affixes_bpe(lines))
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
        data, ids[name] = results(Tokenizer.from_str(apply(bases[base], changes, bases["unigram"]["normalizer"]["precompiled_charsmap"])), decoded, name in FULL)
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
