#!/usr/bin/env python3
"""Makes what rests on the table of metrics: the alert rules for Prometheus, the board for Grafana, and the table of docs/watching.md.

    aitherion metrics --table --json | src/watch/generate.py TOP     writes the files below the folder TOP (make update-metrics)

A rule or a panel that names a metric which the table lacks is refused.
"""
import json
import os
import re
import sys

RULES = "etc/prometheus/aitherion-rules.yml"
BOARD = "etc/grafana/aitherion-board.json"
PAGE = "docs/watching.md"
BEGIN, END = "<!-- metrics: make update-metrics writes this table -->", "<!-- end of the table -->"

# The place of a series: a page of several runtimes has them apart by the entry's id and the runtime's address.
WHERE = "{{ $labels.instance }}{{ with $labels.node }}, NUMA{{ . }}{{ end }}{{ with $labels.server }}, {{ . }}{{ end }}"

# Alert, time that it must hold ("5m"), severity, expression, summary, description with WHERE for the place.
ALERTS = [
    ("AitherionRuntimeDown", "1m", "critical",
     "aitherion_up == 0",
     "A runtime does not answer",
     "The runtime {{ $labels.server }} (NUMA entry {{ $labels.node }}) does not answer `aitherion metrics`. See `aitherion status`."),
    ("AitherionTargetDown", "2m", "critical",
     'up{job=~"aitherion.*"} == 0',
     "Prometheus cannot read aitherion's metrics",
     "{{ $labels.instance }} does not answer: the runtime has ended, or nothing listens there. See `aitherion status` on that machine."),
    ("AitherionRuntimeFaults", "5m", "warning",
     "aitherion_runtime_faults > 0",
     "A runtime reports faults",
     "{{ $value }} faults at WHERE. `aitherion health` names them and says what to do."),
    ("AitherionGpuUnhealthy", "5m", "warning",
     "aitherion_runtime_device_health_score < 90",
     "A GPU is not healthy",
     "The GPU {{ $labels.pci }} ({{ $labels.uuid }}) at WHERE has the health score {{ $value }} of 100. `aitherion health -v` "
     "says why."),
    ("AitherionGpuMemoryNearlyFull", "10m", "warning",
     "aitherion_runtime_device_memory_used_bytes / aitherion_runtime_device_memory_limit_bytes > 0.95",
     "The memory of a GPU is nearly full",
     "Sessions have {{ $value | humanizePercentage }} of what they may have of the GPU {{ $labels.pci }} at WHERE. "
     "`aitherion session list` shows them."),
    ("AitherionGpuXid", "0m", "warning",
     "increase(aitherion_runtime_device_xids_total[15m]) > 0",
     "A GPU reported an Xid event",
     "The driver reported an Xid of the GPU {{ $labels.pci }} at WHERE that no program caused; the kernel log has it."),
    ("AitherionGpuEccErrors", "0m", "critical",
     "increase(aitherion_runtime_device_ecc_uncorrected_errors_total[1h]) > 0",
     "A GPU has memory errors that ECC does not correct",
     "The GPU {{ $labels.pci }} at WHERE has new errors. Reset it, and replace it if they come back."),
    ("AitherionGpuThrottled", "10m", "warning",
     'aitherion_runtime_device_throttled{reason=~"thermal|hardware_slowdown|hardware_thermal|hardware_power_brake"} == 1',
     "A GPU lowers its clocks",
     "The GPU {{ $labels.pci }} at WHERE has been slower for 10 minutes: {{ $labels.reason }}. Look at its cooling and power."),
    ("AitherionJobSpansNodes", "5m", "info",
     "count by (identity, program, host, process) (count by (identity, program, host, process, instance, server, node) "
     '(aitherion_runtime_session_age_seconds{process!=""})) > 1',
     "The GPUs of a job span NUMA nodes",
     "{{ $labels.program }} (process {{ $labels.process }} on {{ $labels.host }}, key {{ $labels.identity }}) uses GPUs of {{ $value }} runtimes. "
     "`aitherion place` says which GPUs are linked best."),
    ("AitherionSampleOld", "2m", "warning",
     "aitherion_runtime_devices > 0 unless aitherion_runtime_sample_age_seconds",
     "A runtime does not sample its GPUs",
     "The runtime at WHERE has no figures of its {{ $value }} GPUs: the driver hangs, or NVML is missing."),
]

