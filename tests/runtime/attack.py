"""Runs attacker.c, the code of an attacker, in the session of a program, and takes its results."""
import os
import socket
import threading

from runtime import harness

LIBRARY = os.path.join("tests", "runtime", "attacker.so")  # in the build folder
LEAST_ATTACKS = 112


def variables(listener, key, files, library=None):
    """The environment of a server with the attacker in each of its processes."""
    return dict(LD_PRELOAD=library or os.path.join(harness.build(), LIBRARY), ATTACK_SOCKET=listener.name, ATTACK_KEY=key,
                ATTACK_FILES=":".join(files))


def check(test, results):
    """No attack succeeded, and the attacker came to its end."""
    test.assertEqual(results.pop("end", None), "", results)
    test.assertEqual({name: told for name, told in results.items() if not told.startswith("held ")}, {})
    test.assertGreater(len(results), LEAST_ATTACKS)


class Listener:
    """The socket to which the attacker tells its results. neighbour: the process id of another session, which it attacks."""

    def __init__(self):
        self.neighbour = None
        self.name = f"ath-attack-{os.getpid()}-{os.urandom(4).hex()}"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(b"\0" + self.name.encode())
        self.socket.listen()
        self.socket.settimeout(harness.PATIENCE_S)
        self.results, self.fault = {}, None
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        try:
            connection = self.socket.accept()[0]
            with connection, connection.makefile("r", encoding="utf-8") as lines:
                connection.sendall(str(self.neighbour).encode())
                for line in lines:
                    name, _, told = line.strip().partition(" ")
                    self.results[name] = told
        except OSError as error:
            self.fault = error

    def take(self):
        self.thread.join(harness.PATIENCE_S)
        self.socket.close()
        if self.fault:
            raise self.fault
        return self.results
