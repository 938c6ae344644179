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
     "The runtime {{ $labels.server }}{{ with $labels.node }} (NUMA{{ . }}){{ end }} does not answer `aitherion metrics`. See `aitherion status`."),
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
     "count by (job, identity, program, host, process) (count by (job, identity, program, host, process, instance, server, node) "
     '(aitherion_runtime_session_age_seconds{process!=""})) > 1',
     "The GPUs of a job span NUMA nodes",
     "{{ $labels.program }} (process {{ $labels.process }} on {{ $labels.host }}, key {{ $labels.identity }}) uses GPUs of {{ $value }} runtimes. "
     "`aitherion place` says which GPUs are linked best."),
    ("AitherionAllReduceSlow", "5m", "critical",
     "aitherion_host_all_reduce_measured_seconds > 2 * aitherion_host_all_reduce_expected_seconds",
     "An all-reduce is slow",
     "By the copies that were measured at {{ $labels.instance }}, an all-reduce of 100 MiB by all GPUs takes at least "
     "{{ $value | humanizeDuration }}, more than twice as long as their links should need. `aitherion health` names the slowest pair."),
    # The share may be that of the key, which all its sessions have together. A session wants more if it holds or waits most of the time.
    ("AitherionShareMissed", "10m", "warning",
     "rate(aitherion_runtime_session_turn_held_seconds_total[5m]) < ignoring (transport) "
     "0.5 * (aitherion_runtime_session_share_wanted_ratio > 0) / on (instance, server, node, identity) group_left () "
     "count by (instance, server, node, identity) (aitherion_runtime_session_age_seconds) "
     "and ignoring (transport) rate(aitherion_runtime_session_turn_waited_seconds_total[5m]) > 0.5",
     "A session gets less than half of its share",
     "{{ $labels.program }} (session {{ $labels.session }}, key {{ $labels.identity }}) at WHERE had the GPU for {{ $value | humanizePercentage }} "
     "of the last 5 minutes, less than half of its share, and waited for most of the rest. `aitherion session list --explain` says for whom."),
    ("AitherionSampleOld", "2m", "warning",
     "aitherion_runtime_devices > 0 unless aitherion_runtime_sample_age_seconds",
     "A runtime does not sample its GPUs",
     "The runtime at WHERE has no figures of its {{ $value }} GPUs: the driver hangs, or NVML is missing."),
]

GPU, SESSION = "GPU {{device}} NUMA{{node}} {{instance}} {{server}}", "{{program}} {{host}}:{{process}}"
PORT = "{{instance}} {{port}} {{rdma}}"
R, D, S, H = "aitherion_runtime_", "aitherion_runtime_device_", "aitherion_runtime_session_", "aitherion_host_"


def use_of_ports(way):
    """The part of what ports can carry that they carry. A port without RDMA has no bytes of RDMA."""
    plain, rdma = (f"rate({H}port_{kind}{way}_bytes_total{{}}[$__rate_interval])" for kind in ("", "rdma_"))
    return f"({plain} + ({rdma} or 0 * {plain})) / {H}port_speed_bytes_per_second{{}}"


