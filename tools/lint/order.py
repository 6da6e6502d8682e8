"""Who may include whom, and whether the listings tell the truth.

Holds the include rule of src/LAYERS (a file looks at its own folder and those before it), the
separation of services, the numbering of src/pipeline and src/service, and the maps of src/.
"""

import os
import re

from tree import Finding

ONLY_FOR_APP = ("ctl", "telemetry")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^">]+)[">]')
STAGE = re.compile(r"src/pipeline/(\d+)_(\w+)\.c$")
SERVICE = re.compile(r"src/service/(\d+)_(\w+)\.c$")


def layers(tree):
    """The folders of src/LAYERS, lowest first."""
    if not tree.exists("src/LAYERS"):
        return []
    rows = (line.split("#")[0].strip() for _, line in tree.lines("src/LAYERS"))
    return [row for row in rows if row]


def includes(tree):
    """Quoted includes name a file of src/ by folder, and look only down."""
    order = layers(tree)
    for path in tree.match(".c", ".h", ".def", under="src/"):
        own = path.split("/")[1]
        for line, text in tree.lines(path):
            found = INCLUDE.match(text)
            if found:
                fault = _include_fault(tree, order, own, found[1] == '"', found[2])
                if fault:
                    yield Finding(path, line, fault)


def _include_fault(tree, order, own, quoted, target):
    folder = target.split("/")[0]
    if not quoted:
        mine = folder in order and tree.exists("src/" + target)
        return f'"{target}" is ours: write it in quotes' if mine else None
    if folder == "sluice":
        return None if tree.exists("include/" + target) else f"no include/{target}"
    if "/" not in target or ".." in target:
        return f'"{target}": write "folder/file.h", from src/'
    if not tree.exists("src/" + target):
        return f"no src/{target}"
    if folder not in order or own not in order:
        return f"{folder if folder not in order else own} is not in src/LAYERS"
    if folder in ONLY_FOR_APP and own not in (folder, "app"):
        return f"{own} includes {folder}: only app may look at it"
    if order.index(folder) > order.index(own):
        return f"{own} includes {folder}, which stands later in src/LAYERS"
    return None


def services_apart(tree):
    """A service includes no header of another service, and nobody includes a service's .c."""
    names = {SERVICE.match(p)[2]: os.path.basename(p)[:-2]
             for p in tree.match(".c", under="src/service/") if SERVICE.match(p)}
    for path in tree.match(".c", ".h", under="src/service/"):
        me = SERVICE.match(path)
        for line, text in tree.lines(path):
            found = INCLUDE.match(text)
            if not found or not found[2].startswith("service/"):
                continue
            stem, suffix = os.path.splitext(os.path.basename(found[2]))
            if suffix == ".c":
                yield Finding(path, line, f"includes {found[2]}: include a header")
            elif me and any(stem in (n, names[n]) for n in names if n != me[2]):
                yield Finding(path, line, f"service {me[2]} includes service {stem}")


def listing(tree):
    """The folders' listings are the packet's order: numbered, and named as they say."""
    yield from _numbered(tree, STAGE, "src/pipeline/", contiguous=True)
    yield from _numbered(tree, SERVICE, "src/service/", contiguous=False)
    for path in tree.match(".c", under="src/service/"):
        me = SERVICE.match(path)
        said = re.findall(r'^\s*\.name\s*=\s*"([^"]*)"', tree.text(path), re.MULTILINE) if me else []
        if me and me[2] not in said:
            yield Finding(path, 1, f'no `.name = "{me[2]}"` in it (found: {said or "none"})')


def _numbered(tree, pattern, folder, contiguous):
    rows = [(p, pattern.match(p)) for p in tree.match(".c", under=folder)]
    rows = sorted((int(m[1]), m[1], p) for p, m in rows if m)
    for place, (number, digits, path) in enumerate(rows):
        if contiguous and number != place:
            yield Finding(path, 1, f"stage {number} where {place} is next")
        if place and number == rows[place - 1][0]:
            yield Finding(path, 1, f"number {digits} is taken by {rows[place - 1][2]}")
        if len(digits) != len(rows[0][1]):
            yield Finding(path, 1, f"number {digits} is not as wide as the others: it sorts wrongly")


def maps(tree):
    """Every folder of src/ stands in src/LAYERS and has a row in src/README.md."""
    order = layers(tree)
    readme = tree.text("src/README.md") if tree.exists("src/README.md") else ""
    folders = sorted({p.split("/")[1] for p in tree.match("", under="src/") if p.count("/") >= 2})
    for folder in folders:
        if folder not in order:
            yield Finding("src/LAYERS", 1, f"src/{folder} is not in the list")
        if f"{folder}/" not in readme:
            yield Finding("src/README.md", 1, f"no row for {folder}/")
    for folder in order:
        if folder not in folders:
            yield Finding("src/LAYERS", 1, f"there is no src/{folder}")
