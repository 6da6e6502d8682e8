"""The files of a source tree, read once and shared by every lint.

A lint is a function that takes a Tree and yields Finding. It names files by their path from the
top of the tree, so that a test can point it at a tree of its own.
"""

import functools
import os
import re
import subprocess
from dataclasses import dataclass

BINARY_SUFFIXES = (".pcap", ".pcapng", ".png", ".bin")
SKIPPED_FOLDERS = ("__pycache__", ".git", ".cache")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong; only_warns findings are printed and do not fail."""

    path: str
    line: int
    text: str
    only_warns: bool = False

    def __str__(self):
        warning = "warning: " if self.only_warns else ""
        return f"{self.path}:{self.line}: {warning}{self.text}"


class Tree:
    """A source tree: git's list of files where there is a git tree, else a walk."""

    def __init__(self, top):
        self.top = os.path.abspath(top)
        self.paths = sorted(self._from_git() or self._from_walk())

    def _from_git(self):
        if not os.path.exists(os.path.join(self.top, ".git")):
            return None
        command = ["git", "-C", self.top, "ls-files", "-z",
                   "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, check=False)
        if listed.returncode != 0:
            return None
        names = listed.stdout.decode().split("\0")
        return {n for n in names if n and os.path.lexists(os.path.join(self.top, n))}

    def _from_walk(self):
        found = set()
        for folder, names, files in os.walk(self.top):
            at_top = folder == self.top
            names[:] = [n for n in names if n not in SKIPPED_FOLDERS
                        and not (at_top and n.startswith("build"))]
            for name in files:
                found.add(os.path.relpath(os.path.join(folder, name), self.top))
        return found

    def full(self, path):
        """The path as the operating system needs it."""
        return os.path.join(self.top, path)

    def exists(self, path):
        """Is there such a file or folder, whether it is listed or not?"""
        return os.path.exists(self.full(path))

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        """What the file holds; bytes that are not UTF-8 become replacement marks."""
        with open(self.full(path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def lines(self, path):
        """Pairs of line number and line."""
        return enumerate(self.text(path).split("\n"), start=1)

    @functools.lru_cache(maxsize=None)
    def code(self, path):
        """A C file's text with comments, strings and directives blanked, its lines kept."""
        return blank_directives(blank_comments(self.text(path)))

    def match(self, *suffixes, under=""):
        """The files that end so and stand in that folder (given with its last slash)."""
        return [p for p in self.paths if p.endswith(suffixes) and p.startswith(under)]

    def shell_files(self):
        """Shell scripts: by suffix, or by their first line."""
        return [p for p in self.text_files()
                if p.endswith(".sh") or re.match(r"#!.*\b(ba)?sh\b", self.text(p))]

    def text_files(self):
        """All files but those known to be binary, and links."""
        return [p for p in self.paths if not p.endswith(BINARY_SUFFIXES)
                and not os.path.islink(self.full(p))]


_C_TOKENS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


def blank_comments(text):
    """Replace C comments and the insides of strings and characters by blanks."""
    def blank(found):
        token = found.group()
        if token[0] in "\"'":
            return token[0] + " " * (len(token) - 2) + token[0]
        return re.sub(r"[^\n]", " ", token)

    return _C_TOKENS.sub(blank, text)


def blank_directives(text):
    """Empty the preprocessor's lines, with those that continue them."""
    lines, inside = [], False
    for line in text.split("\n"):
        directive = inside or line.lstrip().startswith("#")
        inside = directive and line.endswith("\\")
        lines.append("" if directive else line)
    return "\n".join(lines)
