#!/usr/bin/env bash
# `aitherion health` on real links, soft-RoCE devices and macvlans: each is broken by hand, found, and mended by the command that
# health names. Runs in the guest.
# shellcheck disable=SC2016,SC2317 # what is called through check
# shellcheck source=tests/vm/checks.sh
. /vm/checks.sh

health() { timeout 300 "$AITHERION" health -c d.yaml "$@"; }
found() { # EXIT-CODE "CODE STATUS OBJECT;...": all that is not fine, but for the GPU that this machine lacks and runtimes
    local rc=0
    health --json >health.json || rc=$?
    is "$(jq -r '.checks[] | select(.status != "ok" and (.code | IN("no-gpu", "runtime-not-started") | not)) |
        "\(.code) \(.status) \(.object)"' health.json |
        paste -sd ';')" "$2" && is "$rc" "$1"
}
mend() { # CODE: the command of its hint
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
check "a macvlan that is not made" found 0 "macvlan-not-made warning mv0"
check "its mend" mend macvlan-not-made
check "all is well" found 0 ""
check "the state of a macvlan" shows "mv0  on eth0, made, up, 10.9.1.10/24"
check "the GID to use" shows "rxe0 port 1  active, on eth0, use GID"
check "the address of an interface" shows "10.7.0.1/24"

# ---- broken one by one ----
ip -n aitherion-mv0 link set mv0 mtu 1300
check "drift" found 0 "macvlan-drift warning mv0"
check "is said in words" has "$(jq -r '.checks[] | select(.status == "warning") | .message' health.json)" "set the MTU of link 'mv0' to 1400"
check "its mend" mend macvlan-drift
check "all is well again" found 0 ""
ip -n aitherion-mv0 link del mv0
check "a macvlan that was lost" found 3 "macvlan-gone fault mv0"
check "its mend" mend macvlan-gone
check "all is well again" found 0 ""

ip link set eth2 down
check "a link that is down, with its RDMA port" eval 'found 3 "interface-down fault eth2;rdma-port-down fault rxe2"'
check "its mend" mend interface-down
await eval '[[ $(cat /sys/class/net/eth2/operstate) == up ]]'
rxe_ready rxe2
ip addr add 10.9.0.12/24 dev eth2 2>/dev/null
check "all is well again" found 0 ""

ip addr del 10.7.0.1/24 dev eth1
check "a control interface without an address" found 3 \
    "interface-without-address fault eth1;interface-without-address fault eth1"
ip addr add 10.7.0.1/24 dev eth1
ip addr flush dev eth0
check "a macvlan needs none of its parent's addresses" found 0 ""
ip addr add 10.9.0.10/24 dev eth0
check "all is well again" found 0 ""

sysctl -qw net.ipv6.conf.eth2.dad_transmits=100
ip addr add 2001:db8::2/64 dev eth2
check "GIDs that do not work yet" found 0 "rdma-not-ready warning rxe2"
ip addr del 2001:db8::2/64 dev eth2
sysctl -qw net.ipv6.conf.eth2.dad_transmits=1
ip addr add 2001:db8::2/64 dev eth2
check "and do, after a while" await found 0 ""

ip addr add 10.9.1.10/24 dev eth1
check "the macvlan's address on another link" found 3 "macvlan-impossible fault mv0"
ip addr del 10.9.1.10/24 dev eth1

sed '/^roce/,$d' d.yaml >other.yaml
unrecorded() { "$AITHERION" health --json -c other.yaml | jq -e '.checks[] | select(.code == "macvlan-unrecorded" and .object == "mv0")'; }
check "a macvlan that the document does not know" unrecorded

# ---- as somebody else ----
stranger() { setpriv --reuid 65534 --regid 65534 --clear-groups "$AITHERION" health --json -c d.yaml >stranger.json; (($? == 4)); }
chmod 755 /tmp
check "who may not look into namespaces is told so" eval 'stranger && json stranger.json "any(.checks[];
    .code == \"macvlan-not-made\" and .status == \"unknown\" and (.hint | contains(\"sudo\")))"'

# ---- in a container ----
unshare -n sleep 1000 &
container=$!
await has_own_network $container
ip -n aitherion-mv0 link set mv0 netns $container
check "moved into a container, bare: drift" found 0 "macvlan-drift warning mv0"
nsenter -t $container -n sh -c 'ip addr add 10.9.1.10/24 dev mv0; ip link set mv0 up'
check "and with its address: well" found 0 ""
check "its state" shows "mv0  on eth0, in a container, up, 10.9.1.10/24"
kill $container
wait $container 2>/dev/null
lost() { found 3 "macvlan-gone fault mv0"; }
check "gone with the container" await lost

# ---- exclusive mode needs that there is no other namespace ----
timeout 300 "$AITHERION" roce macvlan mv0 --delete -c d.yaml >/dev/null
check "nothing is left of it" found 0 ""
# shellcheck disable=SC2015
await rdma system set netns exclusive 2>/dev/null &&
    check "exclusive mode" found 3 "rdma-netns-exclusive fault null" || skip "no exclusive mode: a namespace is still there"
rdma system set netns shared

# ---- watching ----
"$AITHERION" health --watch 1 --json -c d.yaml >watch.json 2>/dev/null &
watch=$!
lines() { (($(wc -l <watch.json) == $1)); }
check "a first line" await lines 1
ip link set eth2 down
check "a line when something changes" await lines 2
check "and which" eval 'tail -1 watch.json >last.json; json last.json ".counts.fault > 0"'
kill -TERM $watch
wait $watch
check "its exit code is that of the last look" is $? 3
exit "$failed"
