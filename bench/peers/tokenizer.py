#!/usr/bin/env python3
"""Saccade's tokenizer beside the published `tokenizers` library, one thread each, in turns: MB/s and their ratio.

    bench/peers/tokenizer.py build/bench/tokenizer_bench DIR [TEXT]     DIR holds tokenizer.json
Needs: pip install tokenizers. TEXT: English prose; by default Debian's copy of the GPL.
"""

import os
import re
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # noqa: E402


def main():
    program, folder = sys.argv[1:3]
    path = sys.argv[3] if len(sys.argv) > 3 else "/usr/share/common-licenses/GPL-3"
    with open(path, encoding="utf-8") as file:
        texts = [text for text in re.split("\n\n", file.read()) if text]
    size = sum(len(text.encode()) for text in texts)
    peer = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    peer.no_truncation()
    peer.no_padding()
    ours, theirs = [], []
    for _ in range(10):
        line = subprocess.run([program, folder, path, "0.2"], check=True, capture_output=True, text=True).stdout
        ours.append(float(re.search(r"([0-9.]+) MB/s", line).group(1)))
        best = 0
        begin = time.perf_counter()
        while time.perf_counter() - begin < 0.2:
            start = time.perf_counter()
            encodings = peer.encode_batch_fast(texts)  # without offsets: its fastest call
            best = max(best, size / (time.perf_counter() - start) / 1e6)
        theirs.append(best)
    tokens = sum(len(encoding.ids) for encoding in encodings)
    print(line.strip())
    print(f"tokenizers {tokenizers.__version__}: {len(texts)} texts, {size} bytes, {tokens} tokens: {max(theirs):.1f} MB/s")
    print(f"saccade / tokenizers, best of 10 turns: {max(ours) / max(theirs):.1f}")


main()
