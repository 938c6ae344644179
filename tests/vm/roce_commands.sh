#!/usr/bin/env bash
# `aitherion roce list`, `add`, `remove` and `bind` on real soft-RoCE devices, which come up, go down, carry a macvlan and vanish,
# while nothing outside of the document changes. Runs in the guest.
# shellcheck source=tests/vm/checks.sh
. /vm/checks.sh
# shellcheck disable=SC2016,SC2317  # what is called through check

roce() { timeout 300 "$AITHERION" roce "$@" -c d.yaml; }
list() { roce list --json >list.json; }
changes() { # WANTED COMMAND...: the changes told, as "KEY OLD -> NEW"; empty: none
    local wanted=$1
    shift
    roce "$@" --json >change.json || return
    is "$(jq -r '.changes[] | "\(.key) \(.old) -> \(.new)"' change.json | tr -d '"' | sed 's/,/, /g' | paste -sd ';')" "$wanted"
}
refused() { # CODE COMMAND...: with this code word, and the document stays
    local code=$1 before
    shift
    before=$(cat d.yaml)
    if roce "$@" --json >out 2>error; then echo "did not fail: $(cat out)"; return 1; fi
    json error ".code == \"$code\"" && is "$(cat d.yaml)" "$before"
}
pci_of() { basename "$(readlink "/sys/class/net/$1/device")"; }
card0=$(pci_of eth0)
card2=$(pci_of eth2)

check "no RDMA device" eval 'list && json list.json ".cards == [] and .source == \"live\""'
check "no RDMA device: how to make one" has "$(roce list)" "rdma link add"
soft_roce 0 2
for link in eth0 eth2; do ip link set "$link" down; done
check "ports that are not up" eval 'list && json list.json "
    [.cards[].ports[] | [.netdev, .rdma_device, .readiness, .gid_lack]] ==
        [[\"eth0\", \"rxe0\", \"not-active\", \"link-down\"], [\"eth2\", \"rxe2\", \"not-active\", \"link-down\"]]"'
for link in eth0 eth2; do ip link set "$link" up; done
rxe_ready rxe0 rxe2
before=$(world)

check "the cards, their nodes and ports" eval 'list && json list.json "
    [.cards[] | [.pci, .numa_nodes, .is_in_document]] == [[\"$card0\", [0], false], [\"$card2\", [$last_node], false]]
    and all(.cards[].ports[]; .readiness == \"ready\" and .link == \"up\" and .link_layer == \"ethernet\")"'
check "the GIDs to use: IPv4, RoCE v2" json list.json '[.cards[].ports[] | .best_gid_index as $best | .gids[]
    | select(.index == $best) | [.gid[-9:], .type]] == [["0a09:000a", "RoCE v2"], ["0a09:000c", "RoCE v2"]]'
check "devices are shared by the namespaces" json list.json '.netns_mode == "shared"'

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
check "add: the card stands in the list" eval 'list && json list.json "
    .cards[1].is_in_document and .cards[1].used_by == [1] and (.cards[0].is_in_document | not)"'
check "add: a second time, by the name of the device, nothing to do" changes "" add rxe2
check "add: for the other entry, too" eval 'roce add "$card2" --numa 0,1 && list && json list.json ".cards[1].used_by == [0, 1]"'
check "add: a NIC without RDMA" refused no-rdma add eth1
check "add: no such card" refused not-found add 0000:77:00.0
check "add: no such entry" refused key-unknown add eth0 --numa 7

check "bind: to the entry near it" changes 'numa.1.rdma_devices [] -> [rxe2]' bind rxe2 1
check "bind: a second time, by the name of the link, nothing to do" changes "" bind eth2 NUMA1
check "bind: to one that is far, with a warning" eval 'roce bind rxe2 0 --json >change.json && json change.json "
    any(.notes[]; .code == \"device-far\" and .is_warning)"'
check "bind: both in the list" eval 'list && json list.json ".cards[1].ports[0].bound_to == [0, 1]"'
check "bind: taken back" changes 'numa.0.rdma_devices [rxe2] -> []' bind rxe2 0 --unbind
check "bind: no such device" refused not-found bind rxe9 0
check "bind: no such entry" refused key-unknown bind rxe0 5

check "nothing outside of the document was changed" is "$(world)" "$before"
check "what was written by hand is there" has "$(cat d.yaml)" "numa: # by hand"

# ---- a macvlan: its address is a GID of its parent's device ----
check "a macvlan" roce macvlan mv0 --parent eth0 --address 10.9.1.10/24 --numa 0
check "its GID at its parent, which keeps its own" eval 'list && json list.json "
    .cards[0].ports[0] | .macvlans[0].name == \"mv0\" and any(.gids[]; .netdev == \"mv0\" and .gid[-9:] == \"0a09:010a\")
        and (.best_gid_index as \$best | any(.gids[]; .index == \$best and .netdev == \"eth0\"))"'
check "the macvlan deleted" roce macvlan mv0 --delete
check "nothing is left of it" is "$(world)" "$before"

# ---- what goes wrong with the port ----
ip link set eth2 down
check "a link that is down: why there is no GID to use" eval 'list && json list.json "
    .cards[1].ports[0] | .readiness == \"not-active\" and .gid_lack_hint == \"ip link set eth2 up\""'
rdma link del rxe2
check "a device that is gone" eval 'list && json list.json ".missing_devices | length == 1"'
check "and is taken back by its name" changes 'numa.1.rdma_devices [rxe2] -> []' bind rxe2 1 --unbind

check "remove" eval 'roce remove "$card2" && ! grep -qF "$card2" d.yaml'
check "remove: a second time nothing to do" changes "" remove "$card2"

# ---- two at once: one after the other, both are done ----
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
check "two at once" at_once
exit "$failed"
