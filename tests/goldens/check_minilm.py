#!/usr/bin/env python3
"""Compares `saccade embed` with sentence-transformers in float64 on the real all-MiniLM-L6-v2.

  tools/get_model all-MiniLM-L6-v2 build/models/all-MiniLM-L6-v2
  python3 -m venv VENV && VENV/bin/pip install sentence-transformers
  VENV/bin/python tests/goldens/check_minilm.py build/bin/saccade build/models/all-MiniLM-L6-v2

1,000 texts of 16 languages, from none to far more tokens than the model takes. Exit code 1 when a number differs by more than 1e-5
or a cosine is at most 0.999999.
"""
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

SENTENCES = [
    "The quick brown fox jumps over the lazy dog.", "Attention is computed on live tokens only.",
    "How do I reset my password?", "It was raining, so we stayed at home and read.",
    "Der schnelle braune Fuchs springt über den faulen Hund.", "Größe und Straße schreibt man verschieden.",
    "Le vif renard brun saute par-dessus le chien paresseux.", "Où est la bibliothèque, s'il vous plaît ?",
    "El veloz murciélago hindú comía feliz cardillo y kiwi.", "¿Cuánto cuesta el billete a Sevilla?",
    "A rápida raposa marrom salta sobre o cão preguiçoso.", "La volpe veloce salta sopra il cane pigro.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.", "Где находится ближайшая станция метро?",
    "Zażółć gęślą jaźń.", "Příliš žluťoučký kůň úpěl ďábelské ódy.", "Pijamalı hasta yağız şoföre çabucak güvendi.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.", "דג סקרן שט בים מאוכזב ולפתע מצא חברה.", "نص حكيم له سر قاطع وذو شأن عظيم.",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा का नाम क्या था?", "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "我爱自然语言处理。", "今天天气很好，我们去公园散步吧。", "いろはにほへと ちりぬるを", "東京は日本の首都です。",
    "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.", "Do bạch kim rất quý nên sẽ dùng để lắp vô xương.",
    "👩‍👩‍👧‍👦 went to 🇫🇷 & 🇯🇵 👍🏽", "x = [i**2 for i in range(10)]  # squares", "https://example.org/a?b=c&d=%20e",
    "3.14159 2,718 1e-5 $9.99 50 %", "naïve café résumé ﬁne Ⅷ ½", "[CLS] [MASK] ##ing [SEP]", "ALL CAPS AND    spaces\t\ttabs",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
]
MOST_DIFFERENCE, LEAST_COSINE = 1e-5, 0.999999


def make_texts(count):
    """Texts of 0 to 60 sentences, short ones far more often."""
    rng = random.Random(1)
    texts = ["", " ", "a"] + SENTENCES
    while len(texts) < count:
        sentences = min(60, int(rng.expovariate(1 / 4)))
        texts.append(" ".join(rng.choice(SENTENCES) for _ in range(sentences)))
    return texts[:count]


def ours(command, model, texts):
    with tempfile.TemporaryDirectory() as folder:
        source, result = os.path.join(folder, "texts.txt"), os.path.join(folder, "vectors.npy")
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in texts)
        subprocess.run([command, "embed", model, source, "--truncate", "--output", result], check=True)
        return np.load(result)


def theirs(model, texts):
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(2)
    encoder = SentenceTransformer(model, device="cpu").double()
    return encoder.encode(texts, batch_size=32, show_progress_bar=False)


def main():
    command, model = sys.argv[1:3]
    texts = make_texts(1000)
    got, want = ours(command, model, texts), theirs(model, texts)
    assert got.dtype == np.float32 and want.dtype == np.float64, (got.dtype, want.dtype)
    assert got.shape == want.shape, (got.shape, want.shape)
    got = got.astype(np.float64)
    difference = np.abs(got - want).max(axis=1)
    cosine = (got * want).sum(axis=1) / np.linalg.norm(got, axis=1) / np.linalg.norm(want, axis=1)
    worst = int(difference.argmax())
    print(f"{len(texts)} texts: largest difference {difference[worst]:.3g} (text {worst}: {texts[worst][:40]!r}), "
          f"least cosine {cosine.min():.9f}")
    bad = [i for i in range(len(texts)) if not (difference[i] <= MOST_DIFFERENCE and cosine[i] > LEAST_COSINE)]
    for i in bad[:10]:
        print(f"text {i}: difference {difference[i]:.3g}, cosine {cosine[i]:.7f}: {texts[i][:80]!r}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
