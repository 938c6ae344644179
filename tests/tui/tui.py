"""Helpers of the menus' tests: the menus in a tmux window of a given size, typing keys, reading the screen.

tmux is a real terminal emulator, so a screen is what a user would see. The tests do not wait for fixed times: a screen
counts when neither the menus nor tmux are running, no key is unread, and the screen has stayed the same for a moment.
"""
import atexit
import fcntl
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "tools"), os.path.join(os.path.dirname(HERE), "cli")]

import cli  # noqa: E402,F401
import harness  # noqa: E402

STILL_S, STILL_THE_SAME_S = 0.06, 0.8  # nothing has changed on the screen; nor since the key was typed
PAUSE_S = 0.02
READING = re.compile(r"^ (looking \.\.\.|.* \.\.\. q, Esc: do not wait)$", re.MULTILINE)
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


def _tree(pid):
    """Returns a process and all processes below it, without those that have ended."""
    found = [pid]
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
    except OSError:
        return []
    return found + [one for child in children for one in _tree(child)]


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "RD"
    except OSError:
        return False


class Menus:
    """The menus in a window. document: text of the document; "" for the shipped one, None for none."""
    count = 0

    def __init__(self, *args, size=(80, 24), env=None, document="", root="ac922-4gpu", config="topology.yaml"):
        if not Menus.count:
            _tmux("new-session", "-d", "-s", "base", "sleep 100000")  # a server without sessions ends
            atexit.register(_end)  # now, so that it runs before the scratch folder with tmux's socket is removed
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
        if root:  # screens show it in commands, so its name is the same everywhere
            os.symlink(harness.capture(root), os.path.join(self.folder, os.path.basename(root)))
            root = os.path.basename(root)
        words += ["-c", config] + (["--root", root] if root else [])
        inside = harness.environment(TERM="screen-256color", COLUMNS=None, **(env or {}))
        given = " ".join(shlex.quote(f"{name}={value}") for name, value in inside.items())
        program = " ".join(shlex.quote(word) for word in [harness.binary(), *words])
        # The shell stays: it prints the exit code, and the test reads the terminal after the menus.
        line = f"cd {shlex.quote(self.folder)}; env -i {given} {program}; echo exit code $?; exec sleep 1000"
        _tmux("new-session", "-d", "-s", self.name, "-x", str(size[0]), "-y", str(size[1]), line)
        _tmux("set-option", "-t", self.name, "window-size", "manual", check=False)
        server, shell, self.terminal = _tmux("display-message", "-p", "-t", self.name, "#{pid} #{pane_pid} #{pane_tty}").split()
        self.server, self.shell = int(server), int(shell)
        self.wait()

    def text(self):
        """Returns the document's file."""
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def screen(self):
        return "\n".join(line.rstrip() for line in _tmux("capture-pane", "-p", "-t", self.name).split("\n")).rstrip("\n") + "\n"

    def _state(self):
        """Returns the screen with its attributes and the cursor, to notice any change."""
        return _tmux("capture-pane", "-p", "-e", "-t", self.name, ";",
                     "display-message", "-p", "-t", self.name, "#{cursor_x} #{cursor_y} #{cursor_flag}")

    def _is_at_work(self):
        """Returns whether a key is unread, or a process of the menus or tmux is running."""
        terminal = os.open(self.terminal, os.O_RDONLY | os.O_NOCTTY)
        try:
            unread = struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, b"\0" * 4))[0]
        finally:
            os.close(terminal)
        return bool(unread) or any(_runs(pid) for pid in [self.server, *_tree(self.shell)])

    def wait(self, text=None, wanted=None, before=None):
        """Returns the screen when it has stopped changing, contains text, and wanted(screen) is true. before: the state that a key
        should change: on a busy machine the menus may sleep between the key and the new screen."""
        end, last, since = time.monotonic() + harness.PATIENCE_S, None, 0
        while time.monotonic() < end:
            is_at_work, now, time_now = self._is_at_work(), self._state(), time.monotonic()
            if is_at_work or now != last:
                last, since = now, time_now
            if time_now - since > (STILL_THE_SAME_S if now == before else STILL_S) and len(now.split()) > 3:
                screen = self.screen()
                if (text is None or text in screen) and (wanted is None or wanted(screen)):
                    return screen
            time.sleep(PAUSE_S)
        raise AssertionError(f"'{text}' did not come:\n{self.screen()}")

    def keys(self, *keys, is_read=True):
        """Types tmux's names of keys ("Enter", "C-u", "1"), or a text after "=". Returns the screen when it has stopped
        changing, and what it shows has been read (is_read): while the menus ask the runtimes they drop keys.
        """
        screen = self.screen() if not keys else None
        for key in keys:
            before = self._state()
            _tmux("send-keys", "-t", self.name, *(["-l", "--", key[1:]] if key.startswith("=") else [key]))
            screen = self.wait(before=before, wanted=(lambda shown: not READING.search(shown)) if is_read else None)
        return screen

    def mouse(self, row, column, button=0):
        """Presses a button of the mouse at a place from 0 (0: the left one; 64, 65: the wheel up and down). Returns the screen."""
        before = self._state()
        press, release = (f"\033[M{chr(32 + code)}{chr(33 + column)}{chr(33 + row)}" for code in (button, 3))
        _tmux("send-keys", "-t", self.name, "-l", "--", press if button >= 64 else press + release)
        return self.wait(before=before)

    def selected(self):
        """Returns the rows that are shown reversed, except the title."""
        lines = self.colored().split("\n")[1:]
        return [re.sub("\033\\[[0-9;]*m", "", line).strip() for line in lines if re.search("\033\\[(?:[0-9]+;)*7m", line)]

    def is_full_screen(self):
        """Returns whether the menus have the whole terminal, not the shell's lines."""
        return _tmux("display-message", "-p", "-t", self.name, "#{alternate_on}").strip() == "1"

    def colored(self):
        """Returns the screen with its escape sequences."""
        return _tmux("capture-pane", "-p", "-e", "-t", self.name)

    def resize(self, columns, rows, wanted=None):
        """Changes the window's size and waits until wanted(screen). tmux itself first cuts the old screen, which is no
        answer.
        """
        _tmux("resize-window", "-t", self.name, "-x", str(columns), "-y", str(rows))
        return self.wait(wanted=wanted)

    def close(self):
        _tmux("kill-session", "-t", self.name, check=False)


class Case(unittest.TestCase):
    """A test whose menus end with it."""
    maxDiff = None

    def menus(self, *args, **options):
        menus = Menus(*args, **options)
        self.addCleanup(menus.close)
        return menus


def _end():
    _tmux("kill-server", check=False)
