#!/usr/bin/python3
"""Proof that each lint finds what it is for: every row is a small tree and the findings wanted.

A row names the lint, the files of the tree, and `path:line` of what must be found; rows that want
nothing show what must be let through. A lint without a bad row fails the last test.
"""

import os
import sys
import tempfile
import unittest

from run import LINTS
from tree import Tree

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tally import of_file  # noqa: E402  (the counter of check's results, proven here too)

C = "// One.\n// Two.\n"
LAYERS = {"src/LAYERS": "# lowest first\nbase\nservice\nctl\napp\n"}
LEFTOVER = "TO" + "DO"
SLEEP = "sle" + "ep"
OUT = ".." + "/shared"
DEEP = "void f(void)\n{\n" + "if (a) {\n" * 5 + "}\n" * 5 + "}\n"

FEATURE_FILES = {
    "src/pfcp/flag.def": "FLAG(UP_FUNCTION_FEATURES, 5, 1, BUCP) FLAG(UP_FUNCTION_FEATURES, 5, 5, FTUP)",
    "src/pfcp/features.c": 'FEATURE(FTUP, always, "x"),\nFEATURE(BUCP, never, "x"),\n',
    "src/pfcp/fteid.c": C,
    "tests/unit/test_a.c": "static void test_x(void)\n",
}
FTUP_ROW = "| `FTUP` | yes | x | `fteid.c` | `tests/unit/test_a.c:test_x` |\n"
BUCP_ROW = "| `BUCP` | no | x | | |\n"

