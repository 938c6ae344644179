#!/usr/bin/env python3
"""aitherion run: the program's environment, and errors for programs that cannot be run.

tests/runtime/test_sessions.py tests what it asks a server first, test_cuda.py there programs with a GPU.
"""
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from cli import harness

SERVER = "10.0.0.11:50051"


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.key = os.path.join(self.folder, "key")
        with open(self.key, "wb") as file:
            file.write(b"a key")

    def environment(self, **changes):
        """Without a GPU, no server is asked before the program is run."""
        changes.setdefault("LD_LIBRARY_PATH", None)
        changes.setdefault("AITHERION_DISABLE", "1")
        return harness.environment(AITHERION_RUN_FOLDER=os.path.join(self.folder, "run"), AITHERION_PATIENCE=None, **changes)

    def run_with(self, *words, **changes):
        result = harness.run("run", *words, env=self.environment(**changes))
        self.assertIsNone(harness.crashed(result), result.stderr)
        return result

    def variables(self, *words, **changes):
        """Returns aitherion's variables in the environment of a program."""
        result = self.run_with(*words, "env", **changes)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
        return {name: value for name, value in lines.items() if name.startswith("AITHERION_") or name == "LD_LIBRARY_PATH"}

    def test_the_environment(self):
        libraries = os.path.join(harness.build(), "lib", "aitherion")
        found = self.variables("--server", SERVER, "--key", self.key, "--transport", "tcp")
        for own in "AITHERION_RUN_FOLDER", "AITHERION_DISABLE":
            found.pop(own)
        self.assertEqual(found, {"LD_LIBRARY_PATH": os.path.realpath(libraries), "AITHERION_SERVER": SERVER,
                                 "AITHERION_KEY_FILE": self.key, "AITHERION_TRANSPORT": "tcp"})
        found = self.variables("--server", "/run/a/socket", LD_LIBRARY_PATH="/opt/lib", AITHERION_KEY_FILE=self.key)
        self.assertEqual((found["LD_LIBRARY_PATH"], found["AITHERION_SERVER"], found["AITHERION_KEY_FILE"]),
                         (os.path.realpath(libraries) + ":/opt/lib", "unix:/run/a/socket", self.key))
        self.assertNotIn("AITHERION_TRANSPORT", found)
        self.assertEqual(self.variables(AITHERION_SERVER=SERVER)["AITHERION_SERVER"], SERVER)

    def test_the_level_of_messages(self):
        """--log-level is for the program as well. -v is, unless a variable says what the program prints."""
        def level(*words, **changes):
            return self.variables(*words, "--server", SERVER, **changes).get("AITHERION_LOG_LEVEL")
        self.assertIsNone(level())
        self.assertIsNone(level("-q"))
        self.assertEqual((level("-v"), level("-vv")), ("info", "debug"))
        self.assertEqual(level("-v", AITHERION_LOG_LEVEL="error"), "error")
        self.assertEqual(level("--log-level", "warning", AITHERION_LOG_LEVEL="error"), "warning")
        found = self.variables("-v", "--server", SERVER, AITHERION_LOG="debug")
        self.assertEqual((found.get("AITHERION_LOG"), found.get("AITHERION_LOG_LEVEL")), ("debug", None))

    def test_claims_on_the_gpus_time(self):
        def claim(*words, **changes):
            found = self.variables("--server", SERVER, *words, **changes)
            return found.get("AITHERION_SHARE"), found.get("AITHERION_PRIORITY")
        self.assertEqual(claim(), (None, None))
        self.assertEqual(claim("--share", "25"), ("25", None))
        self.assertEqual(claim("--cap", "--share=100"), ("100,cap", None))
        self.assertEqual(claim("--priority", "high", "--share", "1"), ("1", "high"))
        self.assertEqual(claim("--priority", "high", "--share", "25%"), ("25", "high"))
        self.assertEqual(claim("--share", "25", AITHERION_SHARE="50,cap", AITHERION_PRIORITY="low"), ("25", "low"))
        self.assertEqual([self.variables("--server", SERVER, *words).get("AITHERION_SM_SHARE") for words in ([], ["--sm-share", "25%"])],
                         [None, "25"])
        value, faults = harness.check_json(self.run_with("--dry-run", "--json", "--server", SERVER, "--share", "25", "--cap",
                                                         "--priority", "low", "x").stdout)
        environment = value["environment"]
        self.assertEqual((faults, environment["AITHERION_SHARE"], environment["AITHERION_PRIORITY"]), ([], "25,cap", "low"))

    def test_several_servers(self):
        """Several servers have a libcuda.so.1 of their own, before the one for one server, which lies beside
        libnvidia-ml.so.1.
        """
        libraries = os.path.realpath(os.path.join(harness.build(), "lib", "aitherion"))
        many = ",".join(f"h:{i + 1}" for i in range(16))
        for words, servers in ((["--server", f"{SERVER},/run/a/socket"], f"{SERVER},unix:/run/a/socket"),
                               (["--server", many], many)):
            found = self.variables(*words, "--key", self.key, LD_LIBRARY_PATH="/opt/lib")
            self.assertEqual((found["LD_LIBRARY_PATH"], found["AITHERION_SERVER"], found["AITHERION_KEY_FILE"]),
                             (f"{libraries}/several:{libraries}:/opt/lib", servers, self.key))
        self.assertEqual(self.variables(AITHERION_SERVER=f"{SERVER},h:1")["AITHERION_SERVER"], f"{SERVER},h:1")
        self.assertNotIn("several", self.variables("--server", SERVER)["LD_LIBRARY_PATH"])

    def test_what_cannot_be_switched_off(self):
        result = self.run_with("--server", SERVER, "true", AITHERION_DISABLE="caches,spining")
        self.assertEqual(result.returncode, 2)
        self.assertIn("AITHERION_DISABLE has 'spining'", result.stderr)
        self.assertIn("did you mean 'spinning'?", result.stderr)

    def test_flags_after_the_program_are_its_own(self):
        for words in (["printf", "%s,", "--json", "-h", "--server", "x", "--"], ["--", "printf", "%s,", "--json", "-h", "--server", "x", "--"]):
            result = self.run_with("--server", SERVER, *words)
            self.assertEqual((result.returncode, result.stdout), (0, "--json,-h,--server,x,--,"), result.stderr)

    def test_exit_codes(self):
        def code(*words):
            return self.run_with("--server", SERVER, *words).returncode

        self.assertEqual(code("sh", "-c", "exit 7"), 7)
        self.assertEqual(code("/nonexistent/program"), 127)
        self.assertEqual(code("/etc"), 126)
        self.assertEqual(code(), 2)
        self.assertEqual(code("--key", "/nonexistent/key", "true"), 125)
        killed = harness.run("run", "--server", SERVER, "sh", "-c", "kill -TERM $$", env=self.environment())
        self.assertEqual(killed.returncode, -15)  # no aitherion process stands between

    def compiled(self, name, *flags):
        """Compiles a program that exits with 0."""
        path = os.path.join(self.folder, name)
        made = subprocess.run([*os.environ.get("CC", "cc").split(), "-x", "c", "-", "-o", path, *flags], text=True, check=False,
                              input="int main(void) { return 0; }", stderr=subprocess.PIPE)
        if made.returncode:
            self.skipTest(f"the compiler cannot make a program with {flags}")
        return path

    def test_a_program_that_would_not_find_our_libraries(self):
        def warning(path, **changes):
            result = self.run_with("--server", SERVER, path, **changes)
            self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
            return result.stderr

        self.assertEqual(warning(self.compiled("plain")), "")
        self.assertEqual(warning("true"), "")
        self.assertEqual(warning("true", PATH=f"/nonexistent::{os.environ['PATH']}"), "")
        self.assertRegex(warning(self.compiled("static", "-static")), r"^aitherion: warning: '.*/static' is linked statically.*\n.*hint: ")
        with open(os.path.join(self.folder, "libcuda.so.1"), "wb"):
            pass
        for flags, is_warned in ((["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"], True),
                                 (["-Wl,--disable-new-dtags", f"-Wl,-rpath,/nonexistent:{self.folder}"], True),
                                 (["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/none"], False),
                                 (["-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN"], False)):
            self.assertEqual("its own libcuda.so.1 (RPATH)" in warning(self.compiled("rpath", *flags)), is_warned, flags)
        other = self.compiled("other")
        os.chmod(other, stat.S_ISUID | 0o755)
        self.assertEqual(warning(other), "")  # this user has these rights already
        if os.geteuid():
            self.skipTest("only root can make a program of another user")
        os.chown(other, 65534, 65534)
        os.chmod(other, stat.S_ISUID | 0o755)
        self.assertIn("gains privileges when it starts", warning(other))

    def test_a_32_bit_program(self):
        header = b"\x7fELF\x01\x01\x01".ljust(52, b"\0")
        path = os.path.join(self.folder, "small")
        with open(path, "wb") as file:
            file.write(header)
        os.chmod(path, 0o755)
        result = self.run_with("--server", SERVER, path)
        self.assertIn(result.returncode, (126, 127))  # enough of a header for the kernel
        self.assertIn("is a 32-bit program", result.stderr)

    def test_errors(self):
        for words, code, pattern in (
                (["--server", "nowhere", "true"], 2, "'nowhere' is no address with a port\n  hint: write 127"),
                (["--server", SERVER, "--numa", "0", "true"], 2, "'--server' and '--numa' exclude each other"),
                (["--numa", "x", "true"], 2, "'x' is not the id of a NUMA entry"),
                (["--numa", "3", "true"], 125, "no runtime of NUMA entry 3 runs here\n  hint: aitherion status\n"),
                (["--numa", "3,4", "true"], 125, "no runtime of NUMA entry 3 runs here\n"),
                (["--numa", "1,", "true"], 125, "no runtime of NUMA entry 1 runs here\n"),
                (["--numa", "all", "true"], 125, "no runtime runs here\n"),
                (["--server", f"{SERVER},{SERVER}", "true"], 2, f"invalid server: '{SERVER}' is named twice\n"),
                (["--server", "/run/a,unix:/run/a", "true"], 2, "'unix:/run/a' is named twice\n"),
                (["--server", f"{SERVER},", "true"], 2, "'' is no address with a port\n"),
                (["--server", ",".join(f"h:{i + 1}" for i in range(17)), "true"], 2, "more than 16 servers\n"),
                (["--server", f"/run/a,{SERVER}", "--transport", "shm", "true"], 2, f"'shm' needs the runtime's socket, not '{SERVER}'\n"),
                (["true"], 125, "no runtime runs here\n  hint: aitherion start, or --server HOST:PORT"),
                (["--server", SERVER, "--key", "/nonexistent/key", "true"], 125, "'/nonexistent/key'"),
                (["--server", SERVER, "--transport", "rdma", "true"], 2, "'rdma'"),
                (["--server", SERVER, "--cap", "true"], 2, "'--cap' needs '--share'.*\n  hint: --share 25 --cap\n"),
                (["--server", SERVER, "--share", "0", "true"], 2, "'0' is no share of the GPUs' time\n  hint: give a percentage"),
                (["--server", SERVER, "--share", "101", "true"], 2, "'101' is no share"),
                (["--server", SERVER, "--share", "25%%", "true"], 2, "'25%%' is no share"),
                (["--server", SERVER, "--priority", "urgent", "true"], 2, "'urgent'"),
                (["--server", SERVER, "/nonexistent/program"], 127, "cannot run '/nonexistent/program': No such file.*\n$")):
            with self.subTest(words):
                result = self.run_with(*words)
                self.assertEqual((result.returncode, result.stdout), (code, ""))
                self.assertRegex(result.stderr, r"^aitherion: .*" + pattern)

    def test_a_program_that_cannot_be_run(self):
        def file(name, text, mode):
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="ascii") as out:
                out.write(text)
            os.chmod(path, mode)
            return path

        file("ath-train.py", "", 0o644)
        file("ath-program", "#!/bin/sh\n", 0o755)
        for word, code, pattern in (
                ("ath-train.py", 127, r"put its interpreter in front \(python3 ath-train.py\), or use chmod \+x"),
                (os.path.join(self.folder, "ath-train.py"), 126, r"Permission denied\n  hint: .*put its interpreter in front \(python3 "),
                ("ath-program", 127, r"to run the file in this folder: ./ath-program\n"),
                (file("ath-lost", "#!/nonexistent/interpreter\n", 0o755), 126, "the interpreter or loader that it names"),
                (self.folder, 126, r"Permission denied\n$")):
            with self.subTest(word):
                result = harness.run("run", "--server", SERVER, word, env=self.environment(), cwd=self.folder)
                self.assertEqual((result.returncode, result.stdout), (code, ""))
                self.assertRegex(result.stderr, f"^aitherion: cannot run '{word}': .*\n?.*{pattern}")

    def test_wrong_environment_variables(self):
        for words, code, pattern, changes in (
                (["--server", SERVER], 2, "AITHERION_TRANSPORT is 'rdma'; it can be auto, shm, tcp or udp", {"AITHERION_TRANSPORT": "rdma"}),
                (["--server", SERVER], 2, "AITHERION_DISABLE has 'cachs', which .*\n  hint: did you mean 'caches'",
                 {"AITHERION_DISABLE": "stripes, cachs"}),
                (["--server", SERVER], 2, "AITHERION_LOG is 'foo'; it can be error, warning, info or debug", {"AITHERION_LOG": "foo"}),
                (["--server", SERVER], 2, "AITHERION_LOG_LEVEL is 'inf'; .*\n  hint: did you mean 'info'", {"AITHERION_LOG_LEVEL": "inf"}),
                (["--server", SERVER], 2, "AITHERION_CONNECT_TIMEOUT is 'soon'", {"AITHERION_CONNECT_TIMEOUT": "soon"}),
                (["--server", "/nonexistent/socket"], 125, "No such file or directory\n  hint: aitherion status\n",
                 {"AITHERION_CONNECT_TIMEOUT": "0.1"})):
            with self.subTest(pattern):
                result = self.run_with(*words, "--key", self.key, "true", **{"AITHERION_DISABLE": None, **changes})
                self.assertEqual((result.returncode, result.stdout), (code, ""))
                self.assertRegex(result.stderr, r"^aitherion: .*" + pattern)

    def test_a_long_wait_is_reported(self):
        environment = self.environment(AITHERION_DISABLE=None, AITHERION_CONNECT_TIMEOUT="3600")
        with subprocess.Popen([harness.binary(), "run", "--server", "/nonexistent/socket", "--key", self.key, "true"],
                              env=environment, stderr=subprocess.PIPE, text=True) as process:
            self.assertRegex(process.stderr.readline(), "^aitherion: .*: No such file or directory; trying again for 3600 s ")
            process.kill()

    def test_dry_run(self):
        result = self.run_with("--dry-run", "--server", SERVER, "--key", self.key, "echo", "it's so")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, rf"^env LD_LIBRARY_PATH=\S+ AITHERION_SERVER={SERVER} AITHERION_KEY_FILE=\S+ "
                                        r"echo 'it'\\''s so'\n$")
        self.assertEqual(harness.run(command=["sh", "-c", result.stdout]).stdout, "it's so\n")
        words = ["", "a b", "$HOME", "*", "-n", "a\\b", '"', "plain"]
        printed = self.run_with("--dry-run", "--server", SERVER, "printf", "<%s>", *words).stdout
        self.assertEqual(harness.run(command=["sh", "-c", printed]).stdout, "".join(f"<{word}>" for word in words))
        self.assertTrue(printed.endswith(" plain\n"), printed)
        value, faults = harness.check_json(self.run_with("--dry-run", "--json", "--server", SERVER, "--key", self.key, "x").stdout)
        self.assertEqual((faults, value["command"], value["environment"]["AITHERION_SERVER"]), ([], ["x"], SERVER))


if __name__ == "__main__":
    harness.main()
