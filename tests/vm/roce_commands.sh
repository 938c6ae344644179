#!/usr/bin/env bash
# `aitherion roce list`, `add`, `remove` and `bind` on real soft-RoCE devices, which go up and down, have a macvlan, and disappear.
# The commands must change only the document. Runs in the guest.
# shellcheck source=tests/vm/checks.sh
. /vm/checks.sh
# shellcheck disable=SC2016,SC2317  # functions are called through check

roce() { timeout 300 "$AITHERION" roce "$@" -c d.yaml; }
list() { roce list --json >list.json; }
changes() { # WANTED COMMAND...: compares the reported changes, as "KEY OLD -> NEW"; empty: no change
    local wanted=$1
    shift
    roce "$@" --json >change.json || return
    is "$(jq -r '.changes[] | "\(.key) \(.old) -> \(.new)"' change.json | tr -d '"' | sed 's/,/, /g' | paste -sd ';')" "$wanted"
}
refused() { # CODE COMMAND...: the command must fail with CODE and leave the document unchanged
    local code=$1 before
    shift
    before=$(cat d.yaml)
    if roce "$@" --json >out 2>error; then echo "did not fail: $(cat out)"; return 1; fi
    json error ".code == \"$code\"" && is "$(cat d.yaml)" "$before"
}
pci_of() { basename "$(readlink "/sys/class/net/$1/device")"; }
card0=$(pci_of eth0)
card2=$(pci_of eth2)

check "the list without an RDMA device is empty" eval 'list && json list.json ".cards == [] and .source == \"live\""'
check "the list without an RDMA device says how to make one" has "$(roce list)" "rdma link add"
soft_roce 0 2
for link in eth0 eth2; do ip link set "$link" down; done
check "ports that are down are listed with the reason" eval 'list && json list.json "
    [.cards[].ports[] | [.netdev, .rdma_device, .readiness, .gid_lack]] ==
        [[\"eth0\", \"rxe0\", \"not-active\", \"link-down\"], [\"eth2\", \"rxe2\", \"not-active\", \"link-down\"]]"'
for link in eth0 eth2; do ip link set "$link" up; done
rxe_ready rxe0 rxe2
before=$(world)

check "the list has cards, nodes and ports" eval 'list && json list.json "
    [.cards[] | [.pci, .numa_nodes, .is_in_document]] == [[\"$card0\", [0], false], [\"$card2\", [$last_node], false]]
    and all(.cards[].ports[]; .readiness == \"ready\" and .link == \"up\" and .link_layer == \"ethernet\")"'
check "the GIDs to use are IPv4 and RoCE v2" json list.json '[.cards[].ports[] | .best_gid_index as $best | .gids[]
    | select(.index == $best) | [.gid[-9:], .type]] == [["0a09:000a", "RoCE v2"], ["0a09:000c", "RoCE v2"]]'
check "namespaces share the devices" json list.json '.netns_mode == "shared"'

# ---- a document of two entries, without cards ----
cat >d.yaml <<YAML
schema: aitherion.topology/1
numa: # by hand
  - { id: 0, node: 0, control_port: 50051, data_port: 5555 }
  - { id: 1, node: $last_node, control_port: 50052, data_port: 5556 }
YAML
cp d.yaml first.yaml
check "add: a dry run" eval 'roce add eth2 --dry-run && cmp d.yaml first.yaml'
check "add, by the name of the link" changes "roce.cards.$card2.pci null -> $card2;roce.cards.$card2.numa null -> [1]" \
    add eth2 --numa 1
check "add: the list shows the card in the document" eval 'list && json list.json "
    .cards[1].is_in_document and .cards[1].used_by == [1] and (.cards[0].is_in_document | not)"'
check "add: the same card by its device name changes nothing" changes "" add rxe2
check "add: the other entry is added" eval 'roce add "$card2" --numa 0,1 && list && json list.json ".cards[1].used_by == [0, 1]"'
check "add: a NIC without RDMA is refused" refused no-rdma add eth1
check "add: an unknown card is refused" refused not-found add 0000:77:00.0
check "add: an unknown entry is refused" refused key-unknown add eth0 --numa 7

check "bind: the nearest entry gets the device" changes 'numa.1.rdma_devices [] -> [rxe2]' bind rxe2 1
check "bind: the same device by its link name changes nothing" changes "" bind eth2 NUMA1
check "bind: a far entry causes a warning" eval 'roce bind rxe2 0 --json >change.json && json change.json "
    any(.notes[]; .code == \"device-far\" and .is_warning)"'
check "bind: the list shows both entries" eval 'list && json list.json ".cards[1].ports[0].bound_to == [0, 1]"'
check "bind: --unbind removes the device" changes 'numa.0.rdma_devices [rxe2] -> []' bind rxe2 0 --unbind
check "bind: an unknown device is refused" refused not-found bind rxe9 0
check "bind: an unknown entry is refused" refused key-unknown bind rxe0 5

check "the commands changed only the document" is "$(world)" "$before"
check "comments in the document are kept" has "$(cat d.yaml)" "numa: # by hand"

# ---- a macvlan's address is a GID of its parent's device ----
check "a macvlan is made" roce macvlan mv0 --parent eth0 --address 10.9.1.10/24 --numa 0
check "the parent has the macvlan's GID and keeps its own" eval 'list && json list.json "
    .cards[0].ports[0] | .macvlans[0].name == \"mv0\" and any(.gids[]; .netdev == \"mv0\" and .gid[-9:] == \"0a09:010a\")
        and (.best_gid_index as \$best | any(.gids[]; .index == \$best and .netdev == \"eth0\"))"'
check "the macvlan is deleted" roce macvlan mv0 --delete
check "the deletion leaves nothing behind" is "$(world)" "$before"

# ---- faults of the port ----
ip link set eth2 down
check "a link that is down has a hint" eval 'list && json list.json "
    .cards[1].ports[0] | .readiness == \"not-active\" and .gid_lack_hint == \"ip link set eth2 up, and look at its cable: ethtool eth2\""'
rdma link del rxe2
check "a missing device is listed" eval 'list && json list.json ".missing_devices | length == 1"'
check "a missing device can be unbound by its name" changes 'numa.1.rdma_devices [rxe2] -> []' bind rxe2 1 --unbind

check "remove: the card is removed" eval 'roce remove "$card2" && ! grep -qF "$card2" d.yaml'
check "remove: a second run changes nothing" changes "" remove "$card2"

# ---- two commands at the same time must both succeed, one after the other ----
rdma link add rxe2 type rxe netdev eth2
ip link set eth2 up
at_once() {
    roce add eth0 --numa 0 >one.out 2>&1 &
    local one=$!
    roce add eth2 --numa 1 >two.out 2>&1 &
    wait "$one" && wait $! && list && json list.json 'all(.cards[]; .is_in_document)' && return
    cat one.out two.out
    return 1
}
check "two commands at the same time both succeed" at_once
exit "$failed"
