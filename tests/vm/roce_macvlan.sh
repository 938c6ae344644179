#!/usr/bin/env bash
# `aitherion roce macvlan` as users run it: changes of document and kernel together, and their undoing. Runs in the guest.
# shellcheck disable=SC2317  # most functions are called through check
. /vm/checks.sh

soft_roce 0 2
ip link set eth1 up
# Foreign links and namespaces, which must stay unchanged.
ip netns add blue
ip link add foreign0 link eth0 type macvlan mode bridge
ip link set foreign0 alias "somebody:else"
ip link add foreign1 link eth1 type macvlan mode bridge
ip link set foreign1 netns blue
rxe_ready rxe0 rxe2
links_ready eth1
before=$(world)

cat > d.yaml <<'YAML'
# kept by hand
schema: aitherion.topology/1
numa:
  - { id: 0, node: 0, control_port: 50051, data_port: 5555 } # the first
roce:
  macvlans: # by name
    - name: old0       # a comment of its own
      parent: eth2
      address: 10.9.1.20/24
YAML
cp d.yaml first.yaml
cli() { "$AITHERION" roce macvlan "$@" -c d.yaml; }
told() { # TEXT COMMAND...: the command must succeed and print TEXT
    local out
    out=$("${@:2}" 2>&1) || { echo "failed: $out"; return 1; }
    has "$out" "$1"
}
refused() { # CODE COMMAND...: the command must fail with CODE and leave the document unchanged
    local out document
    document=$(cat d.yaml)
    if out=$("${@:2}" --json 2>&1); then echo "did not fail: $out"; return 1; fi
    has "$out" "\"code\": \"$1\"" && is "$(cat d.yaml)" "$document"
}
in_ns() { ip netns exec "aitherion-$1" "${@:2}"; }
unchanged() { is "$(world)" "$before"; }
schema_state() { cli "$1" --json --dry-run > state.json && json state.json ".macvlan.state == \"$2\""; }

# From the document.
check "a dry run prints the steps" told "create macvlan 'old0' on 'eth2', mode bridge" cli old0 --dry-run
check "a dry run changes nothing" unchanged
check "the macvlan is made from the document" cli old0 --json
check "a second run from the document does nothing" told "nothing to do" cli old0
check "the document is unchanged" cmp d.yaml first.yaml
check "the macvlan is in its own namespace" has "$(in_ns old0 ip -o addr show old0)" "10.9.1.20/24"
check "the macvlan is deleted" cli old0 --delete
check "the deletion leaves nothing behind" unchanged
check "the document loses the macvlan and keeps its comments" has "$(cat d.yaml)" "  macvlans: [] # by name"
check "a second deletion does nothing" told "nothing to do" cli old0 --delete
check "without a parent, the error lists the possible links" says "links that can be its parent: eth0, eth1, eth2, eth3" cli mv0

# A new one.
check "--record changes only the document" told "the kernel was not touched" \
    cli mv0 --parent eth0 --address 10.9.1.10/24 --numa 0 --record
check "--record makes no link" unchanged
check "the state is recorded" schema_state mv0 recorded
cli mv0 --json > made.json
check "the GID is on the parent's device" json made.json \
    '.macvlan | .state == "made" and .namespace == "aitherion-mv0" and .is_ready and .gid.device == "rxe0" and .gid.port == 1
     and .gid.index >= 0 and .gid.type == "RoCE v2" and .gid.gid == "0000:0000:0000:0000:0000:ffff:0a09:010a"'
check "the kernel has the same GID" is "$(cat "/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/$(jq .macvlan.gid.index made.json)")" mv0
check "the steps are listed" json made.json '.steps | length > 3 and any(.action == "create")'
check "the text shows the GID" told "rxe0 port 1, index $(jq .macvlan.gid.index made.json): 10.9.1.10, RoCE v2" cli mv0
check "the new macvlan is in its own namespace" has "$(in_ns mv0 ip link show mv0)" "alias aitherion:mv0"
check "a second run does nothing" told "nothing to do" cli mv0
check "MTU, mode and address change in place" cli mv0 --mtu 1400 --mode private --address 10.9.1.11/24
check "the MTU has changed" has "$(in_ns mv0 ip link show mv0)" "mtu 1400"
check "the mode has changed" has "$(in_ns mv0 ip -d link show mv0)" "macvlan mode private"
check "only the new address is left" is "$(in_ns mv0 ip -4 -o addr show mv0 | grep -o '10\.9\.1\.[0-9]*/24')" 10.9.1.11/24
check "the document has the new mode" has "$(cat d.yaml)" "mode: private"
check "another parent recreates the link" told "create macvlan 'mv0' on 'eth2'" cli mv0 --parent eth2
check "the GID is on the new parent's device" told "rxe2 port 1" cli mv0
check "the first parent is restored" cli mv0 --parent eth0 --mode bridge --address 10.9.0.20/24 --mtu null

# The host's own link.
check "a companion is made on the host" told "mv0-host" cli mv0 --host-link
check "the host reaches the macvlan through the companion" await ping -c 1 -W 1 10.9.0.20
check "the companion gets its own address" cli mv0 --host-address 10.9.0.21/24
check "the companion has the address" has "$(ip -o addr show mv0-host)" 10.9.0.21/24
check "a second run keeps the companion" told "nothing to do" cli mv0
check "another mode is refused while there is a companion" refused value-invalid cli mv0 --mode vepa
check "--set and another run delete the companion" told "delete link 'mv0-host'" \
    bash -c "\"\$AITHERION\" configure --set roce.macvlans.mv0.host_link=false -c d.yaml && \"\$AITHERION\" roce macvlan mv0 -c d.yaml"
check "the companion does not exist any more" not ip link show mv0-host

