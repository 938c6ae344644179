#!/usr/bin/env bash
# `aitherion health` on real links, soft-RoCE devices and macvlans. Each is broken by hand, reported, and repaired with the command
# of the hint. Runs in the guest.
# shellcheck disable=SC2016,SC2317 # functions are called through check
# shellcheck source=tests/vm/checks.sh
. /vm/checks.sh

health() { timeout 300 "$AITHERION" health -c d.yaml "$@"; }
found() { # EXIT-CODE "CODE STATUS OBJECT;...": compares all findings, except those about the missing GPU and runtimes
    local rc=0
    health --json >health.json || rc=$?
    is "$(jq -r '.checks[] | select(.status != "ok" and (.code | IN("no-gpu", "no-gpus", "runtime-not-started") | not)) |
        "\(.code) \(.status) \(.object)"' health.json |
        paste -sd ';')" "$2" && is "$rc" "$1"
}
repair() { # CODE: runs the command of the hint
    local hint
    hint=$(jq -r --arg code "$1" 'first(.checks[] | select(.code == $code and .status != "ok")) | .hint' health.json)
    echo "# $hint"
    eval "${hint/#aitherion/$AITHERION}"
}
shows() { health -v >health.txt 2>/dev/null || [[ $? == [34] ]]; has "$(cat health.txt)" "$1"; }

check "without a document: a fault" found 3 "document-missing fault d.yaml"
soft_roce 0 2
ip link set eth1 up; ip addr add 10.7.0.1/24 dev eth1
cat >d.yaml <<YAML
schema: aitherion.topology/1
numa:
  - { id: 0, node: 0, control_iface: eth1, data_iface: eth0, rdma_devices: [rxe0], control_port: 50051, data_port: 5555 }
  - { id: 1, node: $last_node, control_iface: eth1, data_iface: eth2, rdma_devices: [rxe2], control_port: 50052, data_port: 5556 }
roce:
  macvlans:
    - { name: mv0, parent: eth0, numa: 0, address: 10.9.1.10/24, mtu: 1400 }
YAML
rxe_ready rxe0 rxe2
await eval '[[ $(cat /sys/class/net/eth1/operstate) == up ]]'
check "a macvlan that does not exist is reported" found 0 "macvlan-not-made warning mv0"
check "the hint makes the macvlan" repair macvlan-not-made
check "all checks pass" found 0 ""
check "the state of a macvlan is shown" shows "mv0  on eth0, made, up, 10.9.1.10/24"
check "the GID to use is shown" shows "rxe0 port 1  active, on eth0, use GID"
check "the address of an interface is shown" shows "10.7.0.1/24"

# ---- broken one by one ----
ip -n aitherion-mv0 link set mv0 mtu 1300
check "a changed MTU is drift" found 0 "macvlan-drift warning mv0"
check "the message names the step" has "$(jq -r '.checks[] | select(.status == "warning") | .message' health.json)" "set the MTU of link 'mv0' to 1400"
check "the hint removes the drift" repair macvlan-drift
check "all is well again" found 0 ""
ip -n aitherion-mv0 link del mv0
check "a deleted macvlan is reported" found 3 "macvlan-gone fault mv0"
check "the hint makes the macvlan again" repair macvlan-gone
check "all is well again" found 0 ""

ip link set eth2 down
check "a link that is down is reported with its RDMA port" eval 'found 3 "interface-down fault eth2;rdma-port-down fault rxe2"'
check "the hint brings the link up" repair interface-down
await eval '[[ $(cat /sys/class/net/eth2/operstate) == up ]]'
rxe_ready rxe2
ip addr add 10.9.0.12/24 dev eth2 2>/dev/null
check "all is well again" found 0 ""

ip addr del 10.7.0.1/24 dev eth1
check "a control interface without an address is reported" found 3 \
    "interface-without-address fault eth1;interface-without-address fault eth1"
ip addr add 10.7.0.1/24 dev eth1
ip addr flush dev eth0
check "a parent without an address is no fault" found 0 ""
ip addr add 10.9.0.10/24 dev eth0
check "all is well again" found 0 ""

sysctl -qw net.ipv6.conf.eth2.dad_transmits=100
ip addr add 2001:db8::2/64 dev eth2
check "GIDs that do not work yet are reported" found 0 "rdma-not-ready warning rxe2"
ip addr del 2001:db8::2/64 dev eth2
sysctl -qw net.ipv6.conf.eth2.dad_transmits=1
ip addr add 2001:db8::2/64 dev eth2
check "GIDs work after duplicate address detection" await found 0 ""

ip addr add 10.9.1.10/24 dev eth1
check "another link with the macvlan's address is reported" found 3 "macvlan-impossible fault mv0"
ip addr del 10.9.1.10/24 dev eth1

sed '/^roce/,$d' d.yaml >other.yaml
unrecorded() { "$AITHERION" health --json -c other.yaml | jq -e '.checks[] | select(.code == "macvlan-unrecorded" and .object == "mv0")'; }
check "a macvlan that is not in the document is reported" unrecorded

# ---- as another user ----
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$AITHERION" health --json -c d.yaml >as_user.json; (($? == 4)); }
chmod 755 /tmp
check "a user who may not enter namespaces gets a hint" eval 'as_user && json as_user.json "any(.checks[];
    .code == \"macvlan-not-made\" and .status == \"unknown\" and (.hint | contains(\"sudo\")))"'

# ---- in a container ----
unshare -n sleep 1000 &
container=$!
await has_own_network $container
ip -n aitherion-mv0 link set mv0 netns $container
check "a macvlan in a container without its address is drift" found 0 "macvlan-drift warning mv0"
nsenter -t $container -n sh -c 'ip addr add 10.9.1.10/24 dev mv0; ip link set mv0 up'
check "a macvlan in a container with its address is fine" found 0 ""
check "the state names the container" shows "mv0  on eth0, in a container, up, 10.9.1.10/24"
kill $container
wait $container 2>/dev/null
lost() { found 3 "macvlan-gone fault mv0"; }
check "a macvlan that ended with its container is reported" await lost

# ---- exclusive mode: the kernel allows it only without other namespaces ----
timeout 300 "$AITHERION" roce macvlan mv0 --delete -c d.yaml >/dev/null
check "the macvlan leaves no finding after its deletion" found 0 ""
# shellcheck disable=SC2015
await rdma system set netns exclusive 2>/dev/null &&
    check "exclusive mode is reported" found 3 "rdma-netns-exclusive fault null" || skip "no exclusive mode: another namespace exists"
rdma system set netns shared

# ---- watching ----
"$AITHERION" health --watch 1 --json -c d.yaml >watch.json 2>/dev/null &
watch=$!
lines() { (($(wc -l <watch.json) == $1)); }
check "watching prints a first line" await lines 1
ip link set eth2 down
check "watching prints a line after a change" await lines 2
check "the line has the fault" eval 'tail -1 watch.json >last.json; json last.json ".counts.fault > 0"'
kill -TERM $watch
wait $watch
check "the exit code is that of the last line" is $? 3
exit "$failed"
