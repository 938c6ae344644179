#!/usr/bin/env python3
"""The files for Prometheus and Grafana, and the documentation: made from the table of metrics, and current."""
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))

import harness  # noqa: E402

GENERATE = os.path.join(harness.SOURCE, "src", "watch", "generate.py")
RULES = os.path.join("etc", "prometheus", "aitherion-rules.yml")
BOARD = os.path.join("etc", "grafana", "aitherion-board.json")
FILES = (RULES, BOARD, os.path.join("docs", "watching.md"))
needs_promtool = unittest.skipUnless(shutil.which("promtool"), "no promtool (package prometheus)")


def read(path):
    with open(os.path.join(harness.SOURCE, path), encoding="utf-8") as file:
        return file.read()


def table():
    return harness.checked_json("metrics", "--table")


def generate(value):
    """{file: text} of what the generator writes for a table; its result if it fails."""
    with tempfile.TemporaryDirectory(dir=harness.scratch()) as top:
        for path in FILES:
            os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
            shutil.copy(os.path.join(harness.SOURCE, path), os.path.join(top, path))
        result = subprocess.run([sys.executable, GENERATE, top], input=json.dumps(value), capture_output=True, text=True, check=False)
        if result.returncode:
            return result
        made = {}
        for path in FILES:
            with open(os.path.join(top, path), encoding="utf-8") as file:
                made[path] = file.read()
        return made


class Generated(unittest.TestCase):
    def test_the_files_are_current(self):
        for path, text in generate(table()).items():
            self.assertEqual(text, read(path), f"{path}: make update-metrics")

    def test_a_metric_that_the_table_lacks_is_refused(self):
        value = table()
        value["metrics"] = [row for row in value["metrics"] if row["name"] != "aitherion_runtime_device_busy_ratio"]
        self.assertIn("the table of metrics has no 'aitherion_runtime_device_busy_ratio'", generate(value).stderr)

    def test_every_expression_names_metrics_of_the_table(self):
        names = set()
        for row in table()["metrics"]:
            ends = ("_bucket", "_sum", "_count") if row["type"] == "histogram" else ("",)
            names |= {row["name"] + end for end in ends}
        board = json.loads(read(BOARD))
        expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
        expressions += re.findall(r"(?m)^ +expr: (.*)$", read(RULES))
        self.assertGreater(len(expressions), 30)
        for expression in expressions:
            found = re.findall(r"\baitherion_[a-z_]+", expression)
            self.assertTrue(found or '"up{' in expression, expression)
            self.assertLessEqual(set(found), names, expression)

    def test_the_board_is_whole(self):
        board = json.loads(read(BOARD))
        panels = board["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        places = set()
        for panel in panels:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & places, f"{panel['title']} lies over another panel")
            places |= cells
            self.assertIn(panel["type"], ("row", "stat", "timeseries"))
            for target in panel.get("targets", ()):
                self.assertIn('instance=~"$instance"', target["expr"])

    def test_they_are_installed(self):
        share = os.path.join(harness.build(), "share", "aitherion")
        for path in (RULES, BOARD):
            with open(os.path.join(share, *path.split(os.sep)[1:]), encoding="utf-8") as file:
                self.assertEqual(file.read(), read(path))

    @needs_promtool
    def test_promtool_takes_the_rules(self):
        result = subprocess.run(["promtool", "check", "rules", os.path.join(harness.SOURCE, RULES)], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    @needs_promtool
    def test_promtool_takes_the_queries_of_the_board(self):
        """As the expressions of recording rules, with Grafana's variables filled in."""
        targets = [target for panel in json.loads(read(BOARD))["panels"] for target in panel.get("targets", ())]
        rules = [{"record": f"panel:{i}", "expr": target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")}
                 for i, target in enumerate(targets)]
        path = os.path.join(harness.scratch(), "board-rules.yml")

        def check():
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"groups": [{"name": "board", "rules": rules}]}, file)
            return subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, check=False)

        result = check()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"{len(targets)} rules found", result.stdout)
        rules[0]["expr"] += ")"
        self.assertNotEqual(check().returncode, 0, "promtool reads the expressions")

    @needs_promtool
    def test_what_fires_each_rule(self):
        tests = os.path.join("tests", "data", "watch", "rules-test.yml")
        result = subprocess.run(["promtool", "test", "rules", os.path.join(harness.SOURCE, tests)], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for alert in re.findall(r"- alert: (\w+)", read(RULES)):
            self.assertRegex(read(tests), rf"alertname: {alert}\n +exp_alerts:\n", "each rule fires in a test")


class Picture(unittest.TestCase):
    """tests/tools/board.py draws the board from a Prometheus; here from one that knows one series, or none."""

    def draw(self, result):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps({"data": {"result": result}}).encode())

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            drawn = subprocess.run([sys.executable, "-B", os.path.join(harness.SOURCE, "tests", "tools", "board.py"),
                                    f"http://127.0.0.1:{server.server_port}", "5"], capture_output=True, text=True, check=False)
            server.shutdown()
        texts = ["".join(element.itertext()) for element in xml.etree.ElementTree.fromstring(drawn.stdout).iter()]
        for panel in json.loads(read(BOARD))["panels"]:
            self.assertIn(panel["title"], texts)
        return drawn, texts

    def test_it_draws_each_panel(self):
        now = time.time()
        drawn, texts = self.draw([{"metric": {"device": "3", "instance": "a<b"}, "values": [[now - 60, "0.25"], [now, "0.5"]]}])
        self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        self.assertNotIn("No data", texts)
        self.assertIn("— GPU 3 NUMA a<b: 50%", texts)

    def test_a_panel_without_data(self):
        drawn, texts = self.draw([])
        self.assertEqual(drawn.returncode, 1)
        self.assertIn("no data: Runtimes that answer, GPUs, ", drawn.stderr)
        self.assertIn("No data", texts)


if __name__ == "__main__":
    harness.main()
