"""What the tests of the menus share: the menus in a tmux window of a given size, keys typed, screens read.

tmux is a real terminal emulator, so a screen is what a person would see. Times are waited for by looking, never by
sleeping a fixed while: a screen counts once it has stayed the same for a moment.
"""
import atexit
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "tools"), os.path.join(os.path.dirname(HERE), "cli")]

import cli  # noqa: E402,F401
import harness  # noqa: E402

STILL_S = 0.06
ANSWER_S = 1.5  # a key that changes nothing is waited for as long
PATIENCE_S = 20
DOCUMENT = os.path.join(harness.SOURCE, "etc", "ac922_topology.yaml")
_socket = f"aitherion-test-{os.getpid()}"


def _tmux(*args, check=True):
    command = ["tmux", "-u", "-L", _socket, "-f", "/dev/null", *args]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", check=False,
                            env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "TMUX_TMPDIR": harness.scratch()})
    if check and result.returncode:
        raise AssertionError(f"{' '.join(command)}: {result.stderr}")
    return result.stdout


def needs_tmux(test):
    return unittest.skipUnless(shutil.which("tmux"), "no tmux (package tmux)")(test)


class Menus:
    """The menus in a window. document: text of the document, None for none."""
    count = 0

    def __init__(self, *args, size=(80, 24), env=None, document="", root="ac922-4gpu"):
        if not Menus.count:
            _tmux("new-session", "-d", "-s", "base", "sleep 100000")  # a server without sessions ends
            atexit.register(_end)  # now, so that it runs before the scratch folder with its socket is gone
        Menus.count += 1
        self.name = f"m{Menus.count}"
        self.folder = tempfile.mkdtemp(dir=harness.scratch())
        self.path = os.path.join(self.folder, "topology.yaml")
        if document is not None:
            with open(DOCUMENT, encoding="utf-8") as file:
                text = document or file.read()
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(text)
        words = list(args) or ["menu"]
        if root:  # by a name that is the same everywhere: commands on screens have it
            os.symlink(harness.capture(root), os.path.join(self.folder, os.path.basename(root)))
            root = os.path.basename(root)
        words += ["-c", "topology.yaml"] + (["--root", root] if root else [])
        inside = harness.environment(TERM="screen-256color", COLUMNS=None, **(env or {}))
        given = " ".join(shlex.quote(f"{name}={value}") for name, value in inside.items())
        program = " ".join(shlex.quote(word) for word in [harness.binary(), *words])
        # The shell stays, to tell the exit code and to be the terminal that is looked at afterwards.
        line = f"cd {shlex.quote(self.folder)}; env -i {given} {program}; echo exit code $?; exec sleep 1000"
        _tmux("new-session", "-d", "-s", self.name, "-x", str(size[0]), "-y", str(size[1]), line)
        _tmux("set-option", "-t", self.name, "window-size", "manual", check=False)
        self.wait()

    def text(self):
        """The file as it is."""
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def screen(self):
        return "\n".join(line.rstrip() for line in _tmux("capture-pane", "-p", "-t", self.name).split("\n")).rstrip("\n") + "\n"

    def _state(self):
        """The screen with its attributes and the cursor: any change of it counts."""
        return _tmux("capture-pane", "-p", "-e", "-t", self.name, ";",
                     "display-message", "-p", "-t", self.name, "#{cursor_x} #{cursor_y} #{cursor_flag}")

    def wait(self, text=None, before=None, wanted=None):
        """The screen once it is still, holds text and is as wanted(screen) wants it. before: a state that is to change
        first, within a while."""
        begin, last, since = time.monotonic(), None, 0
        while time.monotonic() - begin < PATIENCE_S:
            now, time_now = self._state(), time.monotonic()
            if now != last:
                last, since = now, time_now
            is_new = before is None or now != before or time_now - begin > ANSWER_S
            if is_new and time_now - since > STILL_S and len(now.split()) > 3:
                screen = self.screen()
                if (text is None or text in screen) and (wanted is None or wanted(screen)):
                    return screen
            time.sleep(0.02)
        raise AssertionError(f"'{text}' did not come:\n{self.screen()}")

    def keys(self, *keys):
        """Types tmux's names of keys ("Enter", "C-u", "1"), or a text with "=" before it; the still screen."""
        screen = self.screen() if not keys else None
        for key in keys:
            before = self._state()
            _tmux("send-keys", "-t", self.name, *(["-l", "--", key[1:]] if key.startswith("=") else [key]))
            screen = self.wait(before=before)
        return screen

    def resize(self, columns, rows, wanted=None):
        """The still screen that is as wanted(screen) wants it: what tmux itself cuts off comes before it, and is no answer."""
        _tmux("resize-window", "-t", self.name, "-x", str(columns), "-y", str(rows))
        return self.wait(wanted=wanted)

    def close(self):
        _tmux("kill-session", "-t", self.name, check=False)


def _end():
    _tmux("kill-server", check=False)
