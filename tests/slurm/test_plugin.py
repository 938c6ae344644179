#!/usr/bin/env python3
"""Slurm's plugin (src/slurm) and the licenses of etc/slurm/job_submit.lua in a real Slurm: one controller, two nodes, a simulated runtime."""
import os
import re
import subprocess
import unittest

import daemons
import runtime
from runtime import harness

PLUGIN = os.path.join(harness.build(), "lib", "aitherion", "slurm", "spank_aitherion.so")
VECTOR_ADD = os.path.join(harness.build(), "examples", "vector_add")
GPU = "GPU-61697468-6572-696f-6e2d-73696d2d000"
SHOW = ["sh", "-c", "env | grep -E '^(AITHERION|CUDA|LD_LIBRARY|SLURM_AITHERION)' | sort"]
# Begins a session and waits.
HOLD = "import ctypes, time; cuda = ctypes.CDLL('libcuda.so.1'); cuda.cuInit(0); " \
    "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0); time.sleep(3600)"
GPUS = 4
cluster = server = None


def lack():
    if not os.path.exists(PLUGIN):
        return "the build has no plugin for Slurm (package libslurm-dev)"
    return daemons.lack()


LACK = lack()


def setUpModule():
    global cluster, server
    if LACK:
        return
    server = runtime.Server("--sim", env=harness.environment(AITHERION_SIM_DEVICES=str(GPUS)))
    unittest.addModuleCleanup(server.stop)
    cluster = daemons.Slurm()
    unittest.addModuleCleanup(cluster.stop)


def plugstack(*words, mode="optional", **values):
    """The line of plugstack.conf. A value None leaves an argument out."""
    values = {"server": server.address, "key": runtime.key_file(), "aitherion": harness.binary(), **values}
    return " ".join([mode, PLUGIN, *words, *(f"{name}={value}" for name, value in values.items() if value)]) + "\n"


@unittest.skipIf(LACK, LACK)
class Base(unittest.TestCase):
    def setUp(self):
        cluster.write("plugstack.conf", plugstack())
        self.marker = cluster.path("ran")

    def tearDown(self):
        self.assertFalse(os.path.exists(self.marker), "the program ran")

    def srun(self, *words, code=0, **variables):
        result = cluster.run("srun", "--immediate=60", *words, AITHERION_CONNECT_TIMEOUT="0.3", **variables)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr + cluster.logs())
        return result

    def environment(self, *words, **variables):
        """Returns aitherion's variables as a task sees them."""
        return self.read(self.srun(*words, *SHOW, **variables).stdout)

    @staticmethod
    def read(text):
        variables = dict(line.split("=", 1) for line in text.splitlines())
        return {name: value for name, value in variables.items() if name not in ("AITHERION_PATIENCE", "AITHERION_CONNECT_TIMEOUT")}

    def fails(self, *words, code=125, **variables):
        """The messages of a job that must not run its program."""
        result = self.srun(*words, "touch", self.marker, code=code, **variables)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def local(self):
        """The variables by which `aitherion run` finds a node's runtime."""
        return {"AITHERION_SERVER": "unix:" + server.socket, "AITHERION_KEY_FILE": runtime.key_file()}

    def sessions(self):
        result = harness.run("session", "list", "--json", "--server", server.address, "--key", runtime.key_file())
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [])
        return value["runtimes"][0]["sessions"]


