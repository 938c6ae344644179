#!/usr/bin/env bash
# aitherion start, status, health, stop and clean with Docker's bridge, a macvlan and two NUMA nodes: the commands for the engines
# that start.sh tests. Runs in the guest.
# shellcheck source=tests/vm/checks.sh
. /vm/checks.sh

export DOCKER_HOST=unix:///run/docker.sock
ip link set lo up
ip link set eth0 up; ip addr add 10.9.0.10/24 dev eth0
ip link set eth2 up
check "dockerd answers" vm-docker --iptables=false
cat >doc.yaml <<END
schema: aitherion.topology/1
node: { name: guest }
engine: { kind: docker, network: bridge, sim: true, docker_host: "$DOCKER_HOST" }
key_file: /tmp/key
numa:
  - { id: 0, node: 0, memory_nodes: [0], memory_percent: 20.0, control_iface: eth0, control_port: 51051, data_port: 51055 }
  - { id: 1, node: $last_node, memory_nodes: [$last_node], memory_percent: 20.0, control_port: 51052, data_port: 51056 }
roce:
  macvlans:
    - { name: mv0, parent: eth0, mode: bridge, numa: 0, address: 10.9.1.10/24, mtu: 1400 }
END
links_ready eth0

ath() { timeout 300 "$AITHERION" "$@" -c doc.yaml; }
start() { ath start --timeout 180 "$@" --json >start.json 2>start.err || { cat start.json start.err; return 1; }; }
outcomes() { jq -r '[.nodes[].outcome] | join(" ")' start.json; }
status() { ath status --json >status.json; jq -r "[.nodes[] | $1] | join(\" \")" status.json; } # FILTER
health() { # EXIT-CODE CODES: compares the findings, except those about the guest itself
    local code=0
    ath health --json >health.json 2>health.err || code=$?
    is "$code $(jq -r '[.checks[] | select(.status != "ok") | select(.code | IN("no-gpu", "no-gpus", "runtime-problem", "infiniband-mode",
        "rdma-not-ready", "no-usable-gid", "memlock-low", "distance-unknown", "address-duplicate") | not) | .code] | unique | join(" ")' \
        health.json)" "$1 $2"
}
links() { ip -o link | sed 's/^[0-9]*: //' | grep -v -e docker0 -e veth; docker ps -aq; docker network ls -q; ip netns list; }
before=$(links)

check "no runtime runs before the first start" is "$(status .state)" "absent absent"
check "health reports missing image, macvlan and runtimes" health 0 "image-missing macvlan-not-made runtime-not-started"
check "the first start makes image and key" start
check "both nodes are started" is "$(outcomes) $(jq -r '"\(.is_image_built) \(.is_key_new)"' start.json)" "started started true true"
check "health has no findings after the start" health 0 ""
check "the kernel shows each runtime on its node" is "$(status '.process | "\(.cpus) \(.memory_nodes)"')" \
    "$(cpus_of 0) 0 $(cpus_of "$last_node") $last_node"
check "one port is published on its interface's address, the other only on 127.0.0.1" is \
    "$(status '.process.ports[] | select(contains("/tcp"))')" "10.9.0.10:51051/tcp 127.0.0.1:51052/tcp"
check "a session works through the published port" /host/aitherion-runtime health --server 10.9.0.10:51051 --key /tmp/key
check "a second start succeeds" start
check "a second start does nothing" is "$(outcomes)" "same same"
check "status shows no drift" is "$(status .drift)" " "

nsenter -t "$(status '.process.pause_pid // empty')" -n ip link del mv0
check "a lost macvlan is a fault" health 3 "network-lost"
check "the hint is to start the node" has "$(jq -r '.checks[] | select(.code == "network-lost") | .hint' health.json)" "start 0"
check "starting the node succeeds" start 0
check "the start repaired the node" is "$(outcomes)" repaired
check "health has no findings after the repair" health 0 ""

docker pause aitherion-numa1 >/dev/null
check "a runtime that hangs has failed" health 3 "runtime-failed"
docker unpause aitherion-numa1 >/dev/null
check "health has no findings after the runtime goes on" await health 0 ""

pids=$(status .process.pid)
sed -i 's/mtu: 1400/mtu: 1450/' doc.yaml
check "a changed document is drift" health 0 "macvlan-drift"
check "a start with the changed document succeeds" start
check "the start repaired the macvlan" is "$(outcomes)" "repaired same"
check "the runtime was not started again" is "$(status .process.pid)" "$pids"
sed -i '/id: 1/s/memory_percent: 20.0/memory_percent: 25.0/' doc.yaml
check "another memory setting is drift" health 0 "runtime-drift"
check "a start with the new memory setting succeeds" start
check "only the changed runtime has another limit" is "$(outcomes)" "same changed"
check "no runtime was restarted for that" is "$(status .process.pid)" "$pids"

check "stop succeeds" ath stop
check "health reports stopped runtimes" health 0 "runtime-not-started"
check "clean succeeds" ath clean --yes --images
check "clean leaves nothing behind" is "$(links)" "$before"
check "clean --images deletes the image" is "$(docker images -q)" ""
exit "$failed"
