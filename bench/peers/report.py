"""results.json -> Markdown tables and one HTML page. Every figure is computed here, from the seconds of each call."""
import json
import os

import numpy as np

import chart

OURS, PACKED = "saccade", "torch-packed"  # hand-packed PyTorch is no published runtime: it has its own column


def quantile(runtime, q):
    return float(np.quantile(np.concatenate(runtime["rounds"]), q))


def p50(runtime):
    return quantile(runtime, 0.5)


def best_rival(row):
    """Name of the fastest published runtime of a row, or None."""
    names = [name for name in row["runtimes"] if name not in (OURS, PACKED)]
    return min(names, key=lambda name: p50(row["runtimes"][name]), default=None)


def ratio(row, rival):
    """How many times faster Saccade is, by medians over rounds, with its 95 % bootstrap interval. None where one is missing."""
    ours, theirs = row["runtimes"].get(OURS), row["runtimes"].get(rival)
    if not ours or not theirs:
        return None
    a, b = (np.array([np.median(turn) for turn in runtime["rounds"]]) for runtime in (theirs, ours))
    picks = np.random.default_rng(1).integers(0, len(a), (2000, len(a)))
    low, high = np.quantile(np.median(a[picks], axis=1) / np.median(b[picks], axis=1), [0.025, 0.975])
    return float(np.median(a) / np.median(b)), float(low), float(high)


def bound_seconds(row, info):
    """The least time that the FMA peak allows, and for a single sequence also the stream of the weights."""
    compute = row["flops"] / row["peak_gflops"] / 1e9
    stream = row["stream_bytes"] / info["read_gbs"] / 1e9
    return (compute, stream) if row["sequences"] == 1 else (compute, None)


def value(row, seconds):
    """Useful tokens/s of a batch, milliseconds of a single sequence."""
    return row["tokens"] / seconds if row["sequences"] > 1 else seconds * 1e3


