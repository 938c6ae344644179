#!/usr/bin/env python3
"""Every screen at 80x24 and 200x60, in UTF-8, ASCII and Chinese, compared with tests/tui/screens/.

`tests/tui/test_screens.py --update` writes them again: read the diff.
"""
import os
import sys
import unittest

import tui
import cli
import harness

SCREENS = os.path.join(tui.HERE, "screens")
UPDATE = "--update" in sys.argv
SIZES = {"80x24": (80, 24), "200x60": (200, 60)}

# The keys that lead to each screen from the main menu.
PATHS = {
    "main": [],
    "topology": ["1"],
    "numa": ["2"],
    "entry": ["2", "1"],
    "entry-percent": ["2", "1", "1"],
    "entry-percent-wrong": ["2", "1", "1", "C-u", "=150", "Enter"],
    "entry-interface": ["2", "1", "3"],
    "entry-gpus": ["2", "2", "4"],
    "entry-changed": ["2", "1", "2", "C-u", "=0.5", "Enter"],
    "entry-warning": ["2", "1", "4", "3", "Enter"],
    "entry-remove": ["2", "1", "8"],
    "add-entry": ["2", "4"],
    "roce": ["3"],
    "roce-card": ["3", "4"],
    "roce-add": ["3", "1"],
    "roce-bind": ["3", "3", "1"],
    "macvlans": ["3", "2"],
    "macvlan": ["3", "2", "1"],
    "macvlan-mode": ["3", "2", "1", "2"],
    "document": ["4"],
    "document-end": ["4", "End"],
    "status": ["5"],
    "status-end": ["5", "End"],
    "access": ["6"],
    "access-encrypt": ["6", "1"],
    "identity": ["6", "7", "=alice", "Enter", "2", "=25", "Enter", "1"],
    "place": ["7"],
    "place-size-wrong": ["7", "1", "C-u", "=5", "Enter"],
    "place-policy": ["7", "2"],
    "place-near": ["7", "3"],
    "place-choice": ["7", "1", "C-u", "=2", "Enter", "4"],
    "leave": ["2", "1", "2", "C-u", "=0.5", "Enter", "q", "q", "q"],
    "keys": ["?"],
    "keys-status": ["5", "?"],
    "search": ["/"],
    "search-nothing": ["1", "/", "=nowhere", "Enter"],
    "search-found": ["1", "/", "=GPU3 ", "Enter"],
    "faults": [],
    "faults-line": ["4"],
    "faults-file": ["End", "Up", "Up", "Up", "Enter"],
    "faults-main": ["q"],
}
CHINESE = ["main", "numa", "entry", "entry-percent-wrong", "entry-gpus", "roce", "roce-card", "macvlan", "leave", "keys",
           "keys-status", "search", "faults", "faults-line"]
with open(os.path.join(harness.DATA, "documents", "ten-faults.yaml"), encoding="utf-8") as _file:
    FAULTS = _file.read()


@tui.needs_tmux
class Screens(unittest.TestCase):
    maxDiff = None

    def compare(self, name, screen):
        path = os.path.join(SCREENS, name + ".txt")
        if UPDATE:
            os.makedirs(SCREENS, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(screen)
            return
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), screen, name)

    def check(self, paths, kind, size, env):
        for name in paths:
            with self.subTest(screen=name):
                env = {"EDITOR": "vi", "VISUAL": None, **(env or {})}
                document = FAULTS if name.startswith("faults") else ""
                menus = tui.Menus(size=SIZES[size], env=env, document=document)
                screen = menus.keys(*PATHS[name]) if PATHS[name] else menus.screen()
                menus.close()
                self.assertNotIn("exit code", screen)
                self.compare(f"{name}.{kind}.{size}", screen)

    def test_utf8_small(self):
        self.check(PATHS, "utf8", "80x24", None)

    def test_utf8_large(self):
        self.check(["main", "topology", "numa", "entry", "entry-interface", "roce", "roce-card", "macvlan", "document", "status",
                    "leave", "faults", "faults-file"], "utf8", "200x60", None)

    def test_ascii(self):
        for name in ["place-choice", "entry-gpus", "topology", "roce-card", "status", "faults-line", "faults-file"]:
            self.check([name], "ascii", "80x24", {"LC_ALL": "C"})
        self.check(["leave", "main"], "ascii", "200x60", {"LC_ALL": "C"})

    def test_ascii_has_no_other_letters(self):
        for name in PATHS:
            if name.startswith(("entry", "roce", "faults", "search")):
                menus = tui.Menus(env={"LC_ALL": "C"}, document=FAULTS if name.startswith("faults") else "")
                screen = menus.keys(*PATHS[name])
                menus.close()
                self.assertTrue(screen.isascii(), screen)

    def test_chinese(self):
        env, reason = cli.chinese_environment()
        if not env:
            self.skipTest(reason)
        self.check(CHINESE, "chinese", "80x24", env)
        self.check(["entry", "main"], "chinese", "200x60", env)


@tui.needs_tmux
class Sizes(unittest.TestCase):
    def test_resize_in_the_middle(self):
        menus = tui.Menus(size=(80, 24))
        before = menus.keys("2", "1", "3")
        self.assertIn("enP51p1s0f0", before)
        large = menus.resize(200, 60, lambda screen: len(screen.split("\n")) >= 60)
        self.assertIn("type another one", large)
        small = menus.resize(60, 20, lambda screen: "60 x 20" in screen)
        self.assertIn("80 x 24", small.replace("\n", " "))
        self.assertEqual(menus.keys("q"), small, "keys have no effect while the window is too small")
        menus.resize(80, 24, lambda screen: screen == before)
        menus.close()

    def test_tiny(self):
        menus = tui.Menus(size=(80, 24))
        for size in ((10, 3), (2, 1), (300, 2)):
            menus.resize(*size)
        self.assertIn("NUMA configuration", menus.resize(80, 24, lambda screen: "Main menu" in screen))
        menus.close()


if __name__ == "__main__":
    if UPDATE:
        sys.argv.remove("--update")
    harness.main()
