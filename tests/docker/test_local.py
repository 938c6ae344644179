#!/usr/bin/env python3
"""Programs in containers with the GPU's driver in their own process (`aitherion run --local --docker`), with a real Docker and the simulated
driver: a container that docker makes, and one that `start` has made."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import engine  # noqa: E402
import harness  # noqa: E402
import nodes  # noqa: E402

IMAGE = "aitherion-runtime:latest"
MIB = 1 << 20
GOOD, FULL = "CUDA_SUCCESS", "CUDA_ERROR_OUT_OF_MEMORY"
LOCAL = "/usr/lib/aitherion/local"  # inside


def steps_program():
    path = os.path.join(harness.build(), "tests", "runtime", "cuda_steps")
    if not os.access(path, os.X_OK):
        sys.exit("no cuda_steps to test with: make check TESTS=")
    return path


def setUpModule():
    if not shutil.which("docker"):
        raise unittest.SkipTest("no docker (package docker.io or docker-cli)")
    environment = harness.environment(DOCKER_HOST=engine.shared().host)
    built = harness.run("image", "build", "--tag", IMAGE, env=environment)
    if built.returncode:
        raise AssertionError(built.stderr)


class Containers(unittest.TestCase):
    def setUp(self):
        self.daemon = engine.shared()
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.nodes = nodes.Nodes("docker", self.folder, DOCKER_HOST=self.daemon.host)
        nodes.write_document(self.nodes.document, count=1)
        self.addCleanup(self.nodes.steps, "clean")
        self.reach = ["-c", self.nodes.document, "--key", self.nodes.key]
        self.env = harness.environment(DOCKER_HOST=self.daemon.host, AITHERION_RUN_FOLDER=self.nodes.run_folder, AITHERION_SIM_DEVICES="1")

    def start(self):
        self.assertEqual(self.nodes.outcomes(), {0: "started"})

    def sessions(self):
        result = harness.run("session", "list", "--json", *self.reach, env=self.env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["runtimes"][0]["sessions"]

    def words(self, *words):
        """The command line of docker that the command would run."""
        result = harness.run("run", "--local", "--dry-run", "--json", *self.reach, *words, env=self.env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def check_limits(self, way, *words):
        """A program has 8 MiB of the GPU's memory and no more, and its session a share of 25 percent."""
        command = [harness.binary(), "run", "--local", *self.reach, "--memory", "8M", "--share", "25", "--docker", way, "--", *words]
        with subprocess.Popen(command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            program.stdin.write(f"take plain {8 * MIB}\ntake plain 1\n")
            program.stdin.flush()
            said = [program.stdout.readline().strip() for _ in range(3)]
            if said != [GOOD, GOOD, FULL]:
                program.stdin.close()
                self.fail((said, program.stderr.read()))
            (one,) = self.sessions()
            self.assertEqual((one["program"], one["devices"][0]["memory_used_bytes"], one["turn"]["share_percent"]), ("prog", 8 * MIB, 25))
            program.stdin.close()
            self.assertEqual(program.wait(timeout=harness.PATIENCE_S), 0, program.stderr.read())
        self.assertTrue(harness.wait_until(lambda: not self.sessions()))

    def test_a_container_that_docker_makes(self):
        self.start()
        mount = f"type=bind,source={steps_program()},target=/prog,readonly"
        self.check_limits("run", "--rm", "-i", "--network", "none", "--mount", mount, "--entrypoint", "/prog", IMAGE)

    def test_a_container_of_start(self):
        """A program that its image has: here a file of the runtime's folder, which is mounted."""
        self.start()
        shutil.copy(steps_program(), os.path.join(self.nodes.run_folder, "numa0", "prog"))
        self.check_limits("exec", "-i", "aitherion-numa0", os.path.join(self.nodes.run_folder, "numa0", "prog"))

    def test_the_command_line(self):
        self.start()
        socket = os.path.join(self.nodes.run_folder, "numa0", "runtime.sock")
        shown = self.words("--docker", "run", "--", "IMAGE", "prog", "-x")
        command = shown["command"]
        self.assertEqual((shown["environment"], command[:2], command[-3:]), ({}, ["docker", "run"], ["IMAGE", "prog", "-x"]))
        variables = dict(command[i + 1].split("=", 1) for i, word in enumerate(command) if word == "--env")
        self.assertEqual(variables, {"LD_LIBRARY_PATH": f"{LOCAL}:/usr/lib/aitherion/needed", "AITHERION_LOCAL": f"unix:{socket}",
                                     "AITHERION_DRIVER": "/usr/lib/aitherion/sim/libcuda.so.1", "AITHERION_KEY_FILE": "/run/aitherion/key",
                                     "AITHERION_SIM_DEVICES": "1"})
        mounts = [dict(part.split("=") for part in command[i + 1].split(",")[:-1]) for i, word in enumerate(command) if word == "--mount"]
        sources = {mount["target"]: mount["source"] for mount in mounts}
        self.assertEqual(sources.pop("/usr/lib/aitherion/needed/libnettle.so.8").rsplit("/", 1)[1][:15], "libnettle.so.8.")
        build = os.path.join(harness.build(), "lib", "aitherion")
        self.assertEqual(sources, {LOCAL: os.path.join(build, "local"), "/usr/lib/aitherion/sim": os.path.join(build, "sim"),
                                   os.path.dirname(socket): os.path.dirname(socket), "/run/aitherion/key": self.nodes.key})
        inside = self.words("--docker", "exec", "aitherion-numa0", "prog")["command"]
        self.assertNotIn("--mount", inside)
        self.assertIn(f"LD_LIBRARY_PATH={LOCAL}", inside)

    def test_refusals(self):
        for words, code, text in ((["--docker", "run", "IMAGE"], 2, "--docker needs --local"),
                                  (["--local", "--docker", "build", "IMAGE"], 2, "'build' is not a value for '--docker': run|exec"),
                                  (["--local", "--docker", "run", "IMAGE"], 125, "no runtime is here that a container could use\n  hint: aitherion -c")):
            result = harness.run("run", *self.reach, *words, env=self.env)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(text, result.stderr)


if __name__ == "__main__":
    harness.main()
