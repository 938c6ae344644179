#!/usr/bin/env bash
# Real nodes in containers with their own macvlan: a pause container that owns the network, binding to NUMA nodes, crashes, lost
# networks and their repair, kills between steps, refusals; and the same without Docker. Uses tests/tools/engine_steps. Runs in the
# guest.
# shellcheck source=tests/vm/checks.sh
. /vm/checks.sh

steps=/host/tests/tools/engine_steps
export DOCKER_HOST=unix:///run/docker.sock KEY=/tmp/key TIMEOUT_MS=180000
ip link set lo up
ip link set eth0 up; ip addr add 10.9.0.10/24 dev eth0
ip link set eth2 up
check "dockerd answers" vm-docker --iptables=false
head -c 32 /dev/urandom | base64 >"$KEY"
cat >doc.yaml <<END
schema: aitherion.topology/1
node: { name: guest }
engine: { sim: true }
numa:
  - { id: 0, node: 0, memory_nodes: [0], memory_percent: 20.0, vram_fraction: 0.5, control_port: 51051, data_port: 51055 }
  - { id: 1, node: $last_node, memory_nodes: [$last_node], memory_percent: 20.0, vram_fraction: 0.5, control_port: 51052, data_port: 51056 }
roce:
  macvlans:
    - { name: mv0, parent: eth0, mode: bridge, numa: 0, address: 10.9.1.10/24, mtu: 1400 }
END

engine=docker
start() { "$steps" "$engine" start doc.yaml "$@" >start.out 2>&1 || { cat start.out; return 1; }; }
outcome() { jq -r "select(.id == $1) | .outcome" start.out | xargs; } # ID
# A survey of Docker takes seconds here, so several checks use the same one.
survey() { "$steps" "$engine" survey >survey.out; }
node() { jq -r "select(.id == $1) | $2" survey.out; } # ID FILTER
in_pause() { nsenter -t "$(node 0 .pause_pid)" -n "$@"; }
in_runtime() { nsenter -t "$(node 0 .pid)" -n "$@"; }
is_running() { survey && is "$(node 0 .state) $(node 1 .state)" "running running"; }
is_wired() { # the macvlan is in the runtime's network, with the document's settings
    local link
    survey && link=$(in_runtime ip -d -o link show mv0) && has "$link" "mtu 1400" && has "$link" "macvlan mode bridge" &&
        has "$link" "alias aitherion:mv0" && has "$(in_runtime ip -o addr show mv0)" "10.9.1.10/24"
}
containers() { docker ps -aq --no-trunc | sort; }
# Prints the foreign containers, networks and links, which must not change.
foreign() { containers; docker network ls -q; world | grep -v -e docker0 -e veth; }

check "an image is built" /host/aitherion image build
docker run -d --name foreign --network none --entrypoint aitherion-runtime aitherion-runtime:latest pause >/dev/null
ip netns add blue
ip link add foreign0 link eth0 type macvlan mode bridge; ip link set foreign0 alias "somebody:else"
ip link set foreign0 up; ip addr add 10.9.1.99/24 dev foreign0
links_ready eth0 foreign0
before=$(foreign)

check "a first start succeeds" start
check "both nodes are started" is "$(outcome 0) $(outcome 1)" "started started"
check "both nodes run" is_running
check "the macvlan is in the runtime's network" is_wired
check "the network is the pause container's" is "$(readlink "/proc/$(node 0 .pid)/ns/net")" "$(readlink "/proc/$(node 0 .pause_pid)/ns/net")"
check "the macvlan is not on the host" not ip link show mv0
check "the survey shows the macvlan" is "$(node 0 '.macvlans[0] | "\(.name) \(.is_there) \(.is_up) \(.address) \(.mtu)"')" \
    "mv0 1 true 10.9.1.10/24 1400"
check "entry 0 is bound to the first node" is "$(node 0 '"\(.cpus) \(.mems)"')" "$(cpus_of 0) 0"
check "entry 1 is bound to the last node" is "$(node 1 '"\(.cpus) \(.mems)"')" "$(cpus_of "$last_node") $last_node"
check "the survey shows the published port" is "$(node 0 '.ports | join(" ")')" "127.0.0.1:51051/tcp"
check "the published port answers" /host/aitherion-runtime health --server 127.0.0.1:51051 --key "$KEY"
check "a foreign macvlan on the parent reaches the address" ping -c 1 -w 10 -I foreign0 10.9.1.10
ids=$(containers)
check "a second start succeeds" start
check "a second start does nothing" is "$(outcome 0) $(outcome 1)" "same same"
check "a second start keeps the containers" is "$(containers)" "$ids"

old=$(node 0 .pid)
kill -9 "$old"
runs_again() { survey && [[ $(node 0 .state) == running && $(node 0 .pid) != "$old" ]]; }
check "a killed runtime runs again" await runs_again
check "the restarted runtime has its macvlan" is_wired

