#!/usr/bin/env python3
"""A real Docker Engine for tests, in a folder of its own and without a network: Debian's dockerd.

    engine.py run TEST.py...       starts an engine, runs each test with it, stops it

A test calls `shared()`, which returns the engine that `engine.py run` started, or otherwise starts a new one. At the end the
daemon, its containerd and its mounts are gone, whatever happened.
"""
import atexit
import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import harness  # noqa: E402
import nodes  # noqa: E402

VARIABLE = "AITHERION_TEST_ENGINE"
BUSYBOX = "/bin/busybox"
_shared = None


def why_not():
    """Returns why no daemon can be started here, or None."""
    if os.geteuid() != 0:
        return "only root can start dockerd"
    if not shutil.which("dockerd"):
        return "no dockerd (package docker.io)"
    if not os.access(BUSYBOX, os.X_OK):
        return f"no {BUSYBOX} to make an image of (package busybox-static)"
    return None


def _processes_of(folder):
    """Returns the ids of processes whose command line names our folder: dockerd, containerd, its shims."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if any(word.endswith(folder.encode()) or (folder + "/").encode() in word for word in words[1:]):
            found.append(int(name))
    return found


def _mounts_below(folder):
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        points = [line.split()[4].replace("\\040", " ") for line in file]
    return sorted((point for point in points if point.startswith(folder + "/")), key=len, reverse=True)


class Engine:
    """
    A daemon in a folder; without one it makes a folder. An isolated daemon has its own network namespace, in which it may make
    bridges; the ports of its containers are in that namespace too.
    """

    def __init__(self, folder=None, isolated=False):
        self.isolated = isolated
        # containerd limits the length of its sockets' paths.
        self.folder = folder or tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.socket = os.path.join(self.folder, "d.sock")
        self.host = "unix://" + self.socket
        self.pid_file = os.path.join(self.folder, "d.pid")
        self.log = os.path.join(self.folder, "log")
        self.process = None

    @property
    def pid(self):
        with open(self.pid_file, encoding="ascii") as file:
            return int(file.read())

    def answers(self):
        import socket
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(harness.PATIENCE_S)
            try:
                one.connect(self.socket)
                one.sendall(b"GET /_ping HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n")
                return one.recv(4096).startswith(b"HTTP/1.1 200")
            except OSError:
                return False

    def start(self, wait=True):
        # The files that a killed daemon leaves behind prevent the next start.
        if os.path.exists(self.pid_file):
            os.remove(self.pid_file)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*(["unshare", "--net"] if self.isolated else []), "dockerd", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none",
                 "--host=" + self.host, f"--data-root={self.folder}/data", f"--exec-root={self.folder}/exec",
                 f"--pidfile={self.pid_file}", "--shutdown-timeout=5", "--debug"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={"PATH": os.environ["PATH"], "HOME": self.folder})
        end = time.monotonic() + harness.PATIENCE_S
        while wait and not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("dockerd does not start: " + self.last_words())
            time.sleep(0.1)
        return self

    def was_asked(self, pattern, since=0):
        """Waits until a request in the log, from offset `since` on, matches a pattern ("POST /v1.41/images/load")."""
        def found():
            with open(self.log, "rb") as file:
                file.seek(since)
                return re.search(rf"Calling {pattern}", file.read().decode(errors="replace"))
        return harness.wait_until(found)

    def last_words(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return " | ".join(file.read().strip().splitlines()[-3:])

    def signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        """Kills the daemon. Its containers stay. Its containerd ends a second later, and a daemon started before that would take
        the old containerd for a running one."""
        containerd = os.path.join(self.folder, "exec", "containerd", "containerd.pid")
        with open(containerd, encoding="ascii") as file:
            pids = [self.pid, int(file.read())]
        os.kill(pids[0], signal.SIGKILL)
        if self.process:
            self.process.wait()
        harness.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
        os.remove(containerd)

    def tasks(self):
        """Returns {container id: [names of its processes]} of all tasks that containerd's shims keep, whatever dockerd thinks."""
        found = {}
        for pid in _processes_of(self.folder):
            with contextlib.suppress(OSError):  # it has ended
                with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                    words = file.read().split("\0")
                if "-id" in words and "delete" not in words:  # containerd's own clean-up
                    found[words[words.index("-id") + 1]] = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
                    groups = file.read()
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    name = file.read().strip()
                for task, names in found.items():
                    if task in groups and nodes.is_alive(int(pid)):
                        names.append(name)
        return found

    def kill_when_containerd_has(self, name):
        """Kills the daemon as soon as the folder of one of containerd's tasks has a file, or itself is there (".")."""
        folder = os.path.join(self.folder, "exec/containerd/daemon/io.containerd.runtime.v2.task/moby")
        before = set(os.listdir(folder)) if os.path.isdir(folder) else set()

        def has_come():
            with contextlib.suppress(FileNotFoundError):
                return any(os.path.exists(os.path.join(folder, task, name)) for task in set(os.listdir(folder)) - before)
        end = time.monotonic() + harness.PATIENCE_S
        while not has_come() and time.monotonic() < end:
            pass
        self.kill()

    def run_task(self, task):
        """Starts the program of a task that was only made, as dockerd was about to do when it was killed."""
        subprocess.run(["runc", "--root", self.folder + "/exec/runtime-runc/moby", "start", task], check=True)

    def stop(self):
        """Ends the daemon and its containers, and removes its mounts and its folder."""
        try:
            os.kill(self.pid, signal.SIGCONT)
            os.kill(self.pid, signal.SIGTERM)
        except (OSError, ValueError):
            pass
        end = time.monotonic() + harness.PATIENCE_S
        while _processes_of(self.folder) and time.monotonic() < end:
            if self.process:
                self.process.poll()
            if not os.path.exists(self.pid_file):
                break
            time.sleep(0.1)
        for pid in _processes_of(self.folder):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        if self.process:
            self.process.wait()
        for point in _mounts_below(self.folder):
            subprocess.run(["umount", "-l", point], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def _end_tidily(*_):
    sys.exit(143)


def shared():
    """Returns the engine of this run, which answers; raises SkipTest if none can be started."""
    global _shared
    reason = why_not()
    if reason:
        raise unittest.SkipTest(reason)
    if _shared:
        return _shared
    folder = os.environ.get(VARIABLE)
    if folder:
        _shared = Engine(folder)
    else:
        signal.signal(signal.SIGTERM, _end_tidily)
        _shared = Engine()
        atexit.register(_shared.stop)
        _shared.start()
    return _shared


# ---- images, made here ----

ARCHITECTURES = {"x86_64": "amd64", "ppc64le": "ppc64le", "aarch64": "arm64"}
APPLETS = ("sh", "sleep", "cat", "echo", "true", "false", "seq", "grep", "ls", "id", "ip", "tty", "ulimit")


def _entry(archive, name, data=b"", kind=tarfile.REGTYPE, target="", mode=0o644):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.size, entry.mode = kind, target, len(data), mode
    archive.addfile(entry, io.BytesIO(data))


def make_image(path, name, labels=None, padding=0):
    """Writes an archive like `docker save`: busybox and `padding` random bytes. Returns its size."""
    layer_bytes = io.BytesIO()
    with tarfile.open(fileobj=layer_bytes, mode="w") as layer:
        with open(BUSYBOX, "rb") as file:
            _entry(layer, "bin/busybox", file.read(), mode=0o755)
        for applet in APPLETS:
            _entry(layer, "bin/" + applet, kind=tarfile.SYMTYPE, target="busybox")
        if padding:
            _entry(layer, "padding", os.urandom(padding))
    layer_data = layer_bytes.getvalue()
    configuration = json.dumps({
        "architecture": ARCHITECTURES.get(os.uname().machine, os.uname().machine), "os": "linux",
        "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"], "Labels": labels or {}},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer_data).hexdigest()]},
        "history": [{"created_by": "a test of aitherion"}]}).encode()
    digest = hashlib.sha256(configuration).hexdigest()
    with tarfile.open(path, "w") as archive:
        _entry(archive, "layer.tar", layer_data)
        _entry(archive, digest + ".json", configuration)
        _entry(archive, "manifest.json", json.dumps(
            [{"Config": digest + ".json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())
    return os.path.getsize(path)


# ---- the client under test ----

def steps_program():
    path = os.path.join(harness.build(), "tests", "tools", "docker_steps")
    if not os.access(path, os.X_OK):
        sys.exit("no docker_steps to test with: make check TESTS=")
    return path


def begin(host, *words, env=None, **options):
    """Starts docker_steps; see tests/tools/docker_steps.c."""
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen([steps_program(), *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            env=harness.environment(DOCKER_HOST=host, **(env or {})), **options)


def finish(process):
    """Returns (exit code, the JSON object of each line of output)."""
    try:
        output, errors = process.communicate(timeout=2 * harness.PATIENCE_S)  # longer than the program's own limit
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    if errors or process.returncode not in (0, 1):
        raise AssertionError(f"docker_steps: exit code {process.returncode}: {errors}")
    return process.returncode, [json.loads(line) for line in output.splitlines()]


def steps(host, *words, env=None, **options):
    return finish(begin(host, *words, env=env, **options))


def main():
    if len(sys.argv) < 3 or sys.argv[1] != "run":
        sys.exit(__doc__)
    harness.isolate()
    signal.signal(signal.SIGTERM, _end_tidily)
    env, engine, status = dict(os.environ), None, 0
    if not why_not():
        engine = Engine()
        env[VARIABLE] = engine.folder
    try:
        if engine:
            engine.start()
        for test in sys.argv[2:]:
            print(f"== {test}", flush=True)
            code = subprocess.run([sys.executable, "-B", test], env=env, check=False).returncode
            status = status or (code if code != 77 else 0)
    finally:
        if engine:
            engine.stop()
    sys.exit(status)


if __name__ == "__main__":
    main()
