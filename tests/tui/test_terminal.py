#!/usr/bin/env python3
"""The terminal is restored, however the menus end; and commands without a terminal."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest
import unittest.mock

import tui
import harness



class Terminal:
    """The menus on a pseudo terminal that the test reads."""

    hangup = signal.SIG_DFL  # the tests may run under nohup, which ignores the signal

    def __init__(self, *args, **env):
        self.leader, self.follower = pty.openpty()
        fcntl.ioctl(self.follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.follower)
        self.output = b""
        document = os.path.join(harness.scratch(), "document.yaml")
        with open(tui.DOCUMENT, encoding="utf-8") as file, open(document, "w", encoding="utf-8") as copy:
            copy.write(file.read())
        words = list(args) or ["menu", "-c", document, "--root", harness.capture("ac922-4gpu")]
        environment = harness.environment(**{"TERM": "xterm-256color", "COLUMNS": None, **env})
        self.process = subprocess.Popen([harness.binary(), *words], stdin=self.follower, stdout=self.follower,
                                        stderr=subprocess.PIPE, env=environment, cwd=harness.scratch(),
                                        preexec_fn=self._take)

    def _take(self):
        signal.signal(signal.SIGHUP, self.hangup)
        os.setsid()
        fcntl.ioctl(self.follower, termios.TIOCSCTTY, 0)

    def read(self, until=None, patience_s=harness.PATIENCE_S):
        """Returns all output until a text comes (or until no more comes for a moment)."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            if until and until in self.output:
                return True
            if select.select([self.leader], [], [], 0.3)[0]:
                try:
                    self.output += os.read(self.leader, 65536)
                except OSError:
                    return False
            elif until is None:
                return True
        return False

    def wait(self):
        """Returns (exit code, standard error); reads the output meanwhile, so that the program does not block."""
        end = time.monotonic() + harness.PATIENCE_S
        while self.process.poll() is None and time.monotonic() < end:
            self.read(until=b"\0never", patience_s=0.1)
        self.read()
        if self.process.poll() is None:
            self.process.kill()
            raise AssertionError("the menus did not end")
        error = self.process.stderr.read().decode()
        self.process.stderr.close()
        return self.process.returncode, error

    def is_restored(self):
        return termios.tcgetattr(self.follower) == self.before

    def close(self):
        for fd in (self.leader, self.follower):
            try:
                os.close(fd)
            except OSError:
                pass


LEAVE = b"\x1b[?1049l"  # xterm's sequence "back to the normal screen"
SHOW_CURSOR = b"\x1b[?25h"