kill -9 "$(node 0 .pause_pid)"
is_lost() { survey && is "$(node 0 .state)" lost-network; }
check "a killed pause container is a lost network" await is_lost
check "the survey names the problem" has "$(node 0 .problem)" "does not run"
check "a start after the kill succeeds" start
check "the start repaired only entry 0" is "$(outcome 0) $(outcome 1)" "repaired same"
check "the macvlan is back after the kill" is_wired
check "the repair keeps the containers" is "$(containers)" "$ids"

in_pause ip link del mv0
check "a deleted macvlan is a lost network" is_lost
check "a start after the deletion succeeds" start
check "the macvlan is back after the deletion" is_wired

docker restart -t 1 aitherion-numa0-net >/dev/null
check "a restarted pause container is a lost network" await is_lost
check "a start after the restart succeeds" start
check "the macvlan is back after the restart" is_wired
in_pause ip link set mv0 mtu 1300
check "a start after a change of the MTU succeeds" start
check "the MTU is restored" is_wired

sed -i 's/mtu: 1400/mtu: 1400, host_link: true, host_address: 10.9.1.11\/24/' doc.yaml
check "a companion on the host is added" start
check "the host reaches the macvlan through the companion" ping -c 1 -w 10 10.9.1.10
sed -i 's/, host_link: true, host_address: 10.9.1.11\/24//' doc.yaml

"$steps" docker stop >stop.out
survey
check "both nodes are stopped" is "$(node 0 .state) $(node 1 .state)" "stopped stopped"
check "the macvlan ended with its network" bash -c '! ip -all netns exec ip -o link | grep mv0@'
check "a start after the stop succeeds" start
check "the containers are the same after the stop" is "$(containers)" "$ids"
check "the macvlan is back after the stop" is_wired
check "clean succeeds" "$steps" docker clean
check "clean leaves nothing behind" is "$(foreign)" "$before"

# The start is killed before each step. Then another start finishes, or clean removes everything.
killed_at() { # STEP; bash prints "Killed" unless the command is part of a condition
    if KILL_AT=$1 "$steps" docker start doc.yaml 0 >/dev/null; then echo "# was not killed"; fi 2>/dev/null
}
for step in pause macvlan runtime; do
    killed_at "$step"
    check "killed before '$step': another start succeeds" start 0
    check "killed before '$step': the macvlan is in the runtime's network" is_wired
    "$steps" docker clean >/dev/null
    killed_at "$step"
    "$steps" docker clean >/dev/null
    check "killed before '$step': clean leaves nothing behind" is "$(foreign)" "$before"
done

# If a start fails, a macvlan that `roce macvlan` made returns to its namespace.
/host/tests/tools/macvlan_steps make mv0 eth0 bridge 10.9.1.10/24 1400 >/dev/null
/host/aitherion-runtime serve --listen 127.0.0.1:51051 --no-auth --sim >listener.log 2>&1 &
listener=$!
check "another process uses the port" await grep -q "listening on" listener.log
"$steps" docker start doc.yaml >start.out 2>&1
check "the start fails with port-in-use" has "$(cat start.out)" '"error":"port-in-use"'
check "the error names the process" has "$(cat start.out)" "(process $listener)"
survey
check "the other node is started" is "$(node 1 .state)" running
check "the failed node leaves no container" is "$(docker ps -aq --filter label=aitherion.numa=0)" ""
check "the macvlan is in its own namespace again" is "$(/host/tests/tools/macvlan_steps state mv0)" made
kill "$listener"
"$steps" docker clean >/dev/null
check "clean removes the other node" is "$(foreign)" "$before"

# Without Docker.
engine=process
export RUNTIME=/host/aitherion-runtime
check "processes: a first start succeeds" start
check "processes: both nodes run" is_running
check "processes: the macvlan is in the runtime's network" is_wired
check "processes: the macvlan is not on the host" not ip link show mv0
if [[ $(node 0 .limits) == *cpuset* ]]; then
    skip "processes: $(node 0 .limits)"
else
    check "processes: entry 0 is bound to the first node" is "$(node 0 '"\(.cpus) \(.mems)"')" "$(cpus_of 0) 0"
    check "processes: entry 1 is bound to the last node" is "$(node 1 '"\(.cpus) \(.mems)"')" "$(cpus_of "$last_node") $last_node"
fi
check "processes: a second start succeeds" start
check "processes: a second start does nothing" is "$(outcome 0) $(outcome 1)" "same same"
in_runtime ip link del mv0
check "processes: a deleted macvlan is a lost network" is_lost
check "processes: a start after the deletion succeeds" start
check "processes: the start repaired only entry 0" is "$(outcome 0) $(outcome 1)" "repaired same"
check "processes: the macvlan is back" is_wired
check "processes: clean succeeds" "$steps" process clean
check "processes: clean leaves nothing behind" is "$(foreign)" "$before"
exit "$failed"
