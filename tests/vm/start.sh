#!/usr/bin/env bash
# Nodes in containers with a macvlan of their own, for real: the pause container that owns the network, bound to NUMA nodes, crashed,
# lost, mended, killed in the midst of each step, refused; and the same without Docker. Drives tests/tools/engine_steps. Runs in the
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
# A survey of Docker takes seconds here: what is asked after one looks at the same.
survey() { "$steps" "$engine" survey >survey.out; }
node() { jq -r "select(.id == $1) | $2" survey.out; } # ID FILTER
in_pause() { nsenter -t "$(node 0 .pause_pid)" -n "$@"; }
in_runtime() { nsenter -t "$(node 0 .pid)" -n "$@"; }
is_running() { survey && is "$(node 0 .state) $(node 1 .state)" "running running"; }
is_wired() { # its macvlan in its network, as the document has it
    local link
    survey && link=$(in_runtime ip -d -o link show mv0) && has "$link" "mtu 1400" && has "$link" "macvlan mode bridge" &&
        has "$link" "alias aitherion:mv0" && has "$(in_runtime ip -o addr show mv0)" "10.9.1.10/24"
}
containers() { docker ps -aq --no-trunc | sort; }
# What must be as it was when we are done.
strangers() { containers; docker network ls -q; world | grep -v -e docker0 -e veth; }

check "an image is built" /host/aitherion image build
docker run -d --name stranger --network none --entrypoint aitherion-runtime aitherion-runtime:latest pause >/dev/null
ip netns add blue
ip link add foreign0 link eth0 type macvlan mode bridge; ip link set foreign0 alias "somebody:else"
ip link set foreign0 up; ip addr add 10.9.1.99/24 dev foreign0
links_ready eth0 foreign0
before=$(strangers)

check "started" start
check "both new" is "$(outcome 0) $(outcome 1)" "started started"
check "both run" is_running
check "the macvlan is in the runtime's network" is_wired
check "which is the pause container's" is "$(readlink "/proc/$(node 0 .pid)/ns/net")" "$(readlink "/proc/$(node 0 .pause_pid)/ns/net")"
check "and not on the host" not ip link show mv0
check "the survey sees it" is "$(node 0 '.macvlans[0] | "\(.name) \(.is_there) \(.is_up) \(.address) \(.mtu)"')" \
    "mv0 1 true 10.9.1.10/24 1400"
check "one is bound to the first node" is "$(node 0 '"\(.cpus) \(.mems)"')" "$(cpus_of 0) 0"
check "the other to the last" is "$(node 1 '"\(.cpus) \(.mems)"')" "$(cpus_of "$last_node") $last_node"
check "published ports" is "$(node 0 '.ports | join(" ")')" "127.0.0.1:51051/tcp"
check "which are answered" /host/aitherion-runtime health --server 127.0.0.1:51051 --key "$KEY"
check "a stranger on the parent reaches the macvlan's address" ping -c 1 -w 10 -I foreign0 10.9.1.10
ids=$(containers)
check "again" start
check "nothing to do" is "$(outcome 0) $(outcome 1)" "same same"
check "the same containers" is "$(containers)" "$ids"

old=$(node 0 .pid)
kill -9 "$old"
runs_anew() { survey && [[ $(node 0 .state) == running && $(node 0 .pid) != "$old" ]]; }
check "a runtime that was killed comes back" await runs_anew
check "with its macvlan" is_wired

kill -9 "$(node 0 .pause_pid)"
is_lost() { survey && is "$(node 0 .state)" lost-network; }
check "a pause container that was killed is a lost network" await is_lost
check "said so" has "$(node 0 .problem)" "does not run"
check "mended" start
check "as such" is "$(outcome 0) $(outcome 1)" "mended same"
check "the macvlan is back" is_wired
check "with the same containers" is "$(containers)" "$ids"

in_pause ip link del mv0
check "a macvlan that was deleted is a lost network" is_lost
check "mended" start
check "the macvlan is back" is_wired