# Refusals.
mine=$(world)
check "an address of the host is refused" refused address-in-use cli mv1 --parent eth0 --address 10.9.0.12/24
check "an address of another macvlan is refused" refused address-in-use cli mv1 --parent eth0 --address 10.9.0.20/24
check "a missing parent is refused" refused not-found cli mv1 --parent eth9
check "the error suggests a similar link" says "did you mean 'eth" cli mv1 --parent eth9
check "a parent that is no Ethernet link" refused link-not-ethernet cli mv1 --parent lo
check "an MTU above the parent's is refused" refused value-invalid cli mv1 --parent eth0 --mtu 9000
check "an unknown NUMA entry is refused" refused key-unknown cli mv1 --parent eth0 --numa 7
check "an invalid name is refused" refused value-invalid cli a/b --parent eth0
check "passthru beside other macvlans is refused" refused parent-unsuitable cli mv1 --parent eth0 --mode passthru
ip netns add aitherion-mv1
check "a foreign namespace of that name is refused" refused foreign cli mv1 --parent eth1
check "the foreign namespace is not deleted" told "nothing to do" cli mv1 --delete
check "the foreign namespace still exists" ip netns exec aitherion-mv1 true
ip netns delete aitherion-mv1
check "the name of a foreign link is refused" refused foreign cli foreign0 --parent eth1
check "a foreign link is not deleted" refused foreign cli foreign0 --delete
check "without root, the hint is sudo" says "sudo" setpriv --reuid 65534 --clear-groups --inh-caps=-all "$AITHERION" roce macvlan mv0
check "without root, the code is not-permitted" says not-permitted setpriv --reuid 65534 --clear-groups --inh-caps=-all "$AITHERION" roce macvlan mv0 --json
check "refused commands changed nothing" is "$(world)" "$mine"

# Saving fails, because a folder has the name of the new file.
mkdir .d.yaml.new
check "saving fails: the error says that the kernel is unchanged" says "the kernel is as it was before" cli mv1 --parent eth1 --address 10.9.3.1/24
check "saving fails: nothing is left" is "$(world)" "$mine"
check "saving fails: a change in place is undone" says "as it was before" cli mv0 --mtu 1300
check "saving fails: the MTU is unchanged" has "$(in_ns mv0 ip link show mv0)" "mtu 1500"
check "saving fails: a deleted link is restored" says "as it was before" cli mv0 --delete
check "saving fails: the restored link has its address" has "$(in_ns mv0 ip -o addr show mv0)" 10.9.0.20/24
rmdir .d.yaml.new

# The command is killed and runs again.
killed() { # SECONDS: kills the command after that time
    "$AITHERION" roce macvlan mv1 --parent eth1 --address 10.9.3.1/24 -c d.yaml > /dev/null 2>&1 &
    sleep "$1"
    kill -9 $! 2> /dev/null
    wait $! 2> /dev/null
    cli mv1 --parent eth1 --address 10.9.3.1/24 --json > again.json || return 1
    json again.json '.macvlan.state == "made"' && has "$(in_ns mv1 ip -o addr show mv1)" 10.9.3.1/24 && cli mv1 --delete
}
for seconds in 0.05 0.1 0.2 0.4; do check "killed after $seconds s: the next run finishes, and the macvlan can be deleted" killed $seconds; done
check "killed commands left nothing behind" is "$(world)" "$mine"

# A signal arrives in the middle: document and kernel must still agree. The lock of the network makes the command wait there.
stopped() { # SIGNAL
    local code=0
    exec 9> /run/aitherion/.network.lock
    flock 9
    env --default-signal "$AITHERION" roce macvlan mv1 --parent eth1 --address 10.9.3.1/24 -c d.yaml 9>&- > /dev/null 2>&1 &
    await has_open $! /run/aitherion/.network.lock
    kill "-$1" $!
    exec 9>&-
    wait $! || code=$?
    is $code $((128 + $(kill -l "$1"))) && has "$(cat d.yaml)" "name: mv1" && has "$(in_ns mv1 ip -o addr show mv1)" 10.9.3.1/24 &&
        cli mv1 --delete
}
for signal in INT TERM HUP; do check "SIG$signal ends the command after its work" stopped $signal; done
check "stopped commands left nothing behind" is "$(world)" "$mine"

# Two commands at the same time must both succeed, one after the other.
at_once() {
    cli mv1 --parent eth1 --address 10.9.3.1/24 > one.out 2>&1 & local one=$!
    cli mv2 --parent eth1 --address 10.9.3.2/24 > two.out 2>&1 & local two=$!
    wait $one && wait $two || { cat one.out two.out; return 1; }
    in_ns mv1 true && in_ns mv2 true && has "$(cat d.yaml)" "name: mv1" && has "$(cat d.yaml)" "name: mv2"
}
check "two commands at the same time both succeed" at_once

# A macvlan that a container uses is deleted only with --yes.
unshare -n sleep 1000 &
holder=$!
await has_own_network $holder
ip -n aitherion-mv2 link set mv2 netns $holder
check "in a container: the state is moved" schema_state mv2 moved
check "in a container: deletion without --yes is refused" refused busy cli mv2 --delete
check "in a container: --yes deletes" cli mv2 --delete --yes
kill $holder
check "the namespace does not exist any more" not ip netns exec aitherion-mv2 true
check "a deletion needs no document" told "would do:" "$AITHERION" roce macvlan mv1 --delete --dry-run -c nowhere.yaml
check "mv1 is deleted" cli mv1 --delete
check "mv0 is deleted" cli mv0 --delete
check "the host's links, addresses, routes and namespaces are unchanged" unchanged
check "comments and order of the document are unchanged" is "$(grep -v 'macvlans' d.yaml)" "$(head -5 first.yaml)"
exit $failed
