#!/usr/bin/env python3
"""Shares of a GPU's time as people see and change them: `run --share`, `session list`, `session limit`, `status`, `top`, metrics.
tests/unit/test_session_turns.c has what comes of them."""
import os
import re
import sys
import tempfile
import unittest
import urllib.request

import runtime

sys.path.insert(0, os.path.join(runtime.SOURCE, "bench"))

from parties import Party  # noqa: E402
from cuda import Program
from runtime import Server, harness

GOOD = "CUDA_SUCCESS"


def cli(server, *words, key=None):
    return harness.run(*words, "--server", server.address, "--key", key or runtime.key_file(runtime.KEY), env=harness.environment())


def turns(server, **options):
    """The turns of the sessions, by id, and the ids in order."""
    result = cli(server, "session", "list", "--json", **options)
    value, faults = harness.check_json(result.stdout)
    assert not faults, faults
    return {one["id"]: one["turn"] for one in value["runtimes"][0]["sessions"]}


def claim(turn):
    return turn["share_percent"], turn["is_capped"], turn["priority"], turn["share_source"], turn["priority_source"]


class Asked(unittest.TestCase):
    def test_a_program_asks(self):
        for place in ("address", "socket"):
            with self.subTest(place), Server("--sim") as server, \
                    Program(getattr(server, place), words=["--share", "25", "--cap", "--priority", "low"]) as program, \
                    Program(getattr(server, place), env={"AITHERION_SHARE": "100", "AITHERION_PRIORITY": "high"}, alone=True) as second, \
                    Program(getattr(server, place)) as third:
                self.assertEqual([one.first for one in (program, second, third)], [GOOD] * 3)
                self.assertEqual([claim(one) for one in turns(server).values()],
                                 [(25, True, "low", "asked", "asked"), (100, False, "high", "asked", "asked"),
                                  (None, False, "normal", None, None)])
                text = cli(server, "session", "list").stdout
                self.assertIn("Share of the GPU", text)
                self.assertIn("25 % at most (asked for), priority low", text)
                self.assertIn("100 % (asked for), priority high", text)

    def test_without_claims_nothing_is_shown(self):
        with Server("--sim") as server, Program(server.address) as program:
            self.assertEqual(program.first, GOOD)
            self.assertNotIn("Share", cli(server, "session", "list").stdout)
            self.assertTrue(cli(server, "session", "list", "--explain").stdout.endswith("\nno program waits for a GPU now\n"))

    def test_metrics_exist_with_a_claim_and_without(self):
        with Server("--sim", "--metrics", "127.0.0.1:0") as server, Program(server.address, words=["--share", "25"]) as program, \
                Program(server.address) as other:
            program.do("fill 1000")
            other.do("fill 1000")
            first, second = turns(server)
            self.assertTrue(server.wait_for_log("event=metrics"))
            address = re.search(r"event=metrics address=(\S+)", server.log())[1]

            def values(name):
                with urllib.request.urlopen(f"http://{address}/metrics", timeout=harness.PATIENCE_S) as answer:
                    page = answer.read().decode()
                return [float(value) for number in (first, second)
                        for value in re.findall(rf'^aitherion_runtime_session_{name}{{session="{number}",.*}} (\S+)$', page, re.M)]
            self.assertEqual(values("share_wanted_ratio"), [0.25, 0])
            self.assertTrue(harness.wait_until(lambda: all(len(values(f"turn_{name}_seconds_total")) == 2
                                                           for name in ("held", "lent", "waited")) and len(values("turns_total")) == 2))

    def test_a_runtime_without_turns_is_named(self):
        words = ["run", "--server", None, "--key", runtime.key_file(runtime.KEY), "--share", "25", "--", "true"]
        for sharing, said in (("free", "aitherion: warning: the runtime gives no turns (sharing: free): shares and priorities have no effect\n"),
                              ("turns", ""), ("auto", "")):
            with self.subTest(sharing), Server("--sim", "--sharing", sharing) as server:
                words[2] = server.address
                result = harness.run(*words, env=harness.environment())
                self.assertEqual((result.returncode, result.stderr), (0, said))


