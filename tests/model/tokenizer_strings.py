"""Text to train tokenizers on, and strings to try them with. Part of make_tokenizer_data.py."""

import collections
import gettext
import os
import random

import unicodedata2

LOCALES = "/usr/share/locale"
random = random.Random(20261130)


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


def make_strings(texts):
    """Byte strings of many kinds. Sentences are words of the translations in random order."""
    words = {
        language: sorted({word for text in all_texts[:4000] for word in text.split() if len(word) < 40})
        for language, all_texts in sorted(texts.items())
    }
    words = {language: of for language, of in words.items() if len(of) >= 100}
    languages = sorted(words)
    pick = random.choice
    strings = [
        "",
        " ",
        "  ",
        "\n",
        "\t\n ",
        "a",
        "Hello, world!",
        "\u00e9",
        "e\u0301",
        "\u3000",
        "\ufeff",
        "\u2581",
        "\u2581a",
        "##ing",
    ]

    def sentence(language, least=1, most=14):
        return " ".join(pick(words[language]) for _ in range(random.randint(least, most)))

    for i in range(1500):
        strings.append(sentence(languages[i % len(languages)]))
    for _ in range(300):  # languages mixed, odd white space between
        blanks = [
            " ",
            "  ",
            "\t",
            "\n",
            "\r\n",
            "\u00a0",
            "\u2003",
            "\u3000",
            "\u200b",
            "\u2028",
            "\u0085",
            "\u000b",
            "\u000c",
            "   ",
            " \n ",
            "\n\n\n",
        ]
        strings.append("".join(sentence(pick(languages), 1, 3) + pick(blanks) for _ in range(random.randint(1, 5))))
    emoji = [
        "😀",
        "👍",
        "👩",
        "👨",
        "👧",
        "❤",
        "🏳",
        "🌈",
        "🚀",
        "✈",
        "☺",
        "🤷",
        "🧑",
        "💻",
        "🇩",
        "🇪",
        "🇫",
        "🇷",
        "1\ufe0f\u20e3",
    ]
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
    marks = [
        chr(c)
        for c in list(range(0x300, 0x370))
        + list(range(0x483, 0x48A))
        + list(range(0x591, 0x5C8))
        + list(range(0x610, 0x61B))
        + list(range(0x64B, 0x660))
        + list(range(0x1AB0, 0x1ACF))
        + list(range(0x1DC0, 0x1E00))
        + list(range(0x20D0, 0x20F1))
        + [0x93C, 0x94D, 0x9CD, 0xE38, 0xEB8, 0x1037, 0x3099, 0x302A, 0xFB1E, 0x1D165, 0x1D167, 0x1E94A, 0x16FF0, 0x10A0F]
    ]
    bases = [
        chr(c)
        for c in list(range(0x41, 0x7B))
        + list(range(0xC0, 0x250))
        + list(range(0x391, 0x3CA))
        + list(range(0x410, 0x450))
        + list(range(0x5D0, 0x5EB))
        + list(range(0x627, 0x64B))
        + list(range(0x905, 0x93A))
        + list(range(0x1E00, 0x1F00))
        + list(range(0x3041, 0x3097))
        + list(range(0x1F00, 0x1FFF))
        + list(range(0x2100, 0x2150))
        + list(range(0xFF01, 0xFF60))
    ]
    for _ in range(500):
        strings.append(
            "".join(
                pick(bases) + "".join(pick(marks) for _ in range(pick([0, 0, 1, 1, 2, 3]))) + pick(["", "", " "])
                for _ in range(random.randint(1, 10))
            )
        )
    for _ in range(150):  # Hangul: syllables, jamo in order and out of it; compatibility forms
        strings.append(
            "".join(
                pick(
                    [
                        chr(random.randrange(0xAC00, 0xD7A4)),
                        chr(random.randrange(0x1100, 0x1113)) + chr(random.randrange(0x1161, 0x1176)),
                        chr(random.randrange(0x11A8, 0x11C3)),
                        chr(random.randrange(0x3131, 0x3164)),
                        " ",
                    ]
                )
                for _ in range(random.randint(1, 12))
            )
        )
    for _ in range(150):  # Indic conjuncts
        block = pick([0x900, 0x980, 0xA00, 0xA80, 0xB00, 0xB80, 0xC00, 0xC80, 0xD00])
        strings.append(
            "".join(
                pick(
                    [
                        chr(block + random.randrange(0x15, 0x3A)),
                        chr(block + 0x4D),
                        chr(block + random.randrange(0x3E, 0x4D)),
                        "\u200d",
                        "\u200c",
                        " ",
                    ]
                )
                for _ in range(random.randint(2, 14))
            )
        )
    for _ in range(250):  # control characters and white space
        strings.append(
            "".join(
                pick(
                    [
                        chr(random.randrange(0x20)),
                        chr(random.randrange(0x7F, 0xA1)),
                        chr(
                            pick(
                                [
                                    0x200B,
                                    0x200D,
                                    0x200E,
                                    0x2060,
                                    0xFEFF,
                                    0xAD,
                                    0x61C,
                                    0x180E,
                                    0xFFF9,
                                    0xFFFD,
                                    0xE000,
                                    0xFFFF,
                                    0x10FFFF,
                                ]
                            )
                        ),
                        "a",
                        "Bc",
                        " ",
                        "\u2581",
                    ]
                )
                for _ in range(random.randint(1, 12))
            )
        )
    names = [
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "[PAD]",
        "[UNK]",
        "<s>",
        "</s>",
        "<mask>",
        "<pad>",
        "<unk>",
        "[sep]",
        "<S>",
        "[MASK",
        "</s",
        "Zürich",
        "zurich",
        "wordy",
        "Wordy",
        "|||IP|||",
        "    ",
        "  ",
        "\u00e9t\u00e9",
        "<0x41>",
    ]
    for _ in range(700):
        strings.append(
            "".join(
                pick([pick(names), pick(names), pick(words["en"]), pick(words[pick(languages)])])
                + pick(["", "", " ", "  ", "\n", ".", "_", "\u00a0"])
                for _ in range(random.randint(1, 7))
            )
        )
    code = [
        "it's",
        "I'LL",
        "we'Re",
        "don't",
        "'s",
        "''ve",
        "x'd",
        "'\u017f",
        "'S",
        "123456789",
        "3.14",
        "1,000",
        "\u00bd",
        "\u0661\u0662\u0663",
        "\u2167",
        "\u216b7",
        "x=y+1;",
        "if(a!=b){",
        "}\r\n",
        "\n\n",
        " \n",
        "\n ",
        "\t\t",
        "http://a.b/c?d=e&f",
        "foo_bar",
        "camelCase",
        "--flag",
        "...",
        "!!!",
        "$5",
        "5%",
        "#1",
        "@me",
        "\uff11\uff12",
        "\u3002",
        "\u00ab\u00bb",
        "\u201cq\u201d",
        "\u2014",
        "~",
        "`",
        "^",
        "|",
        "a\u00b2",
        "\u00b5m",
        "\u2460",
        "\u337f",
        "\ufb01n",
        "\ufdfa",
        "\u0130stanbul",
        "\u00df",
        "\u1e9e",
        "\u03a3\u03a3",
    ]
    for _ in range(600):
        strings.append("".join(pick(code) + pick(["", "", " ", " ", "  "]) for _ in range(random.randint(1, 9))))
    for i in range(60):  # long words, some over the limit of WordPiece
        unit = pick(
            [
                pick(words["en"]),
                pick(words["ru"]),
                pick(words["ja"]),
                pick(words["th"]),
                "a",
                "\u00e9",
                "xyz",
                "\U0001f680",
                "e\u0301",
                "12",
            ]
        )
        strings.append(unit * (pick([40, 99, 100, 101, 150]) // max(len(unit), 1) + 1))
    strings += ["ab" * 3000, "a " * 2000, "\u4e2d\u6587" * 500, " ".join(sentence("en") for _ in range(40))]
    for _ in range(400):  # rare scripts: any assigned character
        plane = random.choice(
            [(0x370, 0x3000), (0x3000, 0xFFFE), (0x10000, 0x12000), (0x16000, 0x1F000), (0x1D000, 0x1F000), (0x20000, 0x323B0)]
        )
        chars = []
        while len(chars) < 8:
            c = chr(random.randrange(*plane))
            if unicodedata2.category(c) not in ("Cn", "Cs"):
                chars.append(c + pick(["", "", " ", "a"]))
        strings.append("".join(chars))
    for _ in range(120):  # words in NFD, NFC, NFKD
        strings.append(
            unicodedata2.normalize(
                pick(["NFD", "NFC", "NFKD"]), sentence(pick(["vi", "fr", "cs", "ko", "el", "hi", "ru"]), 1, 6)
            )
        )
    # A character that the character map changes, with every mark: whether they are one grapheme cluster decides.
    every_mark = [chr(c) for c in range(0x110000) if unicodedata2.category(chr(c))[0] == "M"]
    for i in range(0, len(every_mark), 24):
        strings.append(" ".join("\u00aa" + mark for mark in every_mark[i : i + 24]))
    data = [s.encode() for s in strings]
    bad = [
        b"\xff",
        b"\xc0\x80",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\x80",
        b"\xbf\xbf",
        b"\xf8\x88\x80\x80",
        b"\xe0\x9f\x80",
        b"\xc3",
        b"\xf1\x80\x80",
        b"\xf0\x80\x80\x80",
        b"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41",
    ]
    for _ in range(450):
        data.append(
            b"".join(
                pick([pick(bad), pick(words[pick(languages)]).encode(), b" ", bytes([random.randrange(256)])])
                for _ in range(random.randint(1, 8))
            )
        )
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
