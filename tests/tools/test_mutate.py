#!/usr/bin/env python3
"""The tool that plants bugs: which mutants it makes of a text, and what it says of a small program whose ends are known."""
import importlib.machinery
import importlib.util
import os
import tempfile
import unittest

import harness

LOADER = importlib.machinery.SourceFileLoader("mutate", os.path.join(harness.SOURCE, "tests", "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", LOADER))
LOADER.exec_module(mutate)

FUNCTION = """/* if (a < b) */
static const int table[] = { 1, 2 };

int f(int a, int b)
{
%s
}
"""

# A program, and a test of it that is weak in one place.
PROGRAM = """#include <stdlib.h>

int main(int count, char **words)
{
    int sum = 0;
    for (int i = atoi(words[1]); i > 0; i--)
        sum = sum + i;
    if (sum > 5)
        return 1;
    return 0;
}
"""
MAKEFILE = "tests/unit/sums: tree/src/sums.c\n\tmkdir -p tests/unit && $(CC) $(DEFS) -o $@ $<\n"
TEST = "import subprocess, sys\nsys.exit(subprocess.run(['tests/unit/sums', '3']).returncode != 1)\n"


class Operators(unittest.TestCase):
    def made(self, body, operator=None):
        """{"was -> new"} of a function with that body."""
        text = FUNCTION % body
        found = mutate.mutants_of("f.c", text)
        for mutant in found:
            self.assertEqual(text[mutant.begin:mutant.end], mutant.was)
            self.assertIn(mutant.new, mutate.change(text, mutant))
            self.assertEqual(mutant.line, text[:mutant.begin].count("\n") + 1)
        return {f"{mutant.was} -> {mutant.new}" for mutant in found if operator in (None, mutant.operator)}

    def test_each_makes_what_it_says(self):
        for operator, body, expected in (
                ("comparison", "    return a < b && a->x == 7 >> 1;", {"< -> <=", "== -> !="}),
                ("logic", "    return a && b ||\n           !a;", {"&& -> ||", "|| -> &&"}),
                ("arithmetic", "    a = a + b - -1;", {"+ -> -", "- -> +"}),
                ("step", "    a++;", {"++ -> --"}),
                ("truth", "    return true;", {"true -> false"}),
                ("off by one", "    a = b[0] + 64 + 0x10 + 128 + x1;", {"0 -> 1", "64 -> 65", "64 -> 63"}),
                ("negation", '    if (!f("(", a))\n        b = 1;', {'!f("(", a) -> !(!f("(", a))', "! -> "}),
                ("dropped", "    int c = 1;\n    c = 2;\n    f(a, g(b));\n    if (a)\n        a++;",
                 {"c = 2 -> (void)0", "f(a, g(b)) -> (void)0", "a++ -> (void)0"}),
                ("arguments", "    f(a, &b->c[1], g(a));", {"a, &b->c[1] -> &b->c[1], a"}),
                ("return", "    if (a)\n        return b;\n    return 0;", {"b -> 0", "0 -> -1"})):
            with self.subTest(operator=operator):
                self.assertEqual(self.made(body, operator), expected)

    def test_words_for_people_are_left_alone(self):
        self.assertEqual(self.made('    ath_log(NORMAL, "a < b", a < b ? 1 : 2);\n    ath_err_hint(err, 1, "x");'), set())
        self.assertEqual(self.made('    /* a < b */ // a + b\n    puts("a + 1");', "arithmetic"), set())

    def test_all_operators_are_tried(self):
        self.assertEqual({"comparison", "logic", "arithmetic", "step", "truth", "off by one", "negation", "dropped", "arguments",
                          "return"}, set(mutate.OPERATORS))

    def test_a_seed_says_which(self):
        first, again, other = ([mutate.shown(mutant) for mutant, _ in zip(mutate.choose(harness.SOURCE, ["src/base"], seed), range(20))]
                               for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual(len(set(first)), 20)

    def test_the_table_names_tests_that_are_there(self):
        files = [os.path.relpath(os.path.join(folder, name), harness.SOURCE) for part in ("src", "sim")
                 for folder, _, names in os.walk(os.path.join(harness.SOURCE, part)) for name in names if name.endswith(".c")]
        rows = {mutate.row_of(name, mutate.TABLE)[0] for name in files}
        for prefix, names in mutate.TABLE:
            self.assertTrue(prefix in rows or not prefix, f"no file has the row {prefix!r}")
            for name in names.split(", "):
                path = os.path.join(harness.SOURCE, "tests", name.split()[0])
                self.assertTrue(os.path.exists(path if name.endswith(".py") else path + ".c"), name)
                mutate.targets_of(name, mutate.PROGRAMS)


class Judging(unittest.TestCase):
    def setUp(self):
        work = tempfile.mkdtemp(dir=harness.scratch())
        tree = os.path.join(work, "given")
        for name, text in (("src/sums.c", PROGRAM), ("Makefile", MAKEFILE), ("tests/sums.py", TEST)):
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            with open(os.path.join(tree, name), "w", encoding="ascii") as file:
                file.write(text)
        self.copy = mutate.Copy(tree, work, 1)
        os.symlink(os.path.join(work, "tree"), os.path.join(self.copy.build, "tree"))
        with open(os.path.join(self.copy.build, "Makefile"), "w", encoding="ascii") as file:
            file.write(MAKEFILE)
        self.runner = mutate.Run(self.copy, [("", "sums.py")], [("", ["-B", "tests/unit/sums"])], "quick")

    def sample(self, *changes):
        """{end: [new]} of mutants that change a text of the program into another."""
        mutants = []
        for was, new in changes:
            begin = PROGRAM.index(was)
            mutants.append(mutate.Mutant("src/sums.c", 1, "test", begin, begin + len(was), new, was))
        self.said = []
        ends = mutate.sample(self.runner, mutants, len(mutants), self.said.append)
        self.assertEqual(self.copy.read("src/sums.c"), PROGRAM)
        return ends and {end: [mutant.new for mutant, _ in found] for end, found in ends.items()}

    def test_every_end(self):
        limit, mutate.LIMIT = mutate.LIMIT, (1, 1)
        try:
            ends = self.sample(("i > 0", "i < 0"), ("sum > 5", "sum > 4"), ("sum + i", "sum +"), ("i--", "i = i - 1"), ("i--", "i--, i++"))
        finally:
            mutate.LIMIT = limit
        self.assertEqual(ends, {"caught": ["i < 0", "i--, i++"], "survived": ["sum > 4"], "no build": ["sum +"],
                                "equivalent": ["i = i - 1"]})
        self.assertTrue(any("past its limit" in line for line in self.said), self.said)

    def test_a_clean_tree_that_fails(self):
        self.runner.table = [("", "unit/nosuch")]
        self.assertIsNone(self.sample(("i > 0", "i < 0")))
        self.assertIn("clean tree fails", self.said[-1])
        self.runner.table = [("", "sums.py")]
        with open(os.path.join(self.copy.tree, "tests", "fails.py"), "w", encoding="ascii") as file:
            file.write("raise SystemExit(3)\n")
        self.runner.table = [("", "fails.py")]
        self.assertIsNone(self.sample(("i > 0", "i < 0")))
        self.assertIn("none of the tests passes", self.said[-1])

    def test_a_test_that_fails_on_the_clean_tree_is_left_out(self):
        with open(os.path.join(self.copy.tree, "tests", "fails.py"), "w", encoding="ascii") as file:
            file.write("print('no such GPU')\nraise SystemExit(3)\n")
        self.runner.table = [("", "sums.py, fails.py")]
        self.assertEqual(self.sample(("sum > 5", "sum > 4"), ("i > 0", "i < 0")), {"survived": ["sum > 4"], "caught": ["i < 0"]})
        self.assertEqual(["left out, as it fails on the clean copy: fails.py: no such GPU"],
                         [line for line in self.said if line.startswith("left out")])

    def test_quick_tests_come_first_and_then_the_fast_ones(self):
        self.runner.table, self.runner.tier = [("", "runtime/test_cuda.py, cli/test_run.py, unit/test_text, runtime/test_server.py")], "check"
        self.copy.seconds = {"runtime/test_cuda.py": 1, "cli/test_run.py": 9, "unit/test_text": 2, "runtime/test_server.py": 5}
        names = self.runner.tests("src/a.c")
        self.assertEqual(names, ["unit/test_text", "runtime/test_server.py", "cli/test_run.py", "runtime/test_cuda.py"])
        self.assertEqual(self.runner.waves(names), [names[:1], names[1:3], names[3:]])
        self.runner.tier = "quick"
        self.assertEqual(self.runner.tests("src/a.c"), names[:3])

    def test_the_summary_counts_what_was_built(self):
        ends = {"caught": [(mutate.Mutant("a.c", 1, "test", 0, 1, "b", "a"), tier + ": x") for tier in ("quick", "check", "quick")],
                "survived": [(mutate.Mutant("a.c", 7, "test", 0, 1, "b", "a"), "")], "no build": [1], "equivalent": []}
        text = mutate.summary(ends, "check")
        self.assertIn("4 mutants were built; those that survived:\n    a.c:7: test: a -> b\n2 of them (50 %) were caught by quick\n"
                      "3 of them (75 %) were caught by check\n", text)


if __name__ == "__main__":
    harness.main()