class Restored(unittest.TestCase):
    def start(self, **env):
        terminal = Terminal(**env)
        self.addCleanup(terminal.close)
        self.assertTrue(terminal.read(b"Quit"), terminal.output)
        terminal.read()
        self.assertFalse(terminal.is_restored(), "the menus take over the terminal")
        return terminal

    def check(self, terminal, code):
        result, error = terminal.wait()
        self.assertEqual(result, code, error)
        self.assertTrue(terminal.is_restored())
        self.assertIn(LEAVE, terminal.output)
        self.assertGreater(terminal.output.rfind(SHOW_CURSOR), terminal.output.rfind(b"\x1b[?25l"))
        mouse = re.findall(b"\x1b\\[\\?[0-9;]*1000([hl])", terminal.output)
        self.assertEqual(mouse[-1], b"l", "the mouse belongs to the terminal again")
        return error

    def test_quit(self):
        terminal = self.start()
        os.write(terminal.leader, b"q")
        self.assertEqual(self.check(terminal, 0), "")

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(signal=number):
                terminal = self.start()
                terminal.process.send_signal(number)
                self.assertIn(f"signal {int(number)} ", self.check(terminal, 1))

    def test_signal_in_a_dialog_with_changes(self):
        terminal = self.start()
        for keys in (b"2", b"1", b"2", b"\x15" + b"0.5\r", b"1"):
            os.write(terminal.leader, keys)
            terminal.read()
        terminal.process.send_signal(signal.SIGTERM)
        self.assertIn("unsaved changes are lost", self.check(terminal, 1))

    def test_control_c(self):
        terminal = self.start()
        os.write(terminal.leader, b"\x03")
        self.assertIn("signal 2 ", self.check(terminal, 1))

    def test_crash(self):
        terminal = self.start(ASAN_OPTIONS="handle_abort=0:" + os.environ.get("ASAN_OPTIONS", ""))
        terminal.process.send_signal(signal.SIGABRT)
        self.check(terminal, -signal.SIGABRT)

    def test_ignored_hangup(self):
        with unittest.mock.patch.object(Terminal, "hangup", signal.SIG_IGN):
            terminal = self.start()
        terminal.process.send_signal(signal.SIGHUP)
        terminal.read()
        self.assertIsNone(terminal.process.poll(), "as nohup wants it")
        os.write(terminal.leader, b"q")
        self.check(terminal, 0)

    def test_the_terminal_goes_away(self):
        terminal = self.start()
        terminal.close()
        self.assertEqual(terminal.process.wait(harness.PATIENCE_S), 1)
        terminal.process.stderr.close()

    def test_stop_and_go_on(self):
        # An orphaned process group ignores a stop, so a shell with job control is in between.
        command = f"{harness.binary()} menu -c {tui.DOCUMENT} --root {harness.capture('ac922-4gpu')}"
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        shell = subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], stdin=follower, stdout=follower, stderr=follower,
                                 env=harness.environment(TERM="xterm-256color", COLUMNS=None, PS1="ready> "),
                                 start_new_session=True, preexec_fn=lambda: fcntl.ioctl(follower, termios.TIOCSCTTY, 0))
        terminal = Terminal.__new__(Terminal)
        terminal.leader, terminal.follower, terminal.output = leader, follower, b""
        self.addCleanup(terminal.close)
        self.assertTrue(terminal.read(b"ready> "), terminal.output)

        def turn(keys, wanted):
            terminal.output = b""
            os.write(leader, keys)
            self.assertTrue(terminal.read(wanted), (keys, terminal.output))
            terminal.read()

        turn(command.encode() + b"\r", b"Quit")
        taken = termios.tcgetattr(follower)
        turn(b"\x1a", b"Stopped")
        self.assertIn(LEAVE, terminal.output)
        turn(b"fg\r", b"Quit")
        self.assertEqual(termios.tcgetattr(follower)[3], taken[3])
        turn(b"q", b"ready> ")
        os.write(leader, b"exit\r")
        terminal.read()
        shell.wait(harness.PATIENCE_S)


class NoTerminal(unittest.TestCase):
    def test_menu(self):
        result = harness.run("menu", "--root", harness.capture("ac922-4gpu"))
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("configure --set", result.stderr)
        value, faults = harness.check_json(harness.run("menu", "--json").stderr)
        self.assertEqual((value["code"], faults), ("usage", []))

    def test_configure(self):
        result = harness.run("configure")
        self.assertEqual(result.returncode, 2)
        self.assertIn("aitherion configure --set", result.stderr)

    def test_dumb(self):
        for term in ("dumb", "", "no-such-terminal"):
            with self.subTest(term=term):
                terminal = Terminal(TERM=term)
                self.addCleanup(terminal.close)
                code, error = terminal.wait()
                self.assertEqual(code, 1)
                self.assertIn("TERM", error)
                self.assertTrue(terminal.is_restored())

    def test_top(self):
        terminal = Terminal("top", "--server", "127.0.0.1:1", TERM="no-such-terminal")
        self.addCleanup(terminal.close)
        code, error = terminal.wait()
        self.assertEqual(code, 1)
        self.assertRegex(error, "^aitherion: .*TERM")

    def test_no_input(self):
        terminal = Terminal("menu", "--no-input")
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.wait()[0], 2)

    def test_no_color(self):
        terminal = Terminal(NO_COLOR="1")
        self.addCleanup(terminal.close)
        terminal.read(b"Quit")
        os.write(terminal.leader, b"1")
        terminal.read()
        os.write(terminal.leader, b"qq")
        terminal.wait()
        self.assertNotRegex(terminal.output, rb"\x1b\[[0-9;]*3[0-7]m")

    def test_color(self):
        terminal = Terminal()
        self.addCleanup(terminal.close)
        terminal.read(b"Quit")
        os.write(terminal.leader, b"1")
        terminal.read()
        os.write(terminal.leader, b"qq")
        terminal.wait()
        self.assertRegex(terminal.output, rb"\x1b\[[0-9;]*3[0-7]m")

    @unittest.skipUnless(harness.copies_alone(), "ldd cannot read a binary for another machine")
    def test_ncurses_is_loaded_late(self):
        linked = subprocess.run(["ldd", harness.binary()], stdout=subprocess.PIPE, text=True, check=False).stdout
        self.assertNotIn("curses", linked)
        self.assertNotIn("tinfo", linked)


if __name__ == "__main__":
    harness.main()
