#!/usr/bin/env bash
# Real macvlans: made in their namespace with their GIDs, undone after a failure, killed between steps, deleted. Uses
# tests/tools/macvlan_steps. The unit tests about the network run here, too, because this kernel has macvlan. Runs in the guest.
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
check "no address is tentative afterwards" is "$(ip -6 -o addr show dev eth0 tentative)" ""
check "netlink lists the devices" has "$("$tool" devices)" "rxe0/1 eth0 2"
check "netlink reports the netns mode" has "$("$tool" devices)" "netns shared"
check "waiting for a missing device fails" says "rdma-not-ready" "$tool" wait rxe9

# Foreign links and namespaces, which must stay unchanged.
ip netns add blue; ip link add foreign0 link eth0 type macvlan mode bridge; ip link set foreign0 alias "somebody:else"
ip link add foreign1 link eth2 type macvlan mode bridge; ip link set foreign1 netns blue
ip -n blue link set lo up
links_ready eth0 eth2
before=$(world)

check "the first state is recorded" is "$("$tool" state mv0)" recorded
check "a macvlan is made" "$tool" make mv0 eth0 bridge 10.9.1.10/24 1400
check "the state is made" is "$("$tool" state mv0)" made
check "the mode is bridge" has "$(in_ns mv0 ip -d link show mv0)" "macvlan mode bridge"
check "the label is set" has "$(in_ns mv0 ip link show mv0)" "alias aitherion:mv0"
check "the address is set" has "$(in_ns mv0 ip -o addr show mv0)" "10.9.1.10/24"
check "the MTU is set" has "$(in_ns mv0 ip link show mv0)" "mtu 1400"
# Not "state UP": the kernel sets that word up to a second later (net/core/link_watch.c).
check "the link is up" has "$(in_ns mv0 ip link show mv0)" "UP,LOWER_UP"
check "lo is up" has "$(in_ns mv0 ip link show lo)" "LOOPBACK,UP"
check "the link is not on the host" not ip link show mv0
two_gids() { is "$(gids_of rxe0 mv0)" 2; }
check "the addresses become GIDs of the parent's device" await two_gids
gid_is_there() { cat /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null | grep -q '0000:0000:0000:0000:0000:ffff:0a09:010a'; }
check "the IPv4 address is one of the GIDs" await gid_is_there
check "a second run does nothing" silent "$tool" make mv0 eth0 bridge 10.9.1.10/24 1400

check "MTU, mode and address change in place" is "$("$tool" make mv0 eth0 private 10.9.1.11/24 1300 | wc -l)" 4
check "the mode has changed" has "$(in_ns mv0 ip -d link show mv0)" "macvlan mode private"
check "only one address is left" is "$(in_ns mv0 ip -4 -o addr show mv0 | grep -c 10.9.1)" 1
check "another parent recreates the link" has "$("$tool" make mv0 eth2 private 10.9.1.11/24 1300)" "delete link 'mv0'"
check "a second run with the new parent does nothing" silent "$tool" make mv0 eth2 private 10.9.1.11/24 1300
check "passthru beside a foreign macvlan is refused" says "parent-unsuitable" "$tool" make mv0 eth2 passthru 10.9.1.11/24 1300
check "passthru on an unused parent works" "$tool" make mv0 eth1 passthru 10.9.1.11/24 1300
check "a second macvlan beside passthru is refused" says "passthru mode, which allows no other macvlan" "$tool" make mv1 eth1 bridge - -
check "the macvlan is deleted" "$tool" delete mv0
check "the state is recorded again" is "$("$tool" state mv0)" recorded
check "a second delete does nothing" silent "$tool" delete mv0
check "foreign links are unchanged" is "$(world)" "$before"

for refused in "mv0 eth9 bridge - -|not-found" "mv0 lo bridge - -|link-not-ethernet" "mv0 foreign0 bridge - -|parent-unsuitable" \
    "mv0 eth0 bridge - 9001|value-invalid" "mv0 eth0 bridge 10.9.0.12/24 -|address-in-use" "foreign0 eth0 bridge - -|foreign" \
    "mv0 eth0 bridge 10.9.1/24 -|value-invalid"; do
    # shellcheck disable=SC2086  # words on purpose
    check "refused: ${refused%|*}" says "error ${refused#*|}:" "$tool" make ${refused%|*}