# A row of the board: its title and its panels. A panel: title, width of 24, expressions with their legends. The units come from the table.
GPU, SESSION = "{{instance}} {{server}} NUMA{{node}} GPU {{device}}", "{{program}} {{host}}:{{process}}"
R, D, S = "aitherion_runtime_", "aitherion_runtime_device_", "aitherion_runtime_session_"
ROWS = [
    ("Runtimes", [
        ("Runtimes that answer", 4, [("sum(aitherion_up{})", "")]),
        ("GPUs", 4, [(f"sum({R}devices{{}})", "")]),
        ("Sessions", 4, [(f"sum({R}sessions{{}})", "")]),
        ("Faults", 4, [(f"sum({R}faults{{}})", "")]),
        ("GPU memory in use", 4, [(f"sum({D}memory_used_bytes{{}})", "")]),
        ("Lowest health score", 4, [(f"min({D}health_score{{}})", "")]),
    ]),
    ("GPUs", [
        ("Busy", 8, [(f"{D}busy_ratio{{}}", GPU)]),
        ("Memory that sessions have", 8, [(f"{D}memory_used_bytes{{}}", GPU)]),
        ("Free memory", 8, [(f"{D}memory_free_bytes{{}}", GPU)]),
        ("Temperature", 8, [(f"{D}temperature_celsius{{}}", GPU)]),
        ("Power", 8, [(f"{D}power_watts{{}}", GPU)]),
        ("Clock of the processors", 8, [(f"{D}sm_clock_hertz{{}}", GPU)]),
        ("Reasons for low clocks", 8, [(f"{D}throttled{{}} == 1", GPU + " {{reason}}")]),
        ("PCIe received and sent", 8, [(f"{D}pcie_received_bytes_per_second{{}}", GPU + " received"),
                                       (f"{D}pcie_sent_bytes_per_second{{}}", GPU + " sent")]),
        ("NVLink received and sent", 8, [(f"{D}nvlink_received_bytes_total{{}}", GPU + " received"),
                                         (f"{D}nvlink_sent_bytes_total{{}}", GPU + " sent")]),
        ("Health score", 8, [(f"{D}health_score{{}}", GPU)]),
        ("Xid events", 8, [(f"{D}xids_total{{}}", GPU)]),
        ("Memory errors", 8, [(f"{D}ecc_corrected_errors_total{{}}", GPU + " corrected"),
                              (f"{D}ecc_uncorrected_errors_total{{}}", GPU + " not corrected")]),
    ]),
    ("Sessions", [
        ("GPU time of each second", 8, [(f"{S}gpu_seconds_total{{}}", SESSION)]),
        ("Memory", 8, [(f"{S}memory_used_bytes{{}}", SESSION + " GPU {{device}}")]),
        ("Calls", 8, [(f"{S}calls_total{{}}", SESSION)]),
        ("Received from programs", 8, [(f"{S}received_bytes_total{{}}", SESSION)]),
        ("Sent to programs", 8, [(f"{S}sent_bytes_total{{}}", SESSION)]),
        ("Waits for the GPU, 99th percentile", 8, [(f"{S}wait_seconds{{}}", SESSION)]),
    ]),
    ("Keys and connections", [
        ("Sessions by key", 8, [(f"{R}identity_sessions{{}}", "{{identity}}")]),
        ("Memory by key", 8, [(f"{R}identity_memory_used_bytes{{}}", "{{identity}} " + GPU)]),
        ("Connections", 8, [(f"{R}connections_total{{}}", "{{instance}} accepted"), (f"{R}refused_total{{}}", "{{instance}} refused: {{reason}}"),
                            (f"{R}broken_total{{}}", "{{instance}} broken")]),
    ]),
]
UNITS = {"bytes": "bytes", "seconds": "s", "ratio": "percentunit", "celsius": "celsius", "watts": "watt", "hertz": "hertz", "": "short"}
NAME = re.compile(r"\baitherion_[a-z_]+")
FILTER = '{instance=~"$instance"}'


def metric_of(table, expression):
    """The row of the one metric that an expression names."""
    names = set(NAME.findall(expression))
    for name in names:
        if name not in table:
            sys.exit(f"generate.py: the table of metrics has no '{name}'")
    return table[names.pop()] if names else None