ROWS = [
    ("features", {**FEATURE_FILES, "src/pfcp/README.md": FTUP_ROW + BUCP_ROW}, []),
    ("features", {**FEATURE_FILES, "src/pfcp/README.md": FTUP_ROW}, ["src/pfcp/README.md:1"]),
    ("features", {**FEATURE_FILES, "src/pfcp/README.md":
                  FTUP_ROW + BUCP_ROW.replace("no", "yes")},
     ["src/pfcp/README.md:2", "src/pfcp/README.md:2"]),
    ("features", {**FEATURE_FILES, "src/pfcp/README.md":
                  FTUP_ROW.replace("test_x", "test_y") + BUCP_ROW}, ["src/pfcp/README.md:1"]),
    ("features", {**FEATURE_FILES, "src/pfcp/README.md":
                  FTUP_ROW.replace("fteid", "gone") + BUCP_ROW}, ["src/pfcp/README.md:1"]),
    ("includes", {**LAYERS, "src/base/a.h": C, "src/app/a.c": '#include "base/a.h"\n'}, []),
    ("includes", {**LAYERS, "src/base/a.c": '\n#include "app/a.h"\n', "src/app/a.h": C},
     ["src/base/a.c:2"]),
    ("includes", {**LAYERS, "src/base/a.c": '#include "a.h"\n', "src/base/a.h": C},
     ["src/base/a.c:1"]),
    ("includes", {**LAYERS, "src/base/a.c": '#include "base/none.h"\n'}, ["src/base/a.c:1"]),
    ("includes", {**LAYERS, "src/base/a.c": "#include <base/a.h>\n", "src/base/a.h": C},
     ["src/base/a.c:1"]),
    ("includes", {**LAYERS, "src/base/a.c": '#include "sluice/x.h"\n'}, ["src/base/a.c:1"]),
    ("includes", {**LAYERS, "src/base/a.c": '#include "sluice/x.h"\n', "include/sluice/x.h": C},
     []),
    ("includes", {"src/LAYERS": "ctl\nbase\napp\n", "src/base/a.c": '#include "ctl/a.h"\n',
                  "src/ctl/a.h": C, "src/app/a.c": '#include "ctl/a.h"\n'}, ["src/base/a.c:1"]),
    ("includes", {**LAYERS, "src/new/a.c": '#include "base/a.h"\n', "src/base/a.h": C},
     ["src/new/a.c:1"]),
    ("services-apart", {"src/service/10_a.c": '#include "service/20_b.h"\n',
                        "src/service/20_b.c": '#include "service/a.h"\n',
                        "src/service/30_c.c": '#include "service/c.h"\n#include "service/set.h"\n',
                        "src/service/fused.c": '#include "service/b.h"\n'},
     ["src/service/10_a.c:1", "src/service/20_b.c:1"]),
    ("services-apart", {"src/service/fused.c": '#include "service/20_b.c"\n'},
     ["src/service/fused.c:1"]),
    ("listing", {"src/pipeline/0_loop.c": C, "src/pipeline/1_rx.c": C, "src/pipeline/trace.c": C,
                 "src/service/10_a.c": '\t.name = "a",\n', "src/service/25_b.c": '.name = "b"\n'},
     []),
    ("listing", {"src/pipeline/0_loop.c": C, "src/pipeline/2_rx.c": C}, ["src/pipeline/2_rx.c:1"]),
    ("listing", {"src/service/10_a.c": '.name = "b"\n'}, ["src/service/10_a.c:1"]),
    ("listing", {"src/service/10_a.c": '.name = "a"\n', "src/service/10_b.c": '.name = "b"\n'},
     ["src/service/10_b.c:1"]),
    ("listing", {"src/service/10_a.c": '.name = "a"\n', "src/service/9_b.c": '.name = "b"\n'},
     ["src/service/10_a.c:1"]),
    ("maps", {"src/LAYERS": "base\napp\n", "src/README.md": "`base/` …\n", "src/base/a.c": C,
              "src/app/a.c": C}, ["src/README.md:1"]),
    ("maps", {"src/LAYERS": "base\nold\n", "src/README.md": "base/ new/\n", "src/base/a.c": C,
              "src/new/a.c": C}, ["src/LAYERS:1", "src/LAYERS:1"]),
    ("sizes", {"src/a.c": C + "\n" * 600}, ["src/a.c:600"]),
    ("sizes", {"src/a.def": "\n" * 700, "tests/a.c": "\n" * 700}, []),
    ("sizes", {"tests/a.c": "\n" * 901}, ["tests/a.c:900"]),
    ("sizes", {"src/a.c": "int f(void)\n{\n" + "\tx;\n" * 79 + "}\n"}, ["src/a.c:2"]),
    ("sizes", {"src/a.c": "int f(void)\n{\n" + "\tx;\n" * 78 + "}\n"}, []),
    ("sizes", {"src/a.c": DEEP}, ["src/a.c:7 warns"]),
    ("sizes", {"tools/a.py": "def f():\n" + "    x = 1\n" * 80}, ["tools/a.py:1"]),
    ("sizes", {"tools/a": "#!/usr/bin/env bash\n" + ":\n" * 600}, ["tools/a:600"]),
    ("openings", {"src/a.c": "// One.\n\nint x;\n", "src/b.c": C, "src/c.h": "/* One.\n * Two. */\n",
                  "src/d.h": "#pragma once\n" + C}, ["src/a.c:1", "src/d.h:1"]),
    ("openings", {"tools/a.py": '"""One."""\n', "tools/b.py": '#!/usr/bin/python3\n"""One.\n\nTwo.\n"""\n',
                  "tools/c": "#!/bin/bash\n# One.\n# Two.\n", "tools/d.sh": "# One.\necho\n"},
     ["tools/a.py:1", "tools/d.sh:1"]),
    ("leftovers", {"src/a.c": f"int x; // {LEFTOVER}: more\n", "README.md": "fine\n"}, ["src/a.c:1"]),
    ("sleeps", {"src/a.c": f"\tu{SLEEP}(3);\n// {SLEEP}(1)\n", "tests/a.py": f"time.{SLEEP}(1)\n",
                "tests/smoke/kit/wait.py": f"time.{SLEEP}(1)\n", "tests/b.c": f"no{SLEEP}(1);\n"},
     ["src/a.c:1", "tests/a.py:1"]),
    ("sleeps", {"tests/a.c": "\trte_delay_" + "ms(3);\n"}, ["tests/a.c:1"]),
    ("slow-calls", {"src/service/10_a.c": "x = malloc(3);\nx = malloc(3); // lint: start-up\n"
                                          "log_warn_limited(x);\nsnprintf(x);\n",
                    "src/pipeline/0_a.c": "rte_spinlock_lock(&x);\n", "src/app/a.c": "malloc(3);\n"},
     ["src/pipeline/0_a.c:1", "src/service/10_a.c:1", "src/service/10_a.c:3"]),
    ("outside", {"README.md": f"see {OUT}/X.md\n"}, ["README.md:1"]),
    ("outside", {"tools/a.sh": "cd /wor" + "k/main\n"}, ["tools/a.sh:1"]),
    ("outside", {"config/f": "deb http://deb.debia" + "n.org\n"}, ["config/f:1"]),
    ("outside", {"config/f": "-> /etc/passwd", "config/g": "-> h", "config/h": "\n"},
     ["config/f:1"]),
    ("blanks", {"src/a.c": "int x; \n", "src/b.c": "int x;", "src/c.c": "int x;\n\n",
                "src/d.c": "int x;\n"}, ["src/a.c:1", "src/b.c:0", "src/c.c:2"]),
    ("top-level", {"NOTES.md": "", "src/a.c": "", ".ci/run": "", "README.md": ""}, ["NOTES.md:1"]),
    ("links", {"README.md": "[a](src/a.c) [b](src/b.c#L1) [c](https://x.example/) [d](#d)\n",
               "src/a.c": ""}, ["README.md:1"]),
    ("formatted", {".clang-format": "BasedOnStyle: LLVM\n", "src/a.c": "int x;\n",
                   "src/b.c": "int x ;\n"}, ["src/b.c:1"]),
    ("compiles", {"tools/a.py": "x = 1\ndef f(:\n", "tools/b.sh": "true\nif\n", "tools/c.py": "x = 1\n"},
     ["tools/a.py:2", "tools/b.sh:3"]),
]