class Programs(Base):
    def test_limits_on_the_node_s_own_runtime(self):
        result = self.srun("--aitherion-memory=1G", "--aitherion-share=25", VECTOR_ADD, **self.local())
        self.assertIn("GPU 0: aitherion simulated GPU, 1.0 GiB\n", result.stdout)
        self.assertIn("right", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_gpus_of_the_cluster_s_servers(self):
        result = self.srun("--aitherion-remote", "--aitherion-memory=25%", VECTOR_ADD)
        self.assertIn("right", result.stdout)

    def test_a_session_has_the_claim_and_ends_with_the_job(self):
        job = cluster.submit("--aitherion-remote=1", "--aitherion-memory=512M", "--aitherion-share=30,cap", "--aitherion-priority=low",
                             "--aitherion-sm-share=50", "--wrap", f'exec python3 -c "{HOLD}"')
        self.assertTrue(harness.wait_until(lambda: [one for one in self.sessions() if one["devices"]]), cluster.logs())
        session = self.sessions()[0]
        turn = session["turn"]
        self.assertEqual([device["memory_limit_bytes"] for device in session["devices"]], [512 << 20])
        self.assertEqual((turn["share_percent"], turn["is_capped"], turn["priority"]), (30, True, "low"))
        cluster.run("scancel", job)
        self.assertTrue(harness.wait_until(lambda: not self.sessions()))

    def test_a_job_without_the_options_gets_nothing(self):
        self.assertEqual(self.environment(CUDA_VISIBLE_DEVICES="1"), {"CUDA_VISIBLE_DEVICES": "1"})


class Environment(Base):
    def test_what_run_would_set(self):
        words = ("--aitherion-memory=2G", "--aitherion-share=25,cap", "--aitherion-priority=high", "--aitherion-sm-share=50")
        self.assertEqual(self.environment("--aitherion-remote=2", *words, CUDA_VISIBLE_DEVICES="7", AITHERION_SHARE="99"), {
            "AITHERION_SERVER": server.address,
            "AITHERION_KEY_FILE": runtime.key_file(),
            "AITHERION_MEMORY": "2G",
            "AITHERION_SHARE": "25,cap",
            "AITHERION_PRIORITY": "high",
            "AITHERION_SM_SHARE": "50",
            "CUDA_VISIBLE_DEVICES": f"{GPU}0,{GPU}1",
            "LD_LIBRARY_PATH": os.path.join(harness.build(), "lib", "aitherion"),
        })

    def test_all_gpus_and_no_numbers_of_the_node_s_own(self):
        self.assertNotIn("CUDA_VISIBLE_DEVICES", self.environment("--aitherion-remote", CUDA_VISIBLE_DEVICES="7"))

    def test_a_node_s_own_gpus_keep_their_numbers(self):
        own = self.environment("--aitherion-memory=2G", CUDA_VISIBLE_DEVICES="1", **self.local())
        self.assertEqual((own["CUDA_VISIBLE_DEVICES"], own["AITHERION_SERVER"]), ("1", "unix:" + server.socket))

    def test_each_node_has_other_gpus(self):
        lines = self.srun("-N2", "--aitherion-remote=2", "sh", "-c", "echo $SLURM_NODEID $CUDA_VISIBLE_DEVICES").stdout.splitlines()
        self.assertEqual(sorted(lines), [f"0 {GPU}0,{GPU}1", f"1 {GPU}2,{GPU}3"])

    def test_a_batch_script_and_its_steps(self):
        """The script has its node's GPUs. Steps choose among the job's, and take the job's options where they have none."""
        show = SHOW[2].replace("$", "\\$")
        out = cluster.batch("-N2", "--aitherion-remote=1", "--aitherion-memory=3G", script=f"""
            {show}; echo ==
            srun -N1 -n1 --aitherion-memory=1G sh -c "{show}"; echo ==
            srun -N2 -n2 sh -c 'echo $SLURM_NODEID $CUDA_VISIBLE_DEVICES $AITHERION_MEMORY' | sort""")
        script, step, nodes = out.split("==\n")
        self.assertEqual(self.read(script)["CUDA_VISIBLE_DEVICES"], GPU + "0")
        self.assertEqual(self.read(script)["SLURM_AITHERION_GPUS"], f"{GPU}0,{GPU}1")
        self.assertEqual(self.read(script)["AITHERION_MEMORY"], "3G")
        self.assertEqual(self.read(step)["CUDA_VISIBLE_DEVICES"], GPU + "0")
        self.assertEqual(self.read(step)["AITHERION_MEMORY"], "1G")
        self.assertEqual(nodes.splitlines(), [f"0 {GPU}0 3G", f"1 {GPU}1 3G"])

    def test_steps_of_salloc(self):
        result = cluster.run("salloc", "--aitherion-remote=1", "--aitherion-share=40", "srun", *SHOW)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.read(result.stdout)["AITHERION_SHARE"], "40")
        self.assertRegex(self.read(result.stdout)["CUDA_VISIBLE_DEVICES"], f"^{GPU}[0-3]$")  # others may be reserved for earlier jobs


