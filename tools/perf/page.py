"""The page of a run: one HTML file that needs nothing else, with figures inside it as SVG.

What stands on it comes from the results, the machine's facts and the commands that were run.
"""

import html
import re

import tables

STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 0.5em 0 2em; font-size: 13px }
th, td { padding: 0.2em 0.8em; border-bottom: 1px solid #ddd; text-align: right }
th:first-child, td:first-child { text-align: left }
caption { text-align: left; font-weight: bold; padding: 0.4em 0 }
pre { background: #f5f5f5; padding: 1em; overflow-x: auto; font-size: 12px }
svg { max-width: 100%; height: auto }
"""


def _table(title, heads, rows):
    def line(tag, cells):
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(line("td", row) for row in rows)
    return (f"<table><caption>{html.escape(title)}</caption>\n<thead>{line('th', heads)}</thead>\n"
            f"<tbody>{body}</tbody></table>")


def _svg(path, name):
    """The drawing, with names of its own, so that several may stand on one page."""
    with open(path, encoding="utf-8") as file:
        drawing = file.read()
    drawing = drawing[drawing.index("<svg"):]
    return re.sub(r"(\bid=['\"]|url\(#|href=['\"]#)", rf"\g<1>{name}-", drawing)


def make(results, facts, commands, figures):
    """The page's text. figures: {name: (title, path of the SVG)}."""
    parts = [_table(*table) for table in tables.of(results)]
    drawings = [f"<figure>{_svg(path, name)}</figure>" for name, (_, path) in figures.items()]
    said = "\n".join(html.escape(command) for command in dict.fromkeys(commands))
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
        f"<title>Sluice, measured</title><style>{STYLE}</style></head><body>",
        f"<h1>Sluice, measured</h1><p>{html.escape(results['when'])}, "
        f"{results['seconds']:.0f} s. All figures are of this run.</p>",
        "<h2>The machine</h2>", _table("", ["", ""], [list(fact) for fact in facts]),
        "<h2>Figures</h2>", *drawings, "<h2>Tables</h2>", *parts,
        "<h2>Commands</h2><p>As they were run, each once; the Ethernet devices and namespaces are "
        f"those of tests/smoke/kit/bench.py.</p><pre>{said}</pre>", "</body></html>", ""])