class Changed(unittest.TestCase):
    def test_a_claim_is_changed(self):
        with Server("--sim") as server, Program(server.address, words=["--share", "25"]) as program, Program(server.address) as other:
            self.assertEqual((program.first, other.first), (GOOD, GOOD))
            first, second = turns(server)

            def limit(*words):
                return cli(server, "session", "limit", *map(str, words))
            for words, said, wanted in (
                    ((first, "--cap"), f"session {first} gets no more than its share\n", (25, True, "normal", "set", None)),
                    ((first, "--share", 40, "--no-cap"),
                     f"session {first} has 40 percent of its GPUs' time while others want them\nsession {first} may use time that others leave\n",
                     (40, False, "normal", "set", None)),
                    ((first, "--priority", "high"), f"session {first} has the priority 'high'\n", (40, False, "high", "set", "set")),
                    ((first, "--cap"), f"session {first} gets no more than its share\n", (40, True, "high", "set", "set")),
                    ((first, "--share", "none"), f"session {first} has no share of its own\n"
                     f"note: its cap stays; `session limit {first} --no-cap` removes it\n", (None, True, "high", "set", "set")),
                    ((first, "--share", 40, "--no-cap"),
                     f"session {first} has 40 percent of its GPUs' time while others want them\nsession {first} may use time that others leave\n",
                     (40, False, "high", "set", "set")),
                    ((first, "--share", "none"), f"session {first} has no share of its own\n", (None, False, "high", "set", "set")),
                    ((first, "--share", 100, "--cap", "--priority", "low", "1G"),
                     f"session {first} has 100 percent of its GPUs' time while others want them\n"
                     f"session {first} gets no more than its share\nsession {first} has the priority 'low'\n"
                     f"session {first} may use 1.0 GiB of GPU 0\n", (100, True, "low", "set", "set"))):
                with self.subTest(words):
                    dry = limit(*words, "--dry-run")
                    self.assertEqual(dry.returncode, 0, dry.stderr)
                    self.assertEqual([line.split()[0].strip(":") for line in dry.stdout.splitlines()],
                                     ["note" if line.startswith("note") else "would" for line in said.splitlines()])
                    result = limit(*words)
                    self.assertEqual((result.returncode, result.stdout), (0, said), result.stderr)
                    self.assertEqual(claim(turns(server)[first]), wanted)
            self.assertEqual(claim(turns(server)[second]), (None, False, "normal", None, None))
            value, faults = harness.check_json(limit(second, "--share", 7, "--json").stdout)
            self.assertEqual((faults, value["device"], value["share_percent"], value["is_capped"], value["priority"]), ([], None, 7, None, None))
            value, faults = harness.check_json(limit(second, "2G", "--json").stdout)
            self.assertEqual((faults, value["device"], value["share_percent"], value["is_capped"]), ([], 0, None, None))

    def test_nonsense_is_refused(self):
        with Server("--sim") as server, Program(server.address) as program:
            self.assertEqual(program.first, GOOD)
            (first,) = turns(server)
            for words, code, pattern in (([], 2, "nothing to do: give a size or a share\n  hint: aitherion session limit"),
                                         (["--share", "0"], 2, "'0' is no share of the GPUs' time\n  hint: give a percentage from 1 to 100, or none"),
                                         (["--share", "101"], 2, "'101' is no share"), (["--share", "much"], 2, "'much' is no share"),
                                         (["--cap", "--no-cap"], 2, "'--cap' and '--no-cap' exclude each other"),
                                         (["--cap"], 2, "'--cap' keeps a session to its share, and this session has no share"),
                                         (["--cap", "--share", "none"], 2, "'--cap' keeps a session to its share, and this session has no share"),
                                         (["--share", "5", "--device", "0"], 2, "'--device' is for a limit of memory"),
                                         (["--priority", "urgent"], 2, "'urgent'")):
                with self.subTest(words):
                    result = cli(server, "session", "limit", str(first), *words)
                    self.assertEqual((result.returncode, result.stdout), (code, ""))
                    self.assertIn(pattern, result.stderr)
            self.assertEqual(claim(turns(server)[first]), (None, False, "normal", None, None))
            result = cli(server, "session", "limit", "999", "--share", "5")
            self.assertEqual(result.returncode, 1)
            self.assertIn("no session '999'", result.stderr)

    def test_who_may_and_how_much(self):
        folder = tempfile.mkdtemp(prefix="keys-", dir=harness.scratch())
        os.chmod(folder, 0o755)
        for name in ("alice", "bob", "operator"):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(os.urandom(32))
            os.chmod(file.name, 0o600)
        rows = os.path.join(harness.scratch(), "claim-rows")
        with open(rows, "w", encoding="ascii") as file:
            file.write("operator admin\nalice share=30 priority=normal\n")
        keys = {name: os.path.join(folder, name) for name in ("alice", "bob", "operator")}
        with Server("--sim", "--identities", rows, keys=folder) as server, \
                Program(server.address, key=None, words=["--key", keys["alice"]], env={"AITHERION_KEY_FILE": None}) as program:
            self.assertEqual(program.first, GOOD)
            (first,) = turns(server, key=keys["operator"])
            self.assertEqual(claim(turns(server, key=keys["alice"])[first]), (30, False, "normal", "identity", None))
            for words, said, wanted in ((["--share", "80", "--cap"], f"session {first} has the share 80\n"
                                         "note: all sessions of its key together have 30 percent; among them it weighs 80\n"
                                         f"session {first} gets no more than its share\n", (80, True, "normal", "set", None)),
                                        (["--share", "none"], f"session {first} has no share of its own\n"
                                         f"note: its cap stays; `session limit {first} --no-cap` removes it\n",
                                         (30, True, "normal", "identity", None)),
                                        (["--no-cap"], f"session {first} may use time that others leave\n",
                                         (30, False, "normal", "identity", None))):
                with self.subTest(words):
                    result = cli(server, "session", "limit", str(first), *words, key=keys["alice"])
                    self.assertEqual((result.returncode, result.stdout), (0, said), result.stderr)
                    turn = turns(server, key=keys["alice"])[first]
                    self.assertEqual((claim(turn), turn["key_share_percent"]), (wanted, 30))
            value, faults = harness.check_json(cli(server, "session", "limit", str(first), "--share", "none", "--json", key=keys["alice"]).stdout)
            self.assertEqual((faults, value["share_percent"], value["key_share_percent"]), ([], 0, 30))
            result = cli(server, "session", "limit", str(first), "--priority", "high", key=keys["bob"])
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"no session '{first}'", result.stderr)
            for name in ("alice", "operator"):
                with self.subTest(name):
                    result = cli(server, "session", "limit", str(first), "--priority", "high", key=keys[name])
                    self.assertEqual((result.returncode, result.stdout),
                                     (0, f"session {first} has the priority 'normal'\nnote: its key allows no priority above 'normal'\n"))
                    self.assertEqual(turns(server, key=keys[name])[first]["priority"], "normal")
                    cli(server, "session", "limit", str(first), "--priority", "low", key=keys[name])
                    self.assertEqual(turns(server, key=keys[name])[first]["priority"], "low")


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Working(unittest.TestCase):
    """Programs whose kernels take time on one simulated GPU."""

    def party(self, server, number, *claim):
        prefix = [harness.binary(), "run", "--server", server.socket, "--key", runtime.key_file(runtime.KEY), *claim, "--"]
        party = Party(harness.build(), "kernels", number, harness.environment(), prefix, harness.PATIENCE_S, folder=harness.scratch(),
                      BENCH_KERNEL_US=5000)
        self.addCleanup(party.end)
        return party

    def test_who_waits_for_whom(self):
        with Server("--sim", env=harness.environment(AITHERION_SIM_GPU=os.path.join(harness.scratch(), "waits"))) as server:
            parties = [self.party(server, 1, "--share", "20"), self.party(server, 2)]
            first, second = turns(server)
            for party in parties:
                party.go(3600)

            def explained(pattern):
                return harness.wait_until(lambda: re.search(pattern, " ".join(cli(server, "session", "list", "--explain").stdout.split())))
            has_its_turn = rf"session {second} \([^)]+\) has waited for \d+\.\d{{3}} s for session {first} \([^)]+\), which has its turn"
            self.assertTrue(explained(has_its_turn), cli(server, "session", "list", "--explain").stdout)
            self.assertTrue(explained(rf"session {first} \([^)]+\) has held its GPUs for \d+ % of the time since it began; its part is 20 %"))
            self.assertNotIn(": session ", cli(server, "session", "list", "--explain").stdout, "the only runtime needs no name")
            self.assertTrue(explained(rf"20 % \(asked for\), waits for session {second} "))
            # the one without a share has what is left
            self.assertTrue(harness.wait_until(lambda: [turn["due_percent"] for turn in turns(server).values()] == [20, 80]), turns(server))
            for words in ([first, "--share", "60"], [second, "--share", "40"]):
                self.assertEqual(cli(server, "session", "limit", *map(str, words)).returncode, 0)
            self.assertTrue(harness.wait_until(lambda: [turn["due_percent"] for turn in turns(server).values()] == [60, 40]), turns(server))
            self.assertEqual(cli(server, "session", "limit", str(first), "--priority", "high").returncode, 0)
            self.assertTrue(explained(rf"session {second} \([^)]+\) has waited for \S+ s for session {first} \([^)]+\), which has a higher priority"))
            turn = turns(server)[second]
            self.assertIn(turn["reason"], ("priority", None))
            self.assertEqual(cli(server, "session", "limit", str(first), "--priority", "normal", "--share", "5", "--cap").returncode, 0)
            self.assertTrue(explained(rf"session {first} \([^)]+\) has waited for \S+ s for its own cap: it has had its 5 percent for now"))


if __name__ == "__main__":
    harness.main()