done
check "a foreign link is not deleted" says "error foreign:" "$tool" delete foreign0
check "refused requests changed nothing" is "$(world)" "$before"

# First every step fails once, and must leave nothing behind. Then SIGKILL comes before every step, and the next run finishes.
export COMPANION=1
make_all() { "$tool" make mv0 eth0 bridge 10.9.0.20/24 1400; }
steps=11
check "there are $steps steps" is "$(make_all | wc -l)" $steps
"$tool" delete mv0 > /dev/null
for ((n = 1; n <= steps; n++)); do
    FAIL_AT=$n check "step $n fails: earlier steps are undone" says "made to fail" make_all
    check "step $n fails: nothing is left" is "$(world)" "$before"
done
kill_at() { # N: makes the macvlan, and is killed before step N
    { KILL_AT=$1 make_all; } > /dev/null 2>&1
    is $? 137
}
for ((n = 1; n <= steps; n++)); do
    check "killed before step $n" kill_at $n
    case $n in 2|4|8)
        check "killed before step $n: the rest can be deleted" "$tool" delete mv0
        check "killed before step $n: nothing is left" is "$(world)" "$before"
        check "killed again before step $n" kill_at $n ;;
    esac
    check "killed before step $n: the next run finishes" make_all
    check "killed before step $n: a third run does nothing" silent make_all
    [ $n = $steps ] || check "killed before step $n: the macvlan is deleted" "$tool" delete mv0
done

# The companion exists now.
check "the companion is on the host" has "$(ip link show mv0-host)" "alias aitherion:mv0:host"
check "the host reaches the macvlan through the companion" await ping -c 1 -W 1 10.9.0.20
unset COMPANION
check "the companion is deleted" is "$("$tool" make mv0 eth0 bridge 10.9.0.20/24 1400)" "delete link 'mv0-host', on the host"
check "the host does not reach the macvlan without the companion" not ping -c 1 -W 1 10.9.0.20

# The namespace of a container ends with its process.
unshare -n sleep 1000 & holder=$!
await has_own_network $holder
check "the macvlan is moved" env NETNS=/proc/$holder/ns/net "$tool" make mv0 eth0 bridge 10.9.0.20/24 1400
check "the state is moved" is "$("$tool" state mv0)" moved
check "the address is set again in the container" has "$(nsenter -t $holder -n ip -o addr show mv0)" "10.9.0.20/24"
check "MTU and label are kept" has "$(nsenter -t $holder -n ip link show mv0)" "mtu 1400"
check "a run without the container does nothing" silent "$tool" make mv0 eth0 bridge 10.9.0.20/24 1400
check "the parent's device keeps the GIDs" await two_gids
kill $holder; wait $holder 2> /dev/null
gone() { is "$("$tool" state mv0)" gone; }
check "the state is gone after the container's end" await gone
check "the macvlan is made again" "$tool" make mv0 eth0 bridge 10.9.0.20/24 1400
check "a namespace with a foreign link is not deleted" says "error foreign:" bash -c "ip link add guest0 link eth3 type macvlan; ip link set guest0 netns aitherion-mv0; $tool delete mv0"
in_ns mv0 ip link del guest0
check "link and namespace are deleted" "$tool" delete mv0
check "foreign links are unchanged in the end" is "$(world)" "$before"
modprobe -r macvlan 2> /dev/null || { ip link del foreign0; ip netns del blue; sleep 0.5; modprobe -r macvlan; }
mv /lib/modules/"$(uname -r)" /lib/modules/away
check "without the macvlan module, a hint names it" says "hint: modprobe macvlan" "$tool" make mv0 eth0 bridge - -
check "without the macvlan module, nothing is left" not ip netns exec aitherion-mv0 true
mv /lib/modules/away /lib/modules/"$(uname -r)"
exit "$failed"