# A row of the board: its title and its panels. A panel: title, width of 24, expressions with their legends, and a unit if it is not that of
# the table. "{}" and "{and " are places of the filter. Counters become rates, and histograms a quantile, except in an expression with a range.
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
        ("Reasons for low clocks", 8, [(f'{D}throttled{{and reason!="idle"}} == 1', "{{reason}} " + GPU)]),
        ("PCIe received and sent", 8, [(f"{D}pcie_received_bytes_per_second{{}}", "received " + GPU),
                                       (f"{D}pcie_sent_bytes_per_second{{}}", "sent " + GPU)]),
        ("NVLink received and sent", 8, [(f"{D}nvlink_received_bytes_total{{}}", "received " + GPU),
                                         (f"{D}nvlink_sent_bytes_total{{}}", "sent " + GPU)]),
        ("Health score", 8, [(f"{D}health_score{{}}", GPU)]),
        ("Xid events since the runtime started", 8, [(f"last_over_time({D}xids_total{{}}[$__rate_interval])", GPU)], "short"),
        ("Memory errors since the driver was loaded", 8, [(f"last_over_time({D}ecc_corrected_errors_total{{}}[$__rate_interval])", "corrected " + GPU),
                                                          (f"last_over_time({D}ecc_uncorrected_errors_total{{}}[$__rate_interval])",
                                                           "not corrected " + GPU)], "short"),
    ]),
    ("Sessions", [
        ("GPU time of each second", 8, [(f"{S}gpu_seconds_total{{}}", SESSION)]),
        ("Memory", 8, [(f"{S}memory_used_bytes{{}}", SESSION + " GPU {{device}}")]),
        ("Calls", 8, [(f"{S}calls_total{{}}", SESSION)]),
        ("Received from programs", 8, [(f"{S}received_bytes_total{{}}", SESSION)]),
        ("Sent to programs", 8, [(f"{S}sent_bytes_total{{}}", SESSION)]),
        ("Waits for the GPU, 99th percentile", 8, [(f"{S}wait_seconds{{}}", SESSION)]),
    ]),
    ("Turns and shares", [
        ("Share that sessions claim", 8, [(f"{S}share_wanted_ratio{{}} > 0", SESSION)]),
        ("Time with a turn", 8, [(f"{S}turn_held_seconds_total{{}}", SESSION)]),
        ("Time that sessions wait for a turn", 8, [(f"{S}turn_waited_seconds_total{{}}", SESSION)]),
        ("Time with a turn beyond the share", 8, [(f"{S}turn_lent_seconds_total{{}}", SESSION)]),
        ("Turns", 8, [(f"{S}turns_total{{}}", SESSION)]),
        ("Busiest GPU of each session", 8, [(f"{S}busy_ratio{{}}", SESSION)]),
    ]),
    ("Machine, of `aitherion metrics`", [
        ("Use of ports, with RDMA", 8, [(use_of_ports("received"), PORT + " received"), (use_of_ports("sent"), PORT + " sent")], "percentunit"),
        ("Ports received and sent", 8, [(f"{H}port_received_bytes_total{{}}", PORT + " received"), (f"{H}port_sent_bytes_total{{}}", PORT + " sent")]),
        ("RDMA received and sent", 8, [(f"{H}port_rdma_received_bytes_total{{}}", PORT + " received"),
                                       (f"{H}port_rdma_sent_bytes_total{{}}", PORT + " sent")]),
        ("Measured copies", 8, [(f"{H}copy_bytes_per_second{{}}", "{{instance}} {{from}} to {{to}}")]),
        ("Measured latency of copies", 8, [(f"{H}copy_latency_seconds{{}}", "{{instance}} {{from}} to {{to}}")]),
        ("All-reduce of 100 MiB", 8, [(f"{H}all_reduce_measured_seconds{{}}", "{{instance}} by measured copies"),
                                      (f"{H}all_reduce_expected_seconds{{}}", "{{instance}} by its links")]),
    ]),
    ("Keys and connections", [
        ("Sessions by key", 8, [(f"sum by (identity) ({R}identity_sessions{{}})", "{{identity}}")]),
        ("Memory by key", 8, [(f"sum by (identity) ({R}identity_memory_used_bytes{{}})", "{{identity}}")]),
        ("Connections", 8, [(f"{R}connections_total{{}}", "{{instance}} accepted"), (f"rate({R}refused_total{{}}[$__rate_interval]) > 0", "{{instance}} refused: {{reason}}"),
                            (f"{R}broken_total{{}}", "{{instance}} broken")]),
    ]),
]
UNITS = {"bytes": "bytes", "seconds": "s", "ratio": "percentunit", "celsius": "celsius", "watts": "watt", "hertz": "hertz", "": "short"}
NAME = re.compile(r"\baitherion_[a-z_]+")
FILTER = '{instance=~"$instance"}'


def metric_of(table, expression):
    """The row of the first metric that an expression names."""
    names = NAME.findall(expression)
    for name in names:
        if name not in table:
            sys.exit(f"generate.py: the table of metrics has no '{name}'")
    return table[names[0]] if names else None


def query_of(table, expression):
    """The expression of a panel: counters as rates, histograms as a quantile, and for the chosen instances."""
    metric = metric_of(table, expression)
    name = metric["name"]
    expression = expression.replace("{and ", FILTER[:-1] + ",")
    if "[" in expression:
        return expression.replace("{}", FILTER)
    if metric["type"] == "histogram":
        return f"histogram_quantile(0.99, rate({name}_bucket{FILTER}[$__rate_interval]))"
    if metric["type"] == "counter":
        return f"rate({name}{FILTER}[$__rate_interval])"
    return expression.replace("{}", FILTER)


def unit_of(metric):
    if metric["type"] == "counter":
        return {"bytes": "Bps", "seconds": "percentunit", "": "cps"}[metric["unit"]]
    return "Bps" if metric["name"].endswith("_per_second") else UNITS[metric["unit"]]


def panel_of(table, number, place, title, targets, unit=None):
    metric = metric_of(table, targets[0][0])
    kind = "stat" if not targets[0][1] else "timeseries"
    return {
        "id": number, "type": kind, "title": title, "description": " ".join(dict.fromkeys(metric_of(table, expression)["help"] + "." for expression, _ in targets)), "gridPos": place,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "fieldConfig": {"defaults": {"unit": unit or unit_of(metric), **({"min": 0} if kind == "timeseries" else {})}, "overrides": []},
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
        for name, width, targets, *unit in row:
            panels.append(panel_of(table, len(panels) + 1, {"x": x, "y": y, "w": width, "h": height}, name, targets, *unit))
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