CUNIT = "Run Summary: Type Total Ran Passed Failed Inactive\\n tests 5 5 {} {} 0\\n asserts 9 9 9 0 n/a"
OK, FAIL = '{"result": "OK", "stdout": "%s"}\n', '{"result": "FAIL", "stdout": "%s"}\n'
COUNTS = [
    ("a.json", OK % CUNIT.format(5, 0) + OK % "", (6, 0, 0)),
    ("a.json", FAIL % CUNIT.format(3, 2) + FAIL % CUNIT.format(5, 0) + FAIL % "", (8, 4, 0)),
    ("a.json", '{"result": "SKIP"}\n{"result": "TIMEOUT"}\n', (0, 1, 1)),
    ("a.json", "", (0, 0, 0)),
    ("a.xml", '<testsuites><testsuite tests="9" failures="1" errors="2" skipped="3"/></testsuites>',
     (3, 3, 3)),
    ("a.out", "1 passed, 0 failed\nmore\n7 passed, 2 failed\n", (7, 2, 0)),
    ("none", None, (0, 0, 0)),
]


def lay(folder, files):
    """Write a row's files; a text that starts with an arrow is a symbolic link."""
    for path, text in files.items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if text.startswith("-> "):
            os.symlink(text[3:], full)
            continue
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


def found_in(lint, files):
    """What the lint finds in a tree made of these files, as the rows write it."""
    with tempfile.TemporaryDirectory() as folder:
        lay(folder, files)
        return sorted(f"{f.path}:{f.line}" + (" warns" if f.only_warns else "")
                      for f in LINTS[lint](Tree(folder)))


class LintTest(unittest.TestCase):
    """One generated test a row; see below."""

    def test_every_lint_has_a_bad_row(self):
        """A lint that was never seen to fail proves nothing."""
        self.assertEqual(set(LINTS), {lint for lint, _, wanted in ROWS if wanted})

    def test_counts(self):
        """Results are counted as their writers mean them; a crash is not lost."""
        for name, text, wanted in COUNTS:
            with self.subTest(text), tempfile.TemporaryDirectory() as folder:
                lay(folder, {} if text is None else {name: text})
                self.assertEqual(of_file(os.path.join(folder, name)), wanted)


def _test_of(lint, files, wanted):
    return lambda self: self.assertEqual(found_in(lint, files), sorted(wanted))


for _number, _row in enumerate(ROWS):
    setattr(LintTest, f"test_{_number:02}_{_row[0].replace('-', '_')}", _test_of(*_row))

if __name__ == "__main__":
    ran = unittest.main(exit=False).result
    bad = len(ran.failures) + len(ran.errors)
    print(f"{ran.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad or not ran.testsRun else 0)