def number(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def ratio_text(found):
    return "missing" if found is None else "{:.2f} ({:.2f}-{:.2f})".format(*found)


def row_text(row):
    times = ", ".join(f"{name} {p50(runtime) * 1e3:.3g} ms" for name, runtime in row["runtimes"].items())
    return f"{row['case']}: {times}; x best {ratio_text(ratio(row, best_rival(row)))}"


def groups(result):
    """(model, threads) -> rows, in the order in which they ran."""
    found = {}
    for row in result["rows"]:
        found.setdefault((row["model"], row["threads"]), []).append(row)
    return found


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def throughput_table(result, rows):
    names = result["runtimes"]
    body = []
    for row in rows:
        bound = bound_seconds(row, result["machine"])[0]
        runtimes, best = row["runtimes"], best_rival(row)
        cells = [number(value(row, p50(runtimes[name]))) if name in runtimes else "missing" for name in names]
        share = f"{bound / p50(runtimes[OURS]):.2f}" if OURS in runtimes else "missing"
        body.append([row["case"], number(row["tokens"]), *cells, number(value(row, bound)), share,
                     f"{ratio_text(ratio(row, best))} {best or ''}", ratio_text(ratio(row, PACKED))])
    return table(["batch", "tokens", *names, "FMA bound", "of bound", "x best", "x packed"], body)


def latency_table(result, rows):
    names = result["runtimes"]
    body = []
    for row in rows:
        compute, stream = bound_seconds(row, result["machine"])
        runtimes, best = row["runtimes"], best_rival(row)
        cells = ["{} / {}".format(*(number(quantile(runtimes[name], q) * 1e3) for q in (0.5, 0.99))) if name in runtimes
                 else "missing" for name in names]
        body.append([row["case"], *cells, number(compute * 1e3), number(stream * 1e3),
                     f"{ratio_text(ratio(row, best))} {best or ''}", ratio_text(ratio(row, PACKED))])
    return table(["one sequence", *names, "FMA bound", "stream bound", "x best", "x packed"], body)


def error_table(result, rows):
    names = result["runtimes"]
    text = lambda runtime: f"{runtime['max_error']:.1e}" if runtime else "missing"  # noqa: E731
    body = [[row["case"], *(text(row["runtimes"].get(name)) for name in names)] for row in rows]
    return table(["case", *names], body)


def memory_table(result):
    found = {}
    for entry in result["memory"]:
        found.setdefault((entry["model"], entry["threads"], entry["case"]), {})[entry["runtime"]] = entry
    body = [[model, str(threads), case, *(f"{of[name]['peak'] / 1e6:.0f} ({of[name]['before_load'] / 1e6:.0f})" if name in of
                                          else "missing" for name in result["runtimes"])]
            for (model, threads, case), of in found.items()]
    return table(["model", "threads", "after", *result["runtimes"]], body)


def op_table(result):
    """GFLOP/s of attention beside the FMA peak, GB/s of the others beside the copy bandwidth."""
    body = []
    for row in result["ops"]:
        runtimes, names = row["runtimes"], (OURS, "torch")
        times = {name: p50(runtimes[name]) for name in names if name in runtimes}
        amount, limit, unit = ((row["flops"], row["peak_gflops"], "GFLOP/s") if row["flops"] else
                               (row["bytes"], result["machine"]["copy_gbs"], "GB/s"))
        rates = {name: amount / seconds / 1e9 for name, seconds in times.items()}
        errors = [f"{runtimes[name]['max_error']:.1e}" if name in times else "missing" for name in names]
        body.append([row["case"], *(number(times[name] * 1e3) if name in times else "missing" for name in names),
                     *(number(rates[name]) if name in times else "missing" for name in names), f"{number(limit)} {unit}",
                     ratio_text(ratio(row, "torch")), *errors])
    return table(["op", "saccade, ms", "torch, ms", "saccade, rate", "torch, rate", "peak or copy", "x torch", "saccade, error",
                  "torch, error"], body)


def sections(result):
    """(title, note, Markdown table, chart rows) in order."""
    for (model, threads), rows in groups(result).items():
        title = f"{model}, {threads} thread{'s' if threads > 1 else ''}"
        batches, singles = ([row for row in rows if (row["sequences"] > 1) == many] for many in (True, False))
        if batches:
            yield title + ": batches", "Useful tokens/s (median); more is better.", throughput_table(result, batches), batches
        if singles:
            yield title + ": one sequence", "Milliseconds, p50 / p99; less is better.", latency_table(result, singles), singles
        yield title + ": error", "Largest difference of a hidden state from float64.", error_table(result, rows), []
    if result["ops"]:
        note = "Median ms; GFLOP/s of live pairs or GB/s read and written; largest difference from float64."
        yield "Single ops, 1 thread", note, op_table(result), []
    if not result["memory"]:
        return
    note = "Peak resident MB after load and the first case (in brackets before load: interpreter and NumPy)."
    yield "Memory", note, memory_table(result), []


def notes(result):
    info = result["machine"]
    versions = ", ".join(f"{name} {release or 'missing'}" for name, release in result["versions"].items())
    yield f"{info['cpu']}, {info['isa']}; read bandwidth of one thread {info['read_gbs']:.1f} GB/s; {result['date']}"
    yield f"`{result['command']}`; {result['rounds']} rounds; {versions}"
    yield ("x best: how many times faster Saccade is than the fastest published runtime of that row, x packed: than PyTorch "
           "packed by hand (95 % bootstrap interval over rounds). Case NxM-R: N sequences of up to M tokens, mean/max R. "
           "FMA bound: multiply-adds of live tokens at the peak measured around the row; stream bound: bytes of the layers' "
           "weights at the read bandwidth of one thread.")
    for missing in result["missing"]:
        yield "Missing: {runtime} ({group}, {threads} thread(s)): {reason}".format(**missing)


def markdown(result):
    parts = ["\n\n".join(notes(result))]
    parts += [f"### {title}\n{note}\n\n{text}" for title, note, text, _ in sections(result)]
    return "\n\n".join(parts)


def write(result, folder):
    chart_rows = lambda rows: [  # noqa: E731
        {"label": row["case"], "unit": "tokens/s" if row["sequences"] > 1 else "ms",
         "bound": value(row, max(filter(None, bound_seconds(row, result["machine"])))),
         "bars": {name: value(row, p50(row["runtimes"][name])) if name in row["runtimes"] else None
                  for name in result["runtimes"]}} for row in rows]
    page = chart.page("Saccade beside other runtimes", list(notes(result)),
                      [(title, note, text, chart_rows(rows)) for title, note, text, rows in sections(result)])
    for name, text in ("json", json.dumps(result, indent=1)), ("md", markdown(result)), ("html", page):
        path = os.path.join(folder, f"results.{name}")
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".part", path)