class Refusals(Base):
    def test_wrong_values_are_refused_before_there_is_a_job(self):
        for option, value, hint in (("memory", "1X", "512M or 4G"), ("memory", "0", "512M or 4G"), ("share", "0", "1 to 100"), ("share", "101", "1 to 100"),
                                    ("share", "25,top", "25,cap"), ("priority", "urgent", "high, normal or low"), ("sm-share", "0", "1 to 100"),
                                    ("remote", "0", "1 to 64"), ("remote", "65", "1 to 64"), ("remote", "x", "1 to 64")):
            with self.subTest(option=option, value=value):
                said = self.fails(f"--aitherion-{option}={value}", code=255)
                self.assertIn(f"srun: error: aitherion: '{value}' is no value for --aitherion-{option}\n", said)
                self.assertRegex(said, rf"\n  hint: give .*{hint}")
        self.assertIn("is no value for --aitherion-share", cluster.run("sbatch", "--aitherion-share=x", "--wrap", "true").stderr)

    def test_a_server_that_is_away(self):
        for mode in ("optional", "required"):
            cluster.write("plugstack.conf", plugstack(mode=mode, server="127.0.0.1:1"))
            said = self.fails("-n2", "--aitherion-remote=1")
            self.assertRegex(said, r"error: aitherion: cannot connect to '127.0.0.1:1': Connection refused\n  hint: check")
            self.assertEqual(said.count("Connection refused\n"), 1, said)
            self.assertRegex(said, r"n[12]: tasks 0-1: Exited with exit code 125")

    def test_a_server_that_is_away_from_a_batch_script(self):
        cluster.write("plugstack.conf", plugstack(server="127.0.0.1:1"))
        out = cluster.batch("--aitherion-remote=1", "--export=ALL,AITHERION_CONNECT_TIMEOUT=0.3", script=f"touch {self.marker}", state="FAILED")
        self.assertIn("cannot connect to '127.0.0.1:1'", out)

    def test_a_key_that_cannot_be_read(self):
        cluster.write("plugstack.conf", plugstack(key="/nowhere/key"))
        self.assertRegex(self.fails("--aitherion-remote"), "error: aitherion: .*'/nowhere/key'.*\n  hint: ")

    def test_the_user_s_own_rights_count(self):
        """The key is root's: a job of another user does not get it by way of slurmstepd, which is root's, too."""
        if subprocess.run(["test", "-x", harness.binary()], user="nobody", group="nogroup", check=False).returncode:
            self.skipTest("other users cannot reach the build")
        said = self.fails("--uid=nobody", "--aitherion-remote=1", code=125)
        self.assertRegex(said, "cannot use the key: cannot read '.*': Permission denied")

    def test_another_key(self):
        cluster.write("plugstack.conf", plugstack(key=runtime.key_file(b"another key, of enough bytes")))
        self.assertIn("key", self.fails("--aitherion-remote", code=124))

    def test_more_gpus_than_there_are(self):
        said = self.fails("-N2", "--aitherion-remote=3")
        self.assertIn("cannot choose 6 GPUs: of the 4 that the runtimes serve, the program may use 4", said)

    def test_no_runtime_on_the_node(self):
        said = self.fails("--aitherion-memory=1G", AITHERION_RUN_FOLDER=cluster.path("empty"))
        self.assertRegex(said, "error: aitherion: .*\n  hint: .*\n  hint: --aitherion-remote uses the GPUs of the cluster's servers")

    def test_a_cluster_without_servers(self):
        cluster.write("plugstack.conf", plugstack(server=None))
        said = self.fails("--aitherion-remote", code=255)
        self.assertIn("srun: error: aitherion: --aitherion-remote: this cluster names no servers\n", said)
        self.assertIn("server=HOST:PORT", said)

    def test_wrong_words_in_plugstack(self):
        for word in ("serve=x", "server", "server=", "gpus=3"):
            cluster.write("plugstack.conf", plugstack(word, mode="required"))
            said = self.fails(code=1)
            self.assertIn(f"error: aitherion: '{word}' in plugstack.conf is no argument of aitherion's plugin\n", said)

    def test_a_node_without_aitherion(self):
        cluster.write("plugstack.conf", plugstack(aitherion="/nowhere/aitherion"))
        self.assertRegex(self.fails("--aitherion-remote"),
                         "cannot run '/nowhere/aitherion' on this node: No such file.*\n  hint: install aitherion on the node")


@unittest.skipIf(LACK, LACK)
class Licenses(unittest.TestCase):
    """A controller that counts."""

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(harness.SOURCE, "etc", "slurm", "job_submit.lua"), encoding="utf-8") as file:
            files = {"job_submit.lua": file.read(), "plugstack.conf": plugstack()}
        cls.cluster = daemons.Slurm(more=f"JobSubmitPlugins=lua\nLicenses=aitherion:{GPUS},other:1\n", files=files)
        cls.addClassCleanup(cls.cluster.stop)

    def licenses(self, job):
        return re.search(r"Licenses=(\S+)", self.cluster.run("scontrol", "show", "job", job).stdout).group(1)

    def test_gpus_are_counted(self):
        first = self.cluster.submit("-N2", "--aitherion-remote=1", "--wrap", "sleep 3600")
        second = self.cluster.submit("--aitherion-remote=3", "-L", "other", "--wrap", "true")
        third = self.cluster.submit("--aitherion-memory=1G", "--hold", "--wrap", "true")
        try:
            self.assertEqual([self.licenses(job) for job in (first, second, third)], ["aitherion:2", "other,aitherion:3", "(null)"])
            self.assertTrue(harness.wait_until(lambda: self.cluster.state(second) == "PENDING Licenses"), self.cluster.state(second))
        finally:
            self.cluster.run("scancel", first, third)
        self.assertTrue(harness.wait_until(lambda: self.cluster.state(second).startswith("COMPLETED")), self.cluster.state(second))

    def test_what_cannot_be_counted(self):
        for words, message in ((["--aitherion-remote"], "--aitherion-remote needs a number"),
                               (["-N1-2", "--aitherion-remote=1"], "needs one number of nodes, not a range: -N 2"),
                               (["-L", "other,aitherion:1", "--aitherion-remote=1"], "leave the licenses 'aitherion' out of -L"),
                               (["--aitherion-remote=5"], "Invalid license specification")):
            result = self.cluster.run("sbatch", *words, "--wrap", "true")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(message, result.stderr)

    def test_a_program_runs(self):
        result = self.cluster.run("srun", "--aitherion-remote=1", VECTOR_ADD)
        self.assertIn("right", result.stdout, result.stderr)


if __name__ == "__main__":
    harness.main()
