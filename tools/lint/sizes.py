"""How long files and functions are, and how deep they nest.

Files and functions over the limit fail; nesting over the limit is printed and does not. Tables
(.def) may be as long as they need; tests may be somewhat longer than the code they test.
"""

import ast
import re

from tree import Finding

FILE_LINES = 600
TEST_FILE_LINES = 900
FUNCTION_LINES = 80
NESTING = 4


def sizes(tree):
    """Files, functions and nesting."""
    for path in tree.match(".c", ".h", ".py") + tree.shell_files():
        limit = TEST_FILE_LINES if path.startswith("tests/") else FILE_LINES
        count = tree.text(path).count("\n")
        if count > limit:
            yield Finding(path, limit, f"{count} lines: more than {limit}")
    for path in tree.match(".c", ".h"):
        yield from _c_functions(tree, path)
    for path in tree.match(".py"):
        yield from _python_functions(tree, path)


def _c_functions(tree, path):
    """A function's body starts with a brace alone in the first column, and ends with one."""
    start, name, depth, deepest = 0, "", 0, (0, 0)
    previous = ""
    for line, text in enumerate(tree.code(path).split("\n"), start=1):
        if not start and text.rstrip() == "{":
            start, name, deepest = line, previous, (0, 0)
        depth += text.count("{") - text.count("}")
        inside = depth - 1
        if start and inside > deepest[0] and re.search(r"\)\s*{$|\b(else|do)\s*{$", text.rstrip()):
            deepest = (inside, line)
        if start and text.startswith("}"):
            yield from _judge(path, name, start, line - start + 1, deepest)
            start, depth = 0, 0
        called = re.match(r"[\w*\s]*?\b(\w+)\(", text)
        if called and not text.startswith(("\t", " ")):
            previous = called[1]


def _judge(path, name, start, count, deepest):
    if count > FUNCTION_LINES:
        yield Finding(path, start, f"{name}() has {count} lines: more than {FUNCTION_LINES}")
    if deepest[0] > NESTING:
        yield Finding(path, deepest[1], f"{name}() nests {deepest[0]} deep", only_warns=True)


def _python_functions(tree, path):
    try:
        module = ast.parse(tree.text(path))
    except SyntaxError:
        return  # the lint `compiles` says so
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            count = node.end_lineno - node.lineno + 1
            yield from _judge(path, node.name, node.lineno, count, (0, 0))
