#!/usr/bin/env python3
"""`aitherion image build` without Docker: the archive's contents, compared with ldd and tarfile; programs that cannot be
packed.
"""
import functools
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import unittest

import cli
import harness

NOWHERE = "unix:///nonexistent/docker.sock"
ONLY_HERE = unittest.skipUnless(harness.copies_alone(), "the build runs in an emulator with libraries of its own, which ldd does not know")


def runtime():
    path = os.path.join(harness.build(), "aitherion-runtime")
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest("no aitherion-runtime beside aitherion")
    return path


def run(*words, **options):
    return harness.run("image", "build", *words, env=harness.environment(DOCKER_HOST=NOWHERE), **options)


def failure(*words, **options):
    result = run(*words, "--json", **options)
    return json.loads(result.stderr) if result.returncode == 1 else {"code": result.returncode}


def place(name):
    return os.path.join(harness.scratch(), name)


def ldd(program):
    """Returns {name: path} of the libraries and the loader (by its path) that ldd lists; None for a static program."""
    said = subprocess.run(["ldd", program], env=harness.environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    if said.returncode:
        return None
    found = dict(re.findall(r"^\t(\S+) => (\S+) \(", said.stdout, re.MULTILINE))
    for path in re.findall(r"^\t(/\S+) \(", said.stdout, re.MULTILINE):
        found[path] = path
    return found


@functools.lru_cache(maxsize=None)
def compiler():
    path = shutil.which("gcc") or shutil.which("clang")
    if not path:
        raise unittest.SkipTest("no C compiler to make programs with")
    return path


def compile_c(output, text, *arguments):
    os.makedirs(os.path.dirname(output), exist_ok=True)
    source = place("source.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    subprocess.run([compiler(), source, "-o", output, *arguments], check=True)


def run_in(folder, *command):
    """Runs a program in a root of its own. Returns (exit code, output)."""
    said = subprocess.run(command, env={}, cwd=folder, preexec_fn=lambda: os.chroot(folder), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return said.returncode, said.stdout


class Archive:
    """A parsed archive."""

    def __init__(self, *words):
        self.path = place("archive.tar")
        result = run("-o", self.path, "--json", *words)
        if result.returncode:
            raise AssertionError(result.stderr)
        self.report, self.faults = harness.check_json(result.stdout)
        with open(self.path, "rb") as file:
            self.bytes = file.read()
        self.outer = tarfile.open(fileobj=io.BytesIO(self.bytes))
        self.manifest = json.load(self.outer.extractfile("manifest.json"))
        self.configuration_bytes = self.outer.extractfile(self.manifest[0]["Config"]).read()
        self.configuration = json.loads(self.configuration_bytes)
        self.layer_bytes = self.outer.extractfile(self.manifest[0]["Layers"][0]).read()
        self.layer = tarfile.open(fileobj=io.BytesIO(self.layer_bytes))

    def real(self, path):
        """Returns the name in the layer that a path leads to, through the links of a merged /usr."""
        first, _, rest = path.lstrip("/").partition("/")
        member = self.layer.getmember(first)
        return f"{member.linkname}/{rest}" if member.issym() else f"{first}/{rest}"


class Form(unittest.TestCase):
    def setUp(self):
        runtime()

    def test_digests(self):
        archive = Archive()
        self.assertEqual(archive.faults, [])
        digest = hashlib.sha256(archive.configuration_bytes).hexdigest()
        self.assertEqual(archive.manifest, [{"Config": digest + ".json", "Layers": ["layer.tar"],
                                             "RepoTags": ["aitherion-runtime:latest"]}])
        self.assertEqual(archive.report["id"], "sha256:" + digest)
        self.assertEqual(archive.configuration["rootfs"], {
            "type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(archive.layer_bytes).hexdigest()]})
        self.assertEqual(archive.report["archive_bytes"], len(archive.bytes))
        del archive.configuration["config"]["Labels"]["aitherion.build-id"]
        unnamed = json.dumps(archive.configuration, separators=(",", ":"), sort_keys=True)
        self.assertEqual(archive.report["build_id"], hashlib.sha256(unnamed.encode()).hexdigest())

    def test_the_packing_user_leaves_no_trace(self):
        archive = Archive()
        for tar in archive.outer, archive.layer:
            for member in tar.getmembers():
                self.assertEqual((member.uid, member.gid, member.mtime, member.uname, member.gname), (0, 0, 0, "", ""))
                self.assertFalse(member.mode & 0o6000, member.name)
        home = place("elsewhere")
        os.makedirs(home, exist_ok=True)
        copy = os.path.join(home, "aitherion-runtime")
        shutil.copyfile(runtime(), copy)  # without its mode and times
        self.assertEqual(Archive("--runtime", copy).bytes, Archive("--runtime", runtime()).bytes)

    def test_the_simulator_is_in_it(self):
        paths = [file["path"] for file in Archive().report["files"]]
        self.assertEqual([path for path in paths if "/sim/" in path],
                         ["/usr/lib/aitherion/sim/libcuda.so.1", "/usr/lib/aitherion/sim/libnvidia-ml.so.1"])

    def test_a_changed_file_is_another_image(self):
        copy = place("changed-runtime")
        shutil.copyfile(runtime(), copy)
        with open(copy, "ab") as file:
            file.write(b"x")
        self.assertNotEqual(Archive("--runtime", copy).report["id"], Archive().report["id"])

    def test_names(self):
        for given, wanted in (("a", "a:latest"), ("a:1", "a:1"), ("host:5000/a", "host:5000/a:latest"),
                              ("host:5000/b/a:2", "host:5000/b/a:2")):
            self.assertEqual(Archive("--tag", given).manifest[0]["RepoTags"], [wanted])

    def test_a_minimal_system(self):
        archive = Archive()
        members = {member.name: member for member in archive.layer.getmembers()}
        for name in "dev", "etc", "proc", "run", "sys", "tmp":
            self.assertTrue(members[name].isdir(), name)
        self.assertEqual(members["tmp"].mode, 0o1777)
        for name, text in (("etc/passwd", b"root:x:0:0:"), ("etc/group", b"root:x:0:"), ("etc/hosts", b"127.0.0.1"),
                           ("etc/nsswitch.conf", b"hosts: files dns")):
            self.assertIn(text, archive.layer.extractfile(name).read())
        names = list(members)
        self.assertEqual(len(names), len(archive.layer.getmembers()), "something is there twice")
        for name in names:  # folders come before the files in them, and no file is stored behind a link
            parent = os.path.dirname(name)
            self.assertTrue(not parent or (members[parent].isdir() and names.index(parent) < names.index(name)), name)


# Libraries that a program loads late, or that the C library loads.
NAMED_LATE = {"libgcc_s.so.1", "libnss_dns.so.2", "libnss_files.so.2", "libjansson.so.4", "libgnutls.so.30", "libmicrohttpd.so.12", "libcrypt.so.1"}


class Libraries(unittest.TestCase):
    """The image holds the libraries that the dynamic linker would load, as ldd (which runs it) lists them."""

    def compare(self, program):
        wanted = ldd(program)
        archive = Archive("--runtime", program)
        packed = {os.path.basename(file["path"]): file for file in archive.report["files"][1:]}
        if wanted is None:
            self.assertEqual(packed, {})
            return archive
        for name, path in wanted.items():
            file = packed.get(os.path.basename(name))
            self.assertIsNotNone(file, f"{program}: {name} is not packed")
            self.assertTrue(os.path.samefile(file["source"], path), f"{program}: {name}: {file['source']}, not {path}")
            with open(path, "rb") as source:
                self.assertEqual(archive.layer.extractfile(archive.real(file["path"])).read(), source.read())
            if name.startswith("/"):
                self.assertEqual(archive.real(name), file["path"].lstrip("/"), "the loader is not where the program looks for it")
        folders = {os.path.dirname(file["path"]) for name, file in packed.items() if name not in map(os.path.basename, [
            name for name in wanted if name.startswith("/")])}
        self.assertEqual(len(folders), 1, folders)
        late = set(packed) - set(map(os.path.basename, wanted))
        of_tls = {name for name in late if packed[name]["needed_by"] and name not in NAMED_LATE}
        self.assertLessEqual(late - of_tls, NAMED_LATE)
        if of_tls:  # what GnuTLS itself needs
            self.assertLessEqual(of_tls, {os.path.basename(path) for path in ldd(packed["libgnutls.so.30"]["source"]).values()})
        return archive

    @ONLY_HERE
    def test_the_runtime(self):
        archive = self.compare(runtime())
        files = archive.report["files"]
        self.assertEqual((files[0]["path"], files[0]["needed_by"]), ("/usr/bin/aitherion-runtime", None))
        self.assertEqual(archive.configuration["config"]["Entrypoint"], ["/usr/bin/aitherion-runtime"])

    def test_libraries_loaded_late(self):
        """The runtime's notes name jansson for `health --json`, and the GPU's driver, which is never packed."""
        report = Archive().report
        self.assertIn("libjansson.so.4", [os.path.basename(file["path"]) for file in report["files"]])
        self.assertIn("libcuda.so.1", report["from_host"])

    def test_other_programs(self):
        """Programs of this machine, if they exist; each needs other libraries."""
        programs = [path for path in map(shutil.which, ("bash", "tar", "curl", "gcc", "tmux", "git", "dockerd", "busybox"))
                    if path]
        self.assertGreater(len(programs), 2)
        compared = 0
        for program in programs:
            with open(program, "rb") as file:
                if file.read(5) != b"\x7fELF\x02":
                    continue  # a script
            with self.subTest(program):
                self.compare(program)
                compared += 1
        self.assertGreater(compared, 1)

    @ONLY_HERE
    def test_it_runs_alone(self):
        """Runs it in a folder that contains only the image."""
        if os.geteuid():
            self.skipTest("only root can run a program in a root of its own")
        if os.environ.get("AITHERION_SANITIZED") == "1":
            self.skipTest("the sanitizers need /proc")
        folder = place("root")
        shutil.rmtree(folder, ignore_errors=True)
        archive = Archive()
        archive.layer.extractall(folder)
        self.assertEqual(run_in(folder, "/usr/bin/aitherion-runtime", "--version"),
                         (0, f"aitherion-runtime {archive.report['version']}\n"))

    def test_libraries_of_its_own_folder(self):
        """Libraries found by $ORIGIN are packed into the folder that the linker searches without it, and found there."""
        home = place("own")
        program, library = os.path.join(home, "bin", "program"), os.path.join(home, "lib", "libown.so.1")
        compile_c(library, "int own(void) { return 7; }", "-shared", "-fPIC", "-Wl,-soname,libown.so.1")
        compile_c(program, "int own(void); int main(void) { return own(); }", library, "-Wl,-rpath,$ORIGIN/../lib")
        archive = self.compare(program)
        if not os.geteuid():
            folder = place("own-root")
            shutil.rmtree(folder, ignore_errors=True)
            archive.layer.extractall(folder)
            self.assertEqual(run_in(folder, "/usr/bin/aitherion-runtime"), (7, ""))
        os.remove(library)
        error = failure("--runtime", program, "-o", place("x.tar"))
        self.assertEqual(error["code"], "library-missing")
        self.assertIn("'libown.so.1'", error["message"])
        self.assertIn("'program'", error["message"])
        self.assertFalse(os.path.exists(place("x.tar")))

    def test_the_driver_is_left_out(self):
        home = place("driver")
        library, program = os.path.join(home, "libcuda.so.1"), os.path.join(home, "program")
        compile_c(library, "int cuInit(unsigned flags) { return flags != 0; }", "-shared", "-fPIC",
                  "-Wl,-soname,libcuda.so.1")
        compile_c(program, "int cuInit(unsigned); int main(void) { return cuInit(0); }", library, "-Wl,-rpath," + home)
        report = Archive("--runtime", program).report
        self.assertEqual(report["from_host"], ["libcuda.so.1"])
        self.assertNotIn("libcuda.so.1", [os.path.basename(file["path"]) for file in report["files"]])

    def test_the_callers_library_path_is_ignored(self):
        """The contents do not depend on the user's environment."""
        library = os.path.join(place("path"), "libgcc_s.so.1")
        compile_c(library, "int x;", "-shared", "-fPIC", "-Wl,-soname,libgcc_s.so.1")
        result = harness.run("image", "build", "--json", "--dry-run", "-o", "x", env=harness.environment(
            LD_LIBRARY_PATH=os.path.dirname(library), DOCKER_HOST=NOWHERE))
        self.assertEqual(json.loads(result.stdout)["id"], Archive().report["id"])

    def test_another_root(self):
        """For another architecture or another system: libraries come from --sysroot, the program from its own path."""
        root = place("sysroot")
        shutil.rmtree(root, ignore_errors=True)
        Archive().layer.extractall(root)
        files = Archive("--sysroot", root).report["files"]
        self.assertTrue(all(os.path.exists(root + file["source"]) for file in files[1:]))
        self.assertEqual(failure("--sysroot", place("none"), "-o", place("x.tar"))["code"], "not-found")
        os.makedirs(place("bare"), exist_ok=True)
        self.assertEqual(failure("--sysroot", place("bare"), "-o", place("x.tar"))["code"], "library-missing")


class Foreign(unittest.TestCase):
    """An image for POWER made on this machine, from a cross compiler's programs and libraries."""

    def test_it_runs_emulated(self):
        gcc, sysroot = shutil.which("powerpc64le-linux-gnu-gcc"), "/usr/powerpc64le-linux-gnu"
        emulator = shutil.which("qemu-ppc64le-static")
        if not gcc or not os.path.isdir(sysroot):
            self.skipTest("no cross compiler (packages gcc-powerpc64le-linux-gnu, libc6-dev-ppc64el-cross)")
        source, program = place("foreign.c"), place("foreign")
        with open(source, "w", encoding="ascii") as file:
            file.write("#include <math.h>\nint main(int n, char **v) { return (int)(cos(n - 1) * 7); }\n")
        subprocess.run([gcc, source, "-o", program, "-lm"], check=True)
        archive = Archive("--runtime", program, "--sysroot", sysroot)
        self.assertEqual(archive.configuration["architecture"], "ppc64le")
        self.assertIn("libm.so.6", [os.path.basename(file["path"]) for file in archive.report["files"]])
        if not emulator or os.geteuid():
            self.skipTest("packed, but not run: needs root and qemu-ppc64le-static (package qemu-user-static)")
        folder = place("foreign-root")
        archive.layer.extractall(folder)
        shutil.copy(emulator, os.path.join(folder, "emulator"))
        self.assertEqual(run_in(folder, "/emulator", "/usr/bin/aitherion-runtime"), (7, ""))


class Refusals(unittest.TestCase):
    def write(self, name, data):
        with open(place(name), "wb") as file:
            file.write(data)
        return place(name)

    @ONLY_HERE
    def test_files_that_are_not_programs(self):
        with open(harness.binary(), "rb") as file:
            whole = file.read()
        library = next(path for name, path in ldd(harness.binary()).items() if name.startswith("libyaml"))
        folder = place("folder")
        os.makedirs(folder, exist_ok=True)
        os.mkfifo(place("fifo"))
        self.addCleanup(os.remove, place("fifo"))
        for path in (self.write("empty", b""), self.write("script", b"#!/bin/sh\n" * 100), self.write("cut", whole[:3000]),
                     self.write("32", whole[:4] + b"\1" + whole[5:]), library, folder,
                     place("fifo")):
            error = failure("--runtime", path, "-o", place("x.tar"))
            self.assertEqual(error["code"], "binary-invalid", (path, error))
            self.assertIn(path, error["message"])

    def test_a_name_with_capitals(self):
        """Docker refuses capitals in the repository, but not in the host or the tag."""
        runtime()
        for name in ("UPPER", "some/Where:1", "my.host/A:b"):
            result = run("--tag", name, "-o", place("x.tar"), "--json")
            self.assertEqual(result.returncode, 2, name)
            self.assertEqual(json.loads(result.stderr)["hint"].split()[-1], name.lower())
        self.assertFalse(os.path.exists(place("x.tar")))
        for name in ("lower:LATEST", "my.Host:5000/a:B"):
            self.assertEqual(run("--tag", name, "-o", place("y.tar"), "--json", "--dry-run").returncode, 0, name)

    def test_packing_another_program_warns(self):
        runtime()
        said = "does not look like aitherion-runtime"
        self.assertIn(said, run("--runtime", "/bin/ls", "-o", place("y.tar")).stderr)
        self.assertNotIn(said, run("-o", place("y.tar")).stderr)

    @ONLY_HERE
    def test_no_runtime(self):
        self.assertEqual(failure("--runtime", "/nonexistent/runtime", "-o", place("x.tar"))["code"], "not-found")
        alone = place("alone")
        os.makedirs(alone, exist_ok=True)
        binary = os.path.join(alone, "aitherion")
        shutil.copy(harness.binary(), binary)
        result = harness.run(command=[binary, "image", "build", "--json", "-o", place("x.tar")])
        error = json.loads(result.stderr)
        self.assertEqual(error["code"], "not-found")
        self.assertIn("--runtime", error["hint"])

    @ONLY_HERE
    def test_beside_and_below(self):
        """The runtime is found beside aitherion, and in libexec of a moved installation."""
        for program in "bin/aitherion-runtime", "libexec/aitherion/aitherion-runtime":
            home = place("moved")
            shutil.rmtree(home, ignore_errors=True)
            for path in "bin", "libexec/aitherion":
                os.makedirs(os.path.join(home, path))
            shutil.copy(harness.binary(), os.path.join(home, "bin", "aitherion"))
            shutil.copy(runtime(), os.path.join(home, program))
            result = harness.run(command=[os.path.join(home, "bin", "aitherion"), "image", "build", "--json", "--dry-run",
                                          "-o", "x"])
            self.assertEqual(os.path.realpath(json.loads(result.stdout)["files"][0]["source"]),
                             os.path.realpath(os.path.join(home, program)))

    def test_options(self):
        for words in (("--tag", "a b"), ("--tag", ""), ("--tag", "a@sha256:00"), ("-o", "-", "--json")):
            result = run(*words)
            self.assertEqual(result.returncode, 2, words)
        code, output = cli.run_on_terminal("image", "build", "-o", "-")
        self.assertEqual(code, 2)
        self.assertIn("terminal", output)

    def test_no_docker(self):
        runtime()
        self.assertEqual(failure()["code"], "engine-unreachable")

    def test_a_document_with_faults(self):
        path = self.write("faulty.yaml", b"schema: aitherion.topology/1\nengine: { kind: 7 }\n")
        self.assertEqual(failure("-c", path, "-o", place("x.tar"))["code"], "document-invalid")
        self.assertEqual(failure("-c", place("none.yaml"), "-o", place("x.tar"))["code"], "document-missing")


class Places(unittest.TestCase):
    def setUp(self):
        runtime()

    def test_standard_output(self):
        wanted = Archive().bytes
        result = subprocess.run([harness.binary(), "image", "build", "-o", "-"], env=harness.environment(),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, wanted))

    def test_a_full_disk(self):
        self.assertEqual(failure("-o", "/dev/full")["code"], "no-space")
        self.assertEqual(failure("-o", place("none/x.tar"))["code"], "not-found")

    def test_a_failed_write_keeps_the_old_archive(self):
        if not shutil.which("prlimit"):
            self.skipTest("no prlimit (package util-linux)")
        path = place("kept.tar")
        with open(path, "wb") as file:
            file.write(b"old")
        command = ["prlimit", "--fsize=100000", harness.binary(), "image", "build", "-q", "-o", path]
        result = harness.run(command=["sh", "-c", 'trap "" XFSZ; exec "$@"', "sh", *command])
        self.assertEqual(result.returncode, 1, result.stdout)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"old")
        self.assertEqual([name for name in os.listdir(harness.scratch()) if "kept" in name], ["kept.tar"])

    def test_a_dry_run_writes_nothing(self):
        result = run("--dry-run", "-o", place("never.tar"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("would write", result.stdout)
        self.assertFalse(os.path.exists(place("never.tar")))

    def test_a_bar_on_a_terminal(self):
        # The report is longer than the screen: a pager would wait for a key.
        env = harness.environment(TERM="xterm-256color", PAGER="cat")
        code, output = cli.run_on_terminal("image", "build", "-o", place("bar.tar"), env=env)
        self.assertEqual(code, 0)
        self.assertIn("] 100 %", output)
        self.assertIn("\033[K", output)
        lines = run("-o", place("bar.tar")).stderr.splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertEqual(run("-q", "-o", place("bar.tar")).stderr, "")


if __name__ == "__main__":
    harness.main()
