#!/usr/bin/env bash
# aitherion start, status, health, stop and clean with Docker's bridge, a macvlan and two NUMA nodes: what a person sees of what
# start.sh tests by the engines. Runs in the guest.
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
health() { # EXIT-CODE CODES: what is not fine, findings about the guest itself aside
    local code=0
    ath health --json >health.json 2>health.err || code=$?
    is "$code $(jq -r '[.checks[] | select(.status != "ok") | select(.code | IN("no-gpu", "runtime-problem", "infiniband-mode",
        "rdma-not-ready", "no-usable-gid", "memlock-low", "distance-unknown", "address-duplicate") | not) | .code] | unique | join(" ")' \
        health.json)" "$1 $2"
}
links() { ip -o link | sed 's/^[0-9]*: //' | grep -v -e docker0 -e veth; docker ps -aq; docker network ls -q; ip netns list; }
before=$(links)

check "before the first start nothing runs" is "$(status .state)" "absent absent"
check "health says so" health 0 "image-missing macvlan-not-made runtime-not-started"
check "the first start makes image and key" start
check "both new" is "$(outcomes) $(jq -r '"\(.is_image_built) \(.is_key_new)"' start.json)" "started started true true"
check "health is fine" health 0 ""
check "each is on its node, as the kernel says" is "$(status '.process | "\(.cpus) \(.memory_nodes)"')" \
    "$(cpus_of 0) 0 $(cpus_of "$last_node") $last_node"
check "one is published on its interface's address, the other for this machine alone" is \
    "$(status '.process.ports[] | select(contains("/tcp"))')" "10.9.0.10:51051/tcp 127.0.0.1:51052/tcp"
check "a session by the published port" /host/aitherion-runtime health --server 10.9.0.10:51051 --key /tmp/key
check "again" start
check "nothing to do" is "$(outcomes)" "same same"
check "no drift" is "$(status .drift)" " "

nsenter -t "$(status '.process.pause_pid // empty')" -n ip link del mv0
check "a macvlan that is lost is a fault" health 3 "network-lost"
check "whose mend is said" has "$(jq -r '.checks[] | select(.code == "network-lost") | .hint' health.json)" "start 0"
check "by which it is mended" start 0
check "as such" is "$(outcomes)" mended
check "and health is fine" health 0 ""

docker pause aitherion-numa1 >/dev/null
check "one that hangs has failed" health 3 "runtime-failed"
docker unpause aitherion-numa1 >/dev/null
check "and health is fine again" await health 0 ""

pids=$(status .process.pid)
sed -i 's/mtu: 1400/mtu: 1450/' doc.yaml
check "a document that was changed drifts" health 0 "macvlan-drift"
check "and is started" start
check "as a mend" is "$(outcomes)" "mended same"
check "without another start of the runtime" is "$(status .process.pid)" "$pids"
sed -i '/id: 1/s/memory_percent: 20.0/memory_percent: 25.0/' doc.yaml
check "what is bound otherwise drifts" health 0 "runtime-drift"
check "and is started" start
check "that one anew" is "$(outcomes)" "same restarted"

check "stopped" ath stop
check "health says so" health 0 "runtime-not-started"
check "cleaned" ath clean --yes --images
check "nothing is left" is "$(links)" "$before"
check "no image" is "$(docker images -q)" ""
exit "$failed"
