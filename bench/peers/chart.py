"""Bars as SVG, Markdown tables as HTML, one page without any other file."""
import html

STYLE = """
:root {
  color-scheme: light dark; --ink: #1d1d1f; --soft: #6b6b70; --line: #d9d9de; --paper: #fff; --ours: #c2410c; --theirs: #8fa3b8;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #eeeeee; --soft: #a0a0a8; --line: #3a3a40; --paper: #17171a; --ours: #fb923c; --theirs: #5f7389; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem; }
body { margin: 2rem auto; padding: 0 1rem; }
h2 { margin: 2.5rem 0 0; font-size: 1.2rem; } p { color: var(--soft); margin: .3rem 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1rem 2rem; margin: 1rem 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
td, th { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
svg { width: 100%; height: auto; } text { font: 12px system-ui, sans-serif; fill: var(--ink); } .head { font-weight: 600; }
.ours { fill: var(--ours); } .theirs { fill: var(--theirs); } .soft { fill: var(--soft); }
.bound { stroke: var(--ink); stroke-dasharray: 3 3; }
"""
LABEL, BAR, GAP, STEP, WIDTH = 96, 190, 6, 20, 360  # of a chart, in its own units


def bars(row):
    """One case: a bar per runtime, the bound as a dashed line."""
    known = [bar for bar in row["bars"].values() if bar is not None]
    scale = BAR / max([row["bound"], *known])
    bottom = 24 + STEP * len(row["bars"])
    parts = [f'<text class="head" x="0" y="12">{html.escape(row["label"])}, {row["unit"]}</text>']
    for i, (name, bar) in enumerate(row["bars"].items()):
        y = 22 + STEP * i
        parts.append(f'<text x="{LABEL - GAP}" y="{y + 12}" text-anchor="end">{html.escape(name)}</text>')
        if bar is None:
            parts.append(f'<text class="soft" x="{LABEL}" y="{y + 12}">missing</text>')
            continue
        kind = "ours" if name == "saccade" else "theirs"
        text = f"{bar:,.0f}" if bar >= 100 else f"{bar:.3g}"
        parts.append(f'<rect class="{kind}" x="{LABEL}" y="{y}" width="{bar * scale:.1f}" height="{STEP - 5}" rx="2"/>'
                     f'<text x="{LABEL + bar * scale + GAP:.1f}" y="{y + 12}">{text}</text>')
    x = LABEL + row["bound"] * scale
    parts.append(f'<line class="bound" x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{bottom}"/>')
    return f'<svg viewBox="0 0 {WIDTH} {bottom + 4}" role="img" aria-label="{html.escape(row["label"])}">{"".join(parts)}</svg>'


def table(markdown):
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown.strip().splitlines()]
    cells = lambda row, tag: "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)  # noqa: E731
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows[2:])
    return f'<div class="wide"><table><thead><tr>{cells(rows[0], "th")}</tr></thead><tbody>{body}</tbody></table></div>'


def page(title, notes, sections):
    """sections: (title, note, Markdown table, rows for bars())."""
    parts = [f"<h1>{html.escape(title)}</h1>", *(f"<p>{html.escape(note)}</p>" for note in notes),
             "<p>Dashed: the bound of the FMA peak or, for one sequence, of the weights' stream, whichever is slower.</p>"]
    for heading, note, markdown, rows in sections:
        parts.append(f"<h2>{html.escape(heading)}</h2><p>{html.escape(note)}</p>")
        if rows:
            parts.append('<div class="charts">' + "".join(map(bars, rows)) + "</div>")
        parts.append(table(markdown))
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>" + "\n".join(parts) + "</body></html>\n")
