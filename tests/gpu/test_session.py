#!/usr/bin/env python3
"""tests/gpu/session: its stages fit the machine's time, and its report names commands that pass, fail and hang."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import types
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "tests", "tools"), os.path.join(SOURCE, "tests", "gpu")]

import harness  # noqa: E402

FOLDER = os.path.join(SOURCE, "tests", "gpu")
BUILD = harness.build()
FILES, FILES_MOST = 3, 8  # of a command: results, log, what it said; of all that comes back from a machine that is lent


def session():
    """The program as a module; its name has no ending."""
    loader = importlib.machinery.SourceFileLoader("session", os.path.join(FOLDER, "session"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("session", loader))
    loader.exec_module(module)
    return module


class Stages(unittest.TestCase):
    def test_each_ends_in_time_and_leaves_few_files(self):
        module = session()
        for name, commands in module.STAGES.items():
            seconds = sum(command.budget_s + module.GRACE_S for command in commands)
            self.assertLessEqual(seconds, module.STAGE_S, name)
            self.assertLessEqual(1 + FILES * len(commands), FILES_MOST, name)

    @unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
    def test_what_they_name_is_there(self):
        module = session()
        result = subprocess.run([sys.executable, "-B", os.path.join(FOLDER, "run"), "--sim", "--list", "--two-servers", "--build", BUILD],
                                text=True, stdout=subprocess.PIPE, check=True, env=harness.environment())
        for command in [one for commands in module.STAGES.values() for one in commands if one.program == module.RUN]:
            for word in [word for word in command.arguments if word.endswith(("/", "_", ": "))]:
                self.assertIn(word, result.stdout, command.name)


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Commands(unittest.TestCase):
    def work(self, command):
        """Its outcome, and what is shown."""
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as shown:
            module = session()
            module.GRACE_S = 1
            outcome = module.run(command, types.SimpleNamespace(out=folder, build=BUILD, sim=True, part=1))
            module.show(command.name, outcome)
            self.assertLessEqual(len(os.listdir(os.path.join(folder, command.name))), FILES)
            text, _ = module.summary({command.name: outcome})
            return outcome.counts(), text + shown.getvalue()

    def script(self, text):
        path = os.path.join(harness.scratch(), "made-up.py")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def test_tests_of_a_driver_with_optimisations_off(self):
        module = session()
        counts, text = self.work(module.Command("off", 5 * harness.PATIENCE_S, module.RUN, "--disable", "all,batching", "driver/threads: threads work apart"))
        self.assertEqual(counts, (3, 0, 0))
        self.assertIn("driver/threads without batching: threads work apart", text)
        self.assertRegex(text, r"off +\d+ s  exit code 0: 3 passed, 0 failed, 0 skipped")

    def test_a_measurement(self):
        module = session()
        self.assertEqual(self.work(module.Command("speed", 5 * harness.PATIENCE_S, module.BENCH, "--quick", "streams"))[0], (1, 0, 0))

    def test_what_fails_and_what_hangs(self):
        module = session()
        counts, text = self.work(module.Command("fails", harness.PATIENCE_S, self.script("import sys; print('no luck'); sys.exit(3)")))
        self.assertEqual(counts, (0, 1, 0))
        self.assertIn("no luck", text)
        counts, text = self.work(module.Command("hangs", 1, self.script("import time; time.sleep(1000)")))
        self.assertEqual(counts, (0, 1, 0))
        self.assertIn("took too long", text)


if __name__ == "__main__":
    harness.main()
