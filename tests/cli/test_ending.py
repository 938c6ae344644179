#!/usr/bin/env python3
"""Running programs and the commands that would end them: start, restart, stop, clean. Each command shows the programs and asks."""
import fcntl
import glob
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import unittest

import cli
import harness
import nodes
import test_process
import test_start

STEPS = os.path.join(harness.build(), "tests", "runtime", "cuda_steps")


class Program:
    """A program with a GPU of one runtime. It makes CUDA calls on request (tests/runtime/cuda_steps.c)."""

    def __init__(self, case, node):
        if not os.access(STEPS, os.X_OK):
            case.skipTest("no cuda_steps to test with: make check TESTS=")
        words = [harness.binary(), "-c", case.document, "run", "--numa", str(node), "--", STEPS]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, bufsize=1, cwd=harness.scratch(),
                                        env=case.environment(srcdir=harness.SOURCE, AITHERION_SIM_DEVICES=None))
        case.addCleanup(self.end)
        case.assertEqual(self.read(), "CUDA_SUCCESS")
        case.assertEqual(self.do("take plain 1048576"), "CUDA_SUCCESS")

    def read(self):
        if not select.select([self.process.stdout], [], [], harness.PATIENCE_S)[0]:
            raise TimeoutError("the program says nothing")
        return self.process.stdout.readline().strip()

    def do(self, step):
        self.process.stdin.write(step + "\n")
        return self.read()

    def is_served(self):
        return self.do("sync") == "CUDA_SUCCESS"

    def end(self):
        self.process.kill()
        self.process.communicate()


@unittest.skipUnless(harness.copies_alone(), nodes.NO_BINDING)
class Case(test_start.Base):
    def setUp(self):
        super().setUp()
        self.write_document()
        self.addCleanup(self.run_on, "clean", "--yes")

    def write_document(self):
        super().write_document()
        with open(self.document, encoding="utf-8") as file:
            text = file.read().replace("engine: {", "engine: { kind: process,")
        with open(self.document, "w", encoding="utf-8") as file:
            file.write(text)

    def outcomes(self, command="start", *args, **options):
        return [node["outcome"] for node in self.data(command, *args, **options)["nodes"]]

    def states(self):
        return {node["id"]: node["state"] for node in self.data("status")["nodes"]}

    def change(self, node=0):
        """Changes a setting that a runtime takes only at its start."""
        nodes.change_document(self.document, node)

    def refused(self, *words):
        error = self.error(*words)
        self.assertEqual(error["code"], "programs-running", words)
        self.assertRegex(error["message"], r"^this would end running programs: session \d+ \(cuda_steps, process \d+, user \S+\) of NUMA0 with 1\.0 MiB of GPU memory$")
        self.assertIn("--yes", error["hint"])