def query_of(table, expression):
    """The expression of a panel: counters as rates, histograms as a quantile, and for the chosen instances."""
    metric = metric_of(table, expression)
    name = metric["name"]
    if metric["type"] == "histogram":
        return f"histogram_quantile(0.99, rate({name}_bucket{FILTER}[$__rate_interval]))"
    if metric["type"] == "counter":
        return f"rate({name}{FILTER}[$__rate_interval])"
    return expression.replace("{}", FILTER)


def unit_of(metric):
    if metric["type"] == "counter":
        return {"bytes": "Bps", "seconds": "percentunit", "": "cps"}[metric["unit"]]
    return "Bps" if metric["name"].endswith("_per_second") else UNITS[metric["unit"]]


def panel_of(table, number, place, title, targets):
    metric = metric_of(table, targets[0][0])
    kind = "stat" if not targets[0][1] else "timeseries"
    return {
        "id": number, "type": kind, "title": title, "description": " ".join(dict.fromkeys(metric_of(table, expression)["help"] + "." for expression, _ in targets)), "gridPos": place,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "fieldConfig": {"defaults": {"unit": unit_of(metric), **({"min": 0} if kind == "timeseries" else {})}, "overrides": []},
        "targets": [{"refId": chr(ord("A") + i), "expr": query_of(table, expression), "legendFormat": legend or "__auto"}
                    for i, (expression, legend) in enumerate(targets)],
    }


def board(table):
    panels, y = [], 0
    for title, row in ROWS:
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}})
        x, y = 0, y + 1
        height = 4 if title == "Runtimes" else 8
        for name, width, targets in row:
            panels.append(panel_of(table, len(panels) + 1, {"x": x, "y": y, "w": width, "h": height}, name, targets))
            x += width
            if x >= 24:
                x, y = 0, y + height
    return json.dumps({
        "title": "aitherion", "uid": "aitherion", "tags": ["aitherion", "gpu"], "schemaVersion": 38, "version": 1, "editable": True,
        "refresh": "30s", "time": {"from": "now-1h", "to": "now"}, "timezone": "browser", "annotations": {"list": []}, "links": [],
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
            {"name": "instance", "type": "query", "label": "Instance", "multi": True, "includeAll": True, "allValue": ".*", "refresh": 2,
             "datasource": {"type": "prometheus", "uid": "${datasource}"}, "current": {"text": "All", "value": "$__all"},
             "query": {"query": "label_values(aitherion_up, instance)", "refId": "instance"}},
        ]},
        "panels": panels,
    }, indent=2) + "\n"


def rules(table):
    lines = ["# Alert rules for the metrics of aitherion. Made by src/watch/generate.py: add rules of your own in another file.",
             "# The times of collective operations have no metric, so no rule compares them with `aitherion estimate`.",
             "groups:", "  - name: aitherion", "    rules:"]
    for name, seconds, severity, expression, summary, description in ALERTS:
        metric_of(table, expression)
        lines += [f"      - alert: {name}", f"        expr: {json.dumps(expression)}", f"        for: {seconds}", "        labels:",
                  f"          severity: {severity}", "        annotations:", f"          summary: {json.dumps(summary)}",
                  f"          description: {json.dumps(description.replace('WHERE', WHERE))}"]
    return "\n".join(lines) + "\n"


def page(table, text):
    """docs/watching.md with its table made again."""
    rows = ["| metric | type | labels beside `server` and `node` | meaning |", "| --- | --- | --- | --- |"]
    for metric in table.values():
        labels = ", ".join(f"`{label}`" for label in metric["labels"] if label not in ("server", "node"))
        rows.append(f"| `{metric['name']}` | {metric['type']} | {labels} | {metric['help']} |")
    head, rest = text.split(BEGIN + "\n", 1)
    return head + BEGIN + "\n" + "\n".join(rows) + "\n" + END + rest.split(END, 1)[1]


def main():
    top = sys.argv[1]
    table = {metric["name"]: metric for metric in json.load(sys.stdin)["metrics"]}
    with open(os.path.join(top, PAGE), encoding="utf-8") as file:
        text = file.read()
    for path, made in ((RULES, rules(table)), (BOARD, board(table)), (PAGE, page(table, text))):
        with open(os.path.join(top, path), "w", encoding="utf-8") as file:
            file.write(made)


if __name__ == "__main__":
    main()
