"""The tree's outline, and what other programs say of its files.

Top-level listing, links of the Markdown files, clang-format's layout of C, and whether Python
and shell files compile.
"""

import os
import re
import subprocess

from tree import Finding

TOP = {"src", "include", "config", "tests", "tools",
       "README.md", "LICENSE", "meson.build", "meson_options.txt"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FILES_A_RUN = 40


def top_level(tree):
    """The top folder holds what the layout names, and files that start with a dot."""
    for name in sorted({p.split("/")[0] for p in tree.paths}):
        if name not in TOP and not name.startswith("."):
            yield Finding(name, 1, "not part of the top level's layout")


def links(tree):
    """Relative links in Markdown lead to something."""
    for path in tree.match(".md"):
        for line, text in tree.lines(path):
            for target in LINK.findall(text):
                file = target.split("#")[0]
                here = os.path.join(os.path.dirname(path), file)
                if file and "://" not in target and not tree.exists(here):
                    yield Finding(path, line, f"no {target}")


def formatted(tree):
    """C is laid out as clang-format does it."""
    files = tree.match(".c", ".h")
    if not files:
        return
    command = ["clang-format", "--style=file", "--dry-run", "--ferror-limit=1"]
    parts = [files[i:i + FILES_A_RUN] for i in range(0, len(files), FILES_A_RUN)]
    running = [subprocess.Popen(command + part, cwd=tree.top, stderr=subprocess.PIPE, text=True)
               for part in parts]
    for run in running:
        _, said = run.communicate()
        for path, line, text in re.findall(r"^(\S+?):(\d+):\d+: \w+: (.*)", said, re.MULTILINE):
            yield Finding(path, int(line), f"{text} (tools/dev format mends it)")
        if run.returncode not in (0, 1):
            yield Finding(".clang-format", 1, said.strip() or "clang-format failed")


def compiles(tree):
    """Python and shell files are at least well formed."""
    for path in tree.match(".py"):
        try:
            compile(tree.text(path), path, "exec")
        except SyntaxError as fault:
            yield Finding(path, fault.lineno or 1, fault.msg)
    for path in tree.shell_files():
        run = subprocess.run(["bash", "-n", tree.full(path)], capture_output=True, text=True,
                             check=False)
        if run.returncode != 0:
            found = re.search(r"line (\d+): (.*)", run.stderr)
            yield Finding(path, int(found[1]) if found else 1, found[2] if found else run.stderr)