class Programs(Case):
    """NUMA0 has a program, NUMA1 has none."""

    def setUp(self):
        super().setUp()
        self.assertEqual(self.outcomes(), ["started", "started"])
        self.program = Program(self, 0)

    def test_nothing_ends_without_a_question(self):
        self.change()
        for words in (["start"], ["start", "0"], ["restart"], ["restart", "0"], ["stop"], ["stop", "0"], ["clean"],
                      ["clean", "0"], ["start", "--no-wait"]):
            self.refused(*words)
            self.assertTrue(self.program.is_served(), words)
        self.assertEqual(self.states(), {0: "running", 1: "running"})

    def test_yes_ends_it(self):
        self.change()
        result = self.ok("start", "--yes")
        self.assertRegex(result.stderr, r"ending running programs: session \d+ \(cuda_steps, ")
        self.assertIn("NUMA0  restarted (its settings have changed)", result.stdout)
        self.assertFalse(self.program.is_served())
        for command in ("restart", "stop", "clean"):
            self.ok("start")
            program = Program(self, 0)
            ended = self.data(command, "--yes")["ends"]
            self.assertEqual([(one["id"], [session["program"] for session in one["sessions"]]) for one in ended],
                             [(0, ["cuda_steps"])])
            self.assertFalse(program.is_served())

    def test_runtimes_without_programs_are_not_asked_about(self):
        self.change(1)
        self.assertEqual(self.outcomes(), ["same", "restarted"])
        self.assertEqual(self.outcomes("restart", "1"), ["restarted"])
        self.ok("stop", "1")
        self.ok("clean", "1", "--yes")
        self.assertTrue(self.program.is_served())

    def test_dry_runs_show_them(self):
        self.assertEqual(self.data("start", "--dry-run")["ends"], [])
        self.change()
        for words in (["start"], ["restart"], ["stop"], ["clean"], ["stop", "0"]):
            value = self.data(*words, "--dry-run")
            self.assertEqual([(one["id"], one["error"], [session["program"] for session in one["sessions"]])
                              for one in value["ends"]], [(0, None, ["cuda_steps"])])
            text = self.ok(*words, "--dry-run").stdout
            self.assertRegex(text, r"(?m)^Running programs that would end:\n.*\nNUMA0 +\d+ +cuda_steps ")
        for command in ("stop", "clean"):
            self.assertEqual(self.data(command, "1", "--dry-run")["ends"], [])
        plan = self.data("start", "--dry-run")["nodes"]
        self.assertEqual([(node["outcome"], node["reason"]) for node in plan],
                         [("restarted", "its settings have changed"), ("same", None)])
        self.assertTrue(self.program.is_served())

    def test_on_a_terminal(self):
        env = self.environment(TERM="xterm", NO_COLOR="1")
        for command, question in (("stop", "End these programs?"), ("restart", "End these programs?"),
                                  ("clean", "Remove all this?")):
            for answer in "n\n", "\n":
                code, text = cli.run_on_terminal(command, "-c", self.document, env=env, answer=answer)
                self.assertEqual(code, 1, text)
                self.assertRegex(text, r"(?m)^NUMA0 +\d+ +cuda_steps ")
                self.assertIn(question + " [y/N]", text)
                self.assertTrue(self.program.is_served())
        code, text = cli.run_on_terminal("stop", "--no-input", "-c", self.document, env=env)
        self.assertEqual((code, "this would end running programs" in text), (1, True), text)
        code, text = cli.run_on_terminal("restart", "-c", self.document, env=env, answer="y\n")
        self.assertEqual(code, 0, text)
        self.assertFalse(self.program.is_served())

    def test_status_and_health_say_what_their_commands_end(self):
        self.change()
        text = self.ok("status").stdout
        self.assertRegex(text, r"(?m)^  hint: aitherion start -c .*\n"
                               r"  it asks before it ends running programs: session \d+ \(cuda_steps, ")
        self.assertRegex(" ".join(self.run_on("health").stdout.split()), r"start 0 \(asks before it ends 1 running program\)")
        self.program.end()
        harness.wait_until(lambda: not self.data("session", "list")["runtimes"][0]["sessions"])
        self.assertNotIn("running program", self.ok("status").stdout + self.run_on("health").stdout)

    def test_a_runtime_that_does_not_say_who_uses_it(self):
        self.ok("key", "--new", "--yes")
        for words in (["stop"], ["restart"], ["clean"]):
            error = self.error(*words)
            self.assertEqual(error["code"], "programs-running")
            self.assertRegex(error["message"], "NUMA0 does not say which programs use it: .*key")
            self.assertNotIn("NUMA1", error["message"])  # it has no session
        self.assertTrue(self.program.is_served())
        self.assertEqual([one["error"]["code"] for one in self.data("stop", "--dry-run")["ends"]], ["key-refused"])
        self.ok("stop", "--yes")
        self.assertFalse(self.program.is_served())

    def test_a_hanging_runtime(self):
        pid = self.data("status", "0")["nodes"][0]["process"]["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertRegex(self.error("stop", "0")["message"], "NUMA0 does not say which programs use it: ")
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertTrue(self.program.is_served())


class Simulation(Case):
    """A runtime that --sim started."""

    def setUp(self):
        super().setUp()
        self.ok("configure", "--set", "engine.sim=false")

    def devices(self):
        return [len(node["service"]["devices"]) for node in self.data("status")["nodes"] if node["service"]]

    def test_a_start_without_the_flag_keeps_it(self):
        self.ok("start", "--sim")
        program = Program(self, 0)
        result = self.ok("start")
        self.assertIn("NUMA0, NUMA1: simulated GPUs stay, because --sim started the runtime", result.stderr)
        self.assertIn(f"aitherion -c {self.document} stop, then aitherion -c {self.document} start\n", result.stderr)
        self.assertEqual((self.outcomes(), self.outcomes("start", "--sim")), (["same"] * 2, ["same"] * 2))
        self.assertTrue(program.is_served())
        self.assertEqual(self.outcomes("restart", "--yes"), ["restarted"] * 2)
        self.assertEqual(self.devices(), [1, 1])
        self.ok("stop")
        result = self.ok("start")
        self.assertNotIn("simulated GPUs stay", result.stderr)
        self.assertEqual(self.devices(), [0, 0])

    def test_each_runtime_for_itself(self):
        self.ok("start", "0", "--sim")
        self.assertEqual(self.outcomes(), ["same", "started"])
        self.assertEqual(self.devices(), [1, 0])

    def test_the_flag_restarts_others(self):
        self.ok("start", "0")
        self.assertEqual(self.outcomes("start", "0", "--sim"), ["restarted"])
        self.assertEqual(self.outcomes("start", "0"), ["same"])

    def test_the_documents_simulation_ends_with_the_document(self):
        self.ok("configure", "--set", "engine.sim=true")
        self.ok("start")
        program = Program(self, 0)
        self.ok("configure", "--set", "engine.sim=false")
        self.assertTrue(all(node["drift"] for node in self.data("status")["nodes"]))
        self.refused("start")
        self.assertTrue(program.is_served())
        self.assertEqual(self.outcomes("start", "--yes"), ["restarted"] * 2)


class InPlace(Case):
    """Settings that a start changes while the runtime and its programs go on."""

    def setUp(self):
        super().setUp()
        self.ok("start")
        self.program = Program(self, 0)

    def node(self, node=0):
        return self.data("status")["nodes"][node]

    def has_limit(self):
        return self.node()["process"]["memory_limit_bytes"] is not None

    def test_the_share_of_gpu_memory(self):
        total = self.node()["service"]["devices"][0]["memory_total_bytes"]
        for fraction in (0.25, 0.75, 0.5):
            self.ok("configure", "--set", f"numa.0.vram_fraction={fraction}")
            self.assertEqual((self.node()["drift"], self.node()["needs_restart"]),
                             ("its share of GPU memory has changed since it was started", False))
            self.assertIn("(changes it without a restart)", self.ok("status").stdout)
            plan = self.data("start", "--dry-run")
            self.assertEqual([(node["outcome"], node["reason"]) for node in plan["nodes"]],
                             [("changed", "share of GPU memory"), ("same", None)])
            self.assertEqual(plan["ends"], [])
            self.assertEqual(self.outcomes(), ["changed", "same"])
            self.assertEqual((self.node()["drift"], self.outcomes()), (None, ["same", "same"]))
            device = self.node()["service"]["devices"][0]
            self.assertAlmostEqual(device["memory_limit_bytes"] / device["memory_total_bytes"], fraction, 3)
            self.assertEqual(self.program.do(f"take plain {int(total * (fraction + 0.1))}"), "CUDA_ERROR_OUT_OF_MEMORY")
            self.assertTrue(self.program.is_served())

    def test_a_share_that_only_a_restart_changes(self):
        """Others have the key too, so a runtime takes no share by the network."""
        self.ok("configure", "--set", "numa.0.vram_fraction=0.25")
        os.remove(os.path.join(self.run_folder, "numa0", "runtime.sock"))
        self.assertEqual([node["reason"] for node in self.data("start", "--dry-run")["nodes"]],
                         ["its share of GPU memory cannot be changed while it runs", None])
        self.refused("start")
        self.assertTrue(self.program.is_served())
        self.assertEqual(self.outcomes("start", "--yes"), ["restarted", "same"])

    def test_the_memory_limit(self):
        if not self.has_limit():
            self.skipTest("no control group for memory here")
        for percent in ("60", "30.5", "10.0"):
            self.ok("configure", "--set", f"numa.0.memory_percent={percent}")
            before = self.node()
            self.assertEqual((before["drift"], before["needs_restart"]),
                             ("its memory limit has changed since it was started", False))
            self.assertEqual(self.outcomes(), ["changed", "same"])
            self.assertEqual((self.node()["drift"], self.outcomes()), (None, ["same", "same"]))
            self.assertNotEqual(self.node()["process"]["memory_limit_bytes"], before["process"]["memory_limit_bytes"])
            self.assertTrue(self.program.is_served())
        self.ok("configure", "--set", "numa.0.memory_percent=20", "--set", "numa.0.vram_fraction=0.3")
        self.assertEqual(self.data("start")["nodes"][0]["reason"], "memory limit, share of GPU memory")

    def test_a_limit_below_what_is_used(self):
        """The kernel would end processes, so a new limit below what is used needs a restart, and that asks."""
        if not self.has_limit():
            self.skipTest("no control group for memory here")
        nodes_of = self.data("discover", "--no-input")["numa_nodes"]
        total = next(node["memory_total_bytes"] for node in nodes_of if node["id"] == nodes.first_node())
        group = next(one for one in test_process.cgroups(self.run_folder) if "-numa0-" in one and
                     glob.glob(one + "/memory.*usage_in_bytes") + glob.glob(one + "/memory.current"))
        with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.readline(); x = b'x' * (300 << 20); print(); "
                               "sys.stdin.readline()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
            self.addCleanup(user.kill)
            with open(group + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(user.pid))
            user.stdin.write("\n")
            user.stdin.flush()
            user.stdout.readline()
            self.check_below(total)
            user.kill()

    def check_below(self, total):
        self.ok("configure", "--set", f"numa.0.memory_percent={100 * (140 << 20) / total:.3f}")
        self.assertEqual([node["reason"] for node in self.data("start", "--dry-run")["nodes"]],
                         ["it uses more memory than its new limit allows", None])
        self.refused("start")
        self.assertTrue(self.program.is_served())

    def test_a_restart_has_the_new_settings(self):
        self.ok("configure", "--set", "numa.0.memory_percent=20", "--set", "numa.0.vram_fraction=0.3")
        self.ok("start")
        self.assertEqual(self.outcomes("restart", "--yes"), ["restarted", "restarted"])
        self.assertEqual((self.node()["drift"], self.outcomes()), (None, ["same", "same"]))


class Restart(Case):
    def pids(self):
        return [node["process"]["pid"] for node in self.data("status")["nodes"]]

    def test_ends_and_starts(self):
        self.assertEqual(self.outcomes("restart"), ["started", "started"])
        pids = self.pids()
        self.assertEqual(self.outcomes("restart", "1"), ["restarted"])
        now = self.pids()
        self.assertEqual((now[0], now[1] != pids[1]), (pids[0], True))
        self.ok("stop", "0")
        self.assertEqual(self.outcomes("restart"), ["started", "restarted"])
        self.assertEqual(self.states(), {0: "running", 1: "running"})

    def test_what_cannot_be_started_is_not_ended(self):
        self.ok("start")
        pids = self.pids()
        self.ok("configure", "--set", "numa.1.node=4095")
        self.assertEqual(self.error("restart")["code"], "document-invalid")
        other = os.path.join(self.folder, "other.yaml")
        self.ok("configure", "--set", f"numa.1.node={nodes.first_node()}")
        shutil.copy(self.document, other)
        value = self.data("restart", document=other, code=1)
        self.assertEqual([node["error"]["code"] for node in value["nodes"]], ["foreign"] * 2)
        self.assertEqual(self.error("restart", "8")["code"], "key-unknown")
        self.assertEqual(self.pids(), pids)

    def test_a_dry_run(self):
        self.ok("start", "0")
        plan = self.data("restart", "--dry-run")
        self.assertEqual([node["outcome"] for node in plan["nodes"]], ["restarted", "started"])
        self.assertEqual(self.states(), {0: "running", 1: "absent"})

    def test_nothing_old_to_end(self):
        """A start of a stopped runtime does not say that it ends one."""
        self.ok("start", "0")
        self.ok("stop")
        self.assertNotIn("old", self.ok("start", "0").stderr)


class Reach(Case):
    """Notes of start and status about runtimes that programs cannot use as people expect."""

    def test_an_entry_without_a_gpu(self):
        self.ok("configure", "--set", "engine.sim=false")
        for words in (["start", "--dry-run"], ["start"]):
            value = self.data(*words)
            self.assertEqual([[warning["code"] for warning in node["warnings"]] for node in value["nodes"]], [["no-gpus"]] * 2)
        text = self.ok("start").stdout
        self.assertIn("NUMA0 has no GPU, so programs find none there", text)
        self.assertRegex(text, r"aitherion -c \S+ start 0\s+--sim")
        self.assertNotIn("has no GPU", self.ok("start", "--sim").stdout)

    def test_without_a_control_interface(self):
        own = f"aitherion -c {self.document}"
        said = (f"only this machine reaches NUMA0, NUMA1; for other machines: {own} configure 0 --control-iface INTERFACE, "
                f"then {own} start")
        self.assertIn(said, " ".join(self.ok("start").stdout.split()))
        self.assertIn(said, " ".join(self.ok("status").stdout.split()))
        self.ok("stop", "1")
        self.assertIn("only this machine reaches NUMA0;", self.ok("status").stdout)
        self.ok("stop")
        self.assertNotIn("only this machine", self.ok("status").stdout)


@unittest.skipUnless(harness.copies_alone(), nodes.NO_BINDING)
class Macvlan(Case):
    """Runs in its own network, where a pair of links stands for a network card."""

    SCRIPT = """
        mount --make-rprivate / && mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /run/netns &&
        ip link set lo up && ip link add p0 type veth peer name p1 && ip link set p0 up && ip link set p1 up &&
        ip link add p2 link p0 type macvlan || exit 77
        ip link delete p2
        "$AITHERION" start 0 -c "$DOCUMENT" >/dev/null 2>&1
        mkfifo "$FOLDER/in"
        "$AITHERION" run --numa 0 -c "$DOCUMENT" -- "$STEPS" <"$FOLDER/in" >"$FOLDER/out" 2>&1 &
        sleep 1000 >"$FOLDER/in" & feeder=$!
        until grep -q CUDA_SUCCESS "$FOLDER/out"; do sleep 0.05; done
        "$AITHERION" roce macvlan mv0 --delete -c "$DOCUMENT" 2>&1; echo "exit code $?"
        kill "$feeder"; wait
        "$AITHERION" clean --yes -c "$DOCUMENT" >/dev/null 2>&1
    """

    @unittest.skipIf(os.geteuid() or not shutil.which("unshare") or not shutil.which("ip"), "needs root, unshare and ip")
    def test_a_macvlan_that_programs_may_use(self):
        with open(self.document, "a", encoding="utf-8") as file:
            file.write("roce:\n  macvlans:\n    - { name: mv0, parent: p0, numa: 0, address: 10.9.1.10/24 }\n")
        os.makedirs("/run/netns", exist_ok=True)
        env = self.environment(AITHERION=harness.binary(), DOCUMENT=self.document, FOLDER=self.folder, STEPS=STEPS,
                               srcdir=harness.SOURCE)
        result = harness.run(command=["unshare", "--net", "--mount", "sh", "-c", self.SCRIPT], env=env)
        if result.returncode == 77:
            self.skipTest("macvlans are not possible here: " + result.stderr)
        self.assertIn("this would end running programs: session", result.stdout, result.stderr)
        self.assertIn("exit code 1", result.stdout)


class Others(Case):
    """Entries that do not exist, and runtimes of other users."""

    def test_an_unknown_entry(self):
        self.ok("start")
        for command in ("stop", "clean", "status", "restart", "start"):
            self.assertEqual(self.error(command, "8")["code"], "key-unknown", command)
            self.assertEqual(self.error(command, "0", "8")["code"], "key-unknown", command)
        self.assertEqual(self.states(), {0: "running", 1: "running"})
        self.ok("stop")
        self.assertIn("NUMA0 is not running", self.ok("stop", "0").stdout)

    def as_user(self, *words, env=None):
        return harness.run(command=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.binary(), *words,
                                    "-c", self.document, "--json"], env=env or self.environment())

    def assert_not_permitted(self, result, is_one):
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        error = json.loads(result.stderr)
        whose = "'aitherion-numa0' belongs" if is_one else "'aitherion-numa0', 'aitherion-numa1' belong"
        self.assertEqual((error["code"], error["message"]), ("not-permitted", whose + " to another user"))
        self.assertIn("sudo", error["hint"])

    @unittest.skipIf(os.geteuid() != 0 or not shutil.which("unshare"), "needs root and unshare")
    def test_runtimes_of_root(self):
        """A user without a run folder sees root's runtimes, and may not end them."""
        self.ok("start")
        os.chmod(self.folder, 0o755)
        script = ('mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir /run/aitherion && '
                  'mount --bind "$FOLDER" /run/aitherion || exit 77; exec "$@"')
        env = self.environment(FOLDER=self.run_folder, AITHERION_RUN_FOLDER=None, XDG_RUNTIME_DIR=None)
        for words in (["stop"], ["stop", "0"], ["clean", "--yes"], ["clean", "0", "--yes"], ["stop", "--dry-run"]):
            result = harness.run(command=["unshare", "--mount", "sh", "-c", script, "sh", "setpriv", "--reuid=65534",
                                          "--regid=65534", "--clear-groups", harness.binary(), *words, "-c", self.document,
                                          "--json"], env=env)
            if result.returncode == 77:
                self.skipTest(f"no mounts here: {result.stderr.strip()}")
            self.assert_not_permitted(result, "0" in words)
        self.assertEqual(self.states(), {0: "running", 1: "running"})

    @unittest.skipIf(os.geteuid() != 0, "only root can change to another user")
    def test_in_roots_run_folder(self):
        """The user names root's run folder. No program is asked about, and no end is announced."""
        self.ok("start")
        program = Program(self, 0)
        os.chmod(self.folder, 0o755)
        for words in (["stop"], ["stop", "0"], ["stop", "--yes"], ["clean"], ["clean", "--yes"], ["clean", "0", "--yes"]):
            self.assert_not_permitted(self.as_user(*words), "0" in words)
        self.assertTrue(program.is_served())
        self.assertEqual(self.states(), {0: "running", 1: "running"})
        self.ok("stop", "--yes")
        self.assert_not_permitted(self.as_user("clean", "--yes"), False)


