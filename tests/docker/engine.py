#!/usr/bin/env python3
"""A real Docker Engine for tests, in a folder of its own and without a network: Debian's dockerd.

    engine.py run TEST.py...       starts one, runs each test with it, stops it

A test asks for `shared()`: the one that `engine.py run` started, or else one of its own. Whatever happens, the daemon, its
containerd and what they mounted are gone at the end.
"""
import atexit
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

VARIABLE = "AITHERION_TEST_ENGINE"
BUSYBOX = "/bin/busybox"
_shared = None


def why_not():
    """Why no daemon can be started here; None where it can."""
    if os.geteuid() != 0:
        return "only root can start dockerd"
    if not shutil.which("dockerd"):
        return "no dockerd (package docker.io)"
    if not os.access(BUSYBOX, os.X_OK):
        return f"no {BUSYBOX} to make an image of (package busybox-static)"
    return None


def _processes_of(folder):
    """Ids of the processes whose command line names our folder: dockerd, containerd, its shims."""
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
    A daemon in a folder; a new one where none is given. An isolated one has a network namespace of its own, where it may make
    bridges; the ports of its containers are there too.
    """

    def __init__(self, folder=None, isolated=False):
        self.isolated = isolated
        # The paths of containerd's sockets must be short.
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
        # What a killed daemon leaves behind keeps the next from starting.
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
        """Waits until it has been asked what a pattern finds ("POST /v1.41/images/load"), behind a place in its log."""
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
        """The daemon dies at once. Its containers stay; its containerd goes with it, a second later, and a new daemon that
        is started meanwhile would take the old one for alive."""
        containerd = os.path.join(self.folder, "exec", "containerd", "containerd.pid")
        with open(containerd, encoding="ascii") as file:
            pids = [self.pid, int(file.read())]
        os.kill(pids[0], signal.SIGKILL)
        if self.process:
            self.process.wait()
        harness.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
        os.remove(containerd)

    def stop(self):
        """Ends what was started here and frees what it held; the folder is gone afterwards."""
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
    """The engine that this run shares, answering; raises SkipTest where there can be none."""
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
    """Writes an archive as `docker save` does: busybox, and so many random bytes beside it. Returns its size."""
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
    path = os.path.join(os.path.dirname(harness.binary()), "tests", "tools", "docker_steps")
    if not os.access(path, os.X_OK):
        sys.exit("no docker_steps to test with: make check TESTS=")
    return path


def begin(host, *words, env=None, **options):
    """Starts docker_steps; see tests/tools/docker_steps.c."""
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen([steps_program(), *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            env=harness.environment(DOCKER_HOST=host, **(env or {})), **options)


def finish(process):
    """(exit code, [what each line of its output says])."""
    try:
        output, errors = process.communicate(timeout=2 * harness.PATIENCE_S)  # beyond its own
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
