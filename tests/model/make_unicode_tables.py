#!/usr/bin/env python3
"""Writes runtime/model/tokenizer/unicode_tables.inc: what the `tokenizers` package says about every code point.

The package mixes tables of several Unicode versions (each of its parts brings its own), so its answers are asked for, one code
point at a time, instead of being derived from one version.  Needs: pip install tokenizers unicodedata2.
    make_unicode_tables.py > runtime/model/tokenizer/unicode_tables.inc
"""

import struct
import unicodedata

import tokenizers
import unicodedata2
from tokenizers import Regex, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def bert(**on):
    options = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**(options | on)).normalize_str


def splits_off(pre_tokenizer):
    return lambda s: len(pre_tokenizer.pre_tokenize_str("a" + s + "a")) == 3


def all_of(regex):
    split = pre_tokenizers.Split(Regex(regex), "removed")
    return lambda s: split.pre_tokenize_str(s) == []


def removed_by(normalize):
    return lambda s: normalize("a" + s) == "a"


def joins():
    """Whether a character belongs to the grapheme cluster of the one before it: a character map that knows "A" only drops it."""
    units = [0] * 1024
    units[0] = 256 << 10  # offset to the children
    units[256 ^ 0x41] = 0x41 | 1 << 8 | 512 << 10  # label, has a leaf, offset to it
    replacement = b"a\0"
    units[256 ^ 0x41 ^ 512] = 0  # place of the replacement
    blob = struct.pack("<I1024I", 4096, *units) + replacement
    normalize = normalizers.Precompiled(blob).normalize_str
    return lambda s: normalize("A" + s) == "a"


def left_alone(normalize):
    """Characters that Unicode orders, decomposes or composes, and the package's older tables do not."""
    composed_first = set()
    for c in CODE_POINTS:
        parts = unicodedata2.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and normalize["NFD"](chr(c)) == chr(c):
            composed_first.add(chr(int(parts[0], 16)))

    def test(s):
        if s in composed_first or unicodedata2.normalize("NFKD", s) != normalize["NFKD"](s):
            return True
        order = unicodedata2.combining(s)
        if order == 0:
            return False
        marks = ("\u0301" + s) if order == 1 else (s + "\u0334")  # 230 and 1: both must be swapped
        return normalize["NFD"]("a" + marks) == "a" + marks

    return test


def main():
    chinese = bert(handle_chinese_chars=True)
    clean = bert(clean_text=True)
    word = pre_tokenizers.Whitespace()
    forms = {name: getattr(normalizers, name)().normalize_str for name in ("NFD", "NFKD")}
    classes = [  # bits of enum CharClass in unicode.h, in order
        ("kSpace", lambda s: normalizers.Strip().normalize_str(s) == ""),
        ("kControl", lambda s: clean("a" + s + "a") == "aa"),
        ("kNonspacing", removed_by(bert(strip_accents=True))),
        ("kMark", removed_by(normalizers.StripAccents().normalize_str)),
        ("kPunctuation", splits_off(pre_tokenizers.Punctuation())),
        ("kNumeric", splits_off(pre_tokenizers.Digits(individual_digits=True))),
        ("kLetter", all_of(r"\p{L}")),
        ("kNumber", all_of(r"\p{N}")),
        ("kWord", lambda s: word.pre_tokenize_str("a" + s)[0][0] == "a" + s),
        ("kChinese", lambda s: chinese(s) != s),
        ("kUnnormalized", left_alone(forms)),
    ]
    masks = {}
    for bit, (_, test) in enumerate(classes):
        for c in CODE_POINTS:
            if test(chr(c)):
                masks[c] = masks.get(c, 0) | 1 << bit
    runs, last = [], 0
    for c in range(0x110000):
        mask = masks.get(c, 0)
        if mask != last:
            runs.append((c, mask))
            last = mask
    lower = normalizers.Lowercase().normalize_str
    exceptions = [(c, [ord(x) for x in lower(chr(c))]) for c in CODE_POINTS if lower(chr(c)) != chr(c).lower()]
    assert all(len(to) == 1 for _, to in exceptions) and lower("\u0130") == "i\u0307"

    joined = joins()
    marks = [
        c
        for c in CODE_POINTS
        if joined(chr(c)) and unicodedata2.category(chr(c))[0] == "M" and unicodedata.category(chr(c)) == "Cn"
    ]

    print(f"// Made by tests/model/make_unicode_tables.py from tokenizers {tokenizers.__version__}.")
    print("// From this code point on, to the next: these classes. first << 11 | classes.")
    print("constexpr uint32_t kClassRuns[] = {")
    wrap([f"0x{first << 11 | mask:x}" for first, mask in runs])
    print("};")
    print("// Characters that extend a grapheme cluster and that Unicode 14 does not have.")
    print("constexpr uint32_t kNewerMarks[] = {")
    wrap([f"0x{c:x}" for c in marks])
    print("};")
    print("// Lowercase of letters that Unicode 14 does not have.")
    print("constexpr uint32_t kNewerLowercase[][2] = {")
    wrap([f"{{0x{c:x}, 0x{to[0]:x}}}" for c, to in exceptions])
    print("};")


def wrap(items):
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > 130:
            print(line)
            line = "   "
        line += " " + item + ","
    print(line)


main()
