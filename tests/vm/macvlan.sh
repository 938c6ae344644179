#!/usr/bin/env bash
# Macvlans made for real: in their namespace, with their GIDs, undone, killed in the midst, deleted. Drives tests/tools/macvlan_steps.
# The unit tests about the network run here as well, where the kernel has macvlan. Runs in the guest.
# shellcheck source=tests/vm/checks.sh
. /vm/checks.sh

tool=/host/tests/tools/macvlan_steps
in_ns() { ip netns exec "aitherion-$1" "${@:2}"; }
gids_of() { grep -lx "$2" /sys/class/infiniband/"$1"/ports/1/gid_attrs/ndevs/* 2>/dev/null | wc -l; }

for test in netlink link netns macvlan; do
    if [[ -x /host/tests/unit/test_$test ]]; then
        check "unit test $test" "/host/tests/unit/test_$test"
    else
        skip "unit test $test was not built (package check)"
    fi
done

ip link set lo up
ip link set eth0 up; ip addr add 10.9.0.10/24 dev eth0
ip link set eth2 up; ip addr add 10.9.0.12/24 dev eth2
modprobe -a rdma_rxe
rdma link add rxe0 type rxe netdev eth0
check "a port is ready after duplicate address detection" "$tool" wait rxe0
check "then no address is tentative" is "$(ip -6 -o addr show dev eth0 tentative)" ""
check "devices by netlink" has "$("$tool" devices)" "rxe0/1 eth0 2"
check "netns mode by netlink" has "$("$tool" devices)" "netns shared"
check "waiting for a device that is not there" says "rdma-not-ready" "$tool" wait rxe9

# Strangers: they must be the same in the end.
ip netns add blue; ip link add foreign0 link eth0 type macvlan mode bridge; ip link set foreign0 alias "somebody:else"
ip link add foreign1 link eth2 type macvlan mode bridge; ip link set foreign1 netns blue
ip -n blue link set lo up
links_ready eth0 eth2
before=$(world)

check "recorded" is "$("$tool" state mv0)" recorded
check "made" "$tool" make mv0 eth0 bridge 10.9.1.10/24 1400
check "its state" is "$("$tool" state mv0)" made
check "mode" has "$(in_ns mv0 ip -d link show mv0)" "macvlan mode bridge"
check "label" has "$(in_ns mv0 ip link show mv0)" "alias aitherion:mv0"
check "address" has "$(in_ns mv0 ip -o addr show mv0)" "10.9.1.10/24"
check "MTU" has "$(in_ns mv0 ip link show mv0)" "mtu 1400"
check "up" has "$(in_ns mv0 ip link show mv0)" "state UP"
check "lo up" has "$(in_ns mv0 ip link show lo)" "LOOPBACK,UP"
check "not on the host" not ip link show mv0
two_gids() { is "$(gids_of rxe0 mv0)" 2; }
check "its addresses become GIDs of the parent's device" await two_gids
gid_is_there() { cat /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null | grep -q '0000:0000:0000:0000:0000:ffff:0a09:010a'; }
check "its IPv4 address among them" await gid_is_there
check "a second run does nothing" silent "$tool" make mv0 eth0 bridge 10.9.1.10/24 1400

check "changed in place: MTU, mode, address" is "$("$tool" make mv0 eth0 private 10.9.1.11/24 1300 | wc -l)" 4
check "mode changed" has "$(in_ns mv0 ip -d link show mv0)" "macvlan mode private"
check "one address" is "$(in_ns mv0 ip -4 -o addr show mv0 | grep -c 10.9.1)" 1
check "another parent: made anew" has "$("$tool" make mv0 eth2 private 10.9.1.11/24 1300)" "delete link 'mv0'"
check "nothing left to do" silent "$tool" make mv0 eth2 private 10.9.1.11/24 1300
check "passthru beside a stranger is refused" says "parent-unsuitable" "$tool" make mv0 eth2 passthru 10.9.1.11/24 1300
check "and on eth1, alone, it works" "$tool" make mv0 eth1 passthru 10.9.1.11/24 1300
check "a second on it is refused" says "passthru mode and has it alone" "$tool" make mv1 eth1 bridge - -
check "deleted" "$tool" delete mv0
check "state after" is "$("$tool" state mv0)" recorded
check "a second delete does nothing" silent "$tool" delete mv0
check "strangers are as before" is "$(world)" "$before"

for refused in "mv0 eth9 bridge - -|not-found" "mv0 lo bridge - -|link-not-ethernet" "mv0 foreign0 bridge - -|parent-unsuitable" \
    "mv0 eth0 bridge - 9001|value-invalid" "mv0 eth0 bridge 10.9.0.12/24 -|address-in-use" "foreign0 eth0 bridge - -|foreign" \
    "mv0 eth0 bridge 10.9.1/24 -|value-invalid"; do
    # shellcheck disable=SC2086  # words on purpose
    check "refused: ${refused%|*}" says "error ${refused#*|}:" "$tool" make ${refused%|*}
done
check "a foreign link is not deleted" says "error foreign:" "$tool" delete foreign0
check "nothing was touched" is "$(world)" "$before"

# Every step fails once; nothing may be left. Then every step is the one before which SIGKILL comes; the next run finishes.
export COMPANION=1
make_all() { "$tool" make mv0 eth0 bridge 10.9.0.20/24 1400; }
steps=11
check "there are $steps steps" is "$(make_all | wc -l)" $steps
"$tool" delete mv0 > /dev/null
for ((n = 1; n <= steps; n++)); do
    FAIL_AT=$n check "step $n fails: undone" says "made to fail" make_all
    check "step $n fails: nothing left" is "$(world)" "$before"
done
kill_at() { # N: makes, up to step N
    { KILL_AT=$1 make_all; } > /dev/null 2>&1
    is $? 137
}
for ((n = 1; n <= steps; n++)); do
    check "killed before step $n" kill_at $n
    case $n in 2|4|8)
        check "killed before step $n: deleted half made" "$tool" delete mv0
        check "killed before step $n: nothing left" is "$(world)" "$before"
        check "killed again before step $n" kill_at $n ;;
    esac
    check "killed before step $n: finished" make_all
    check "killed before step $n: nothing to do" silent make_all
    [ $n = $steps ] || check "killed before step $n: deleted" "$tool" delete mv0
done

# The companion is there now.
check "companion on the host" has "$(ip link show mv0-host)" "alias aitherion:mv0:host"
check "the host reaches its own macvlan through it" await ping -c 1 -W 1 10.9.0.20
unset COMPANION
check "companion dropped" is "$("$tool" make mv0 eth0 bridge 10.9.0.20/24 1400)" "delete link 'mv0-host', on the host"
check "without it the host does not" not ping -c 1 -W 1 10.9.0.20

# Into a container's namespace, which ends with its process.
unshare -n sleep 1000 & holder=$!
await has_own_network $holder
check "moved" env NETNS=/proc/$holder/ns/net "$tool" make mv0 eth0 bridge 10.9.0.20/24 1400
check "its state: moved" is "$("$tool" state mv0)" moved
check "address set again there" has "$(nsenter -t $holder -n ip -o addr show mv0)" "10.9.0.20/24"
check "MTU and label kept" has "$(nsenter -t $holder -n ip link show mv0)" "mtu 1400"
check "nothing to do, with the container or without saying so" silent "$tool" make mv0 eth0 bridge 10.9.0.20/24 1400
check "its GIDs are still the parent's" await two_gids
kill $holder; wait $holder 2> /dev/null
gone() { is "$("$tool" state mv0)" gone; }
check "gone with the container" await gone
check "made again" "$tool" make mv0 eth0 bridge 10.9.0.20/24 1400
check "a namespace with a stranger's link is kept" says "error foreign:" bash -c "ip link add guest0 link eth3 type macvlan; ip link set guest0 netns aitherion-mv0; $tool delete mv0"
in_ns mv0 ip link del guest0
check "deleted with all" "$tool" delete mv0
check "strangers are as before in the end" is "$(world)" "$before"
modprobe -r macvlan 2> /dev/null || { ip link del foreign0; ip netns del blue; sleep 0.5; modprobe -r macvlan; }
mv /lib/modules/"$(uname -r)" /lib/modules/away
check "a kernel without macvlan: how to mend it" says "hint: modprobe macvlan" "$tool" make mv0 eth0 bridge - -
check "and nothing left" not ip netns exec aitherion-mv0 true
mv /lib/modules/away /lib/modules/"$(uname -r)"
exit "$failed"