class StateFiles(Case):
    """State files that others could have written."""

    def path(self):
        return os.path.join(self.run_folder, "state", "numa0", "state.json")

    def test_one_that_is_left_over(self):
        """Its mode and its owner do not pass to the new one."""
        self.ok("start", "0")
        self.ok("stop")
        for owner, mode in ((0, 0o666), (65534, 0o644)):
            os.chmod(self.path(), mode)
            if not os.geteuid():
                os.chown(self.path(), owner, -1)
            self.assertEqual(self.outcomes("start", "0"), ["started"])
            self.assertEqual((os.stat(self.path()).st_uid, os.stat(self.path()).st_mode & 0o777), (os.geteuid(), 0o644))
            self.assertEqual(self.states()[0], "running")
            self.ok("stop")

    def pause(self, node=0):
        """Stops a supervisor, which looks at its state every ten seconds. Returns its pid."""
        pid = next(one["process"]["supervisor_pid"] for one in self.data("status")["nodes"] if one["id"] == node)
        self.addCleanup(os.kill, pid, signal.SIGCONT)
        self.freeze(pid)
        return pid

    def freeze(self, pid):
        """Stops a process, and waits until it has: a call that it is in may still write a file."""
        os.kill(pid, signal.SIGSTOP)
        self.assertTrue(harness.wait_until(lambda: self.status_of(pid)["State"].startswith("T")))

    @staticmethod
    def status_of(pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file)

    def sleeps(self, pid):
        """Whether a process has taken its signals and waits for the next."""
        status = self.status_of(pid)
        return status["State"].startswith("S") and int(status["ShdPnd"], 16) == 0

    def is_state(self):
        """Whether the state file is one that can be used."""
        if os.path.islink(self.path()) or not os.path.isfile(self.path()):
            return False
        with open(self.path(), "rb") as file:
            return file.read(1) == b"{" and b"\0" not in file.read()

    def spoil(self, how):
        """Makes the state file one that cannot be used."""
        os.remove(self.path())
        if how == "garbage":
            with open(self.path(), "wb") as file:
                file.write(b"{\0" * 5000)
        elif how == "a pipe":
            os.mkfifo(self.path())
        elif how == "a link":
            os.symlink("/dev/zero", self.path())
        elif how == "a folder":
            os.mkdir(self.path())

    def test_one_of_a_running_runtime(self):
        """Each command names the file and how to repair it, and none misses the runtime."""
        self.ok("start", "0")
        self.pause()
        for mode in (0o664, 0o646):  # the group, or all others
            os.chmod(self.path(), mode)
            self.assertEqual(self.error("status")["code"], "foreign", oct(mode))
        os.chmod(self.path(), 0o666)
        for words in (["status"], ["start"], ["stop"], ["clean", "--yes"], ["session", "list"], ["stop", "--dry-run"]):
            error = self.error(*words)
            self.assertEqual((error["code"], self.path() in error["message"], f"chmod 644 '{self.path()}'" in error["hint"]),
                             ("foreign", True, True), words)
        os.chmod(self.path(), 0o644)
        self.assertEqual((self.states()[0], self.outcomes("start", "0")), ("running", ["same"]))

    def test_a_lost_one_of_a_running_runtime(self):
        """No command takes the runtime for one that does not run, and its supervisor writes the state again."""
        self.ok("start", "0")
        supervisor = self.pause()
        for how in ("gone", "garbage", "a pipe", "a link", "a folder"):
            with self.subTest(how):
                self.freeze(supervisor)
                self.spoil(how)
                for words in (["status"], ["start", "0"], ["clean", "--yes"]):
                    error = self.error(*words)
                    self.assertEqual((self.path() in error["message"], "try again in 10 s" in error["hint"]), (True, True), error)
                os.kill(supervisor, signal.SIGCONT)
                os.kill(supervisor, signal.SIGCHLD)  # it looks now
                self.assertTrue(harness.wait_until(self.is_state))
                self.assertEqual((self.states()[0], self.outcomes("start", "0")), ("running", ["same"]))

    def test_a_lost_socket(self):
        """A longer wait does not help a runtime that has lost its socket, so the hint names a restart."""
        self.ok("start", "0")
        os.remove(os.path.join(self.run_folder, "numa0", "runtime.sock"))
        result = self.run_on("start", "0", "--timeout", "1")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout + result.stderr, "hint: aitherion .*restart 0")
        self.ok("restart", "0", "--yes")
        self.assertEqual((self.states()[0], self.outcomes("start", "0")), ("running", ["same"]))

    def test_pipes_hold_up_no_command(self):
        """No process reads from these pipes, or writes to them."""
        state = os.path.dirname(self.path())
        for name in (".starting", os.path.join(state, ".supervisor.lock"), os.path.join(state, "memory_percent"),
                     os.path.join(state, "runtime.log")):
            with self.subTest(name):
                os.makedirs(state, exist_ok=True)
                path = os.path.join(self.run_folder, name)
                os.mkfifo(path)
                starts = 1 if name.endswith(".log") else 0
                self.assertEqual(self.run_on("start", "0").returncode, starts)
                self.ok("status")
                self.ok("clean", "--yes")
                self.assertFalse(os.path.lexists(path))

    def test_a_lost_folder_of_a_running_runtime(self):
        """The supervisor makes its folder again, but takes none that another supervisor has."""
        self.ok("start", "0")
        supervisor = self.data("status")["nodes"][0]["process"]["supervisor_pid"]
        for name in ("state/numa0", "state", ""):
            shutil.rmtree(os.path.join(self.run_folder, name))
            os.kill(supervisor, signal.SIGCHLD)  # it looks now
            self.assertTrue(harness.wait_until(lambda: os.path.exists(self.path())))
            self.assertEqual(self.states()[0], "running")
        kept = os.path.join(self.folder, "kept")
        os.rename(os.path.dirname(self.path()), kept)
        os.mkdir(os.path.dirname(self.path()))
        with open(os.path.join(os.path.dirname(self.path()), ".supervisor.lock"), "w", encoding="ascii") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            for _ in range(3):
                os.kill(supervisor, signal.SIGCHLD)
                self.assertTrue(harness.wait_until(lambda: self.sleeps(supervisor)))
            self.assertFalse(os.path.exists(self.path()))
        os.kill(supervisor, signal.SIGCHLD)
        self.assertTrue(harness.wait_until(lambda: os.path.exists(self.path())))
        self.assertEqual(self.states()[0], "running")


if __name__ == "__main__":
    harness.isolate()
    harness.main()