docker restart -t 1 aitherion-numa0-net >/dev/null
check "a pause container that was restarted is a lost network" await is_lost
check "mended" start
check "the macvlan is back" is_wired
in_pause ip link set mv0 mtu 1300
check "an MTU that somebody changed is set back" start
check "without another start of the runtime" is_wired

sed -i 's/mtu: 1400/mtu: 1400, host_link: true, host_address: 10.9.1.11\/24/' doc.yaml
check "a link on the host is added" start
check "by which the host reaches it" ping -c 1 -w 10 10.9.1.10
sed -i 's/, host_link: true, host_address: 10.9.1.11\/24//' doc.yaml

"$steps" docker stop >stop.out
survey
check "stopped" is "$(node 0 .state) $(node 1 .state)" "stopped stopped"
check "the macvlan is gone with its network" bash -c '! ip -all netns exec ip -o link | grep mv0@'
check "started again" start
check "the same containers" is "$(containers)" "$ids"
check "the macvlan is back" is_wired
check "cleaned" "$steps" docker clean
check "nothing is left" is "$(strangers)" "$before"

# Killed as it comes to each step, then finished or cleaned.
killed_at() { # STEP; bash says "Killed" itself unless it is waited for in a condition
    if KILL_AT=$1 "$steps" docker start doc.yaml 0 >/dev/null; then echo "# was not killed"; fi 2>/dev/null
}
for step in pause macvlan runtime; do
    killed_at "$step"
    check "killed before '$step', then started" start 0
    check "runs, wired" is_wired
    "$steps" docker clean >/dev/null
    killed_at "$step"
    "$steps" docker clean >/dev/null
    check "killed before '$step', then cleaned" is "$(strangers)" "$before"
done

# A macvlan that `roce macvlan` has made goes back to its namespace when the start fails.
/host/tests/tools/macvlan_steps make mv0 eth0 bridge 10.9.1.10/24 1400 >/dev/null
/host/aitherion-runtime serve --listen 127.0.0.1:51051 --no-auth --sim >listener.log 2>&1 &
listener=$!
check "a port is taken" await grep -q "listening on" listener.log
"$steps" docker start doc.yaml >start.out 2>&1
check "that is named" has "$(cat start.out)" '"error":"port-in-use"'
check "with who has it" has "$(cat start.out)" "(process $listener)"
survey
check "the other node starts" is "$(node 1 .state)" running
check "nothing is left of the one" is "$(docker ps -aq --filter label=aitherion.numa=0)" ""
check "its macvlan is where it was" is "$(/host/tests/tools/macvlan_steps state mv0)" made
kill "$listener"
"$steps" docker clean >/dev/null
check "cleaned" is "$(strangers)" "$before"

# Without Docker.
engine=process
export RUNTIME=/host/aitherion-runtime
check "processes: started" start
check "processes: both run" is_running
check "processes: the macvlan is in the runtime's network" is_wired
check "processes: which is not the host's" not ip link show mv0
if [[ $(node 0 .limits) == *cpuset* ]]; then
    skip "processes: $(node 0 .limits)"
else
    check "processes: one is bound to the first node" is "$(node 0 '"\(.cpus) \(.mems)"')" "$(cpus_of 0) 0"
    check "processes: the other to the last" is "$(node 1 '"\(.cpus) \(.mems)"')" "$(cpus_of "$last_node") $last_node"
fi
check "processes: again" start
check "processes: nothing to do" is "$(outcome 0) $(outcome 1)" "same same"
in_runtime ip link del mv0
check "processes: a macvlan that was deleted is a lost network" is_lost
check "processes: mended" start
check "processes: as such" is "$(outcome 0) $(outcome 1)" "mended same"
check "processes: the macvlan is back" is_wired
check "processes: cleaned" "$steps" process clean
check "processes: nothing is left" is "$(strangers)" "$before"
exit "$failed"
