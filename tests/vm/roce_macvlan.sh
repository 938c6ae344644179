#!/usr/bin/env bash
# `aitherion roce macvlan` as a person meets it: document and kernel together, and their undoing. Runs in the guest.
# shellcheck disable=SC2317  # most functions are called through check
. /vm/checks.sh

soft_roce 0 2
ip link set eth1 up
# Strangers: they must be the same in the end.
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
told() { # TEXT COMMAND...: it succeeds, and says TEXT
    local out
    out=$("${@:2}" 2>&1) || { echo "failed: $out"; return 1; }
    has "$out" "$1"
}
refused() { # CODE COMMAND...: with this code word, and neither the document nor the world changes
    local out document
    document=$(cat d.yaml)
    if out=$("${@:2}" --json 2>&1); then echo "did not fail: $out"; return 1; fi
    has "$out" "\"code\": \"$1\"" && is "$(cat d.yaml)" "$document"
}
in_ns() { ip netns exec "aitherion-$1" "${@:2}"; }
unchanged() { is "$(world)" "$before"; }
schema_state() { cli "$1" --json --dry-run > state.json && json state.json ".macvlan.state == \"$2\""; }

# From the document.
check "what would be done is told, and not done" told "create macvlan 'old0' on 'eth2', mode bridge" cli old0 --dry-run
check "a dry run changes nothing" unchanged
check "made from the document" cli old0 --json
check "a second run has nothing to do" told "nothing to do" cli old0
check "the document is byte by byte as it was" cmp d.yaml first.yaml
check "it is in a namespace of its own" has "$(in_ns old0 ip -o addr show old0)" "10.9.1.20/24"
check "deleted" cli old0 --delete
check "nothing is left of it" unchanged
check "nor in the document, whose comments stay" has "$(cat d.yaml)" "  macvlans: [] # by name"
check "deleting it again has nothing to do" told "nothing to do" cli old0 --delete
check "not known, and no parent: it says which there are" says "links that can carry it: eth0, eth1, eth2, eth3" cli mv0

# A new one.
check "--record touches the document alone" told "the kernel was not touched" \
    cli mv0 --parent eth0 --address 10.9.1.10/24 --numa 0 --record
check "nothing was made" unchanged
check "its state: recorded" schema_state mv0 recorded
cli mv0 --json > made.json
check "made: its GID is on the parent's device" json made.json \
    '.macvlan | .state == "made" and .namespace == "aitherion-mv0" and .is_ready and .gid.device == "rxe0" and .gid.port == 1
     and .gid.index >= 0 and .gid.type == "RoCE v2" and .gid.gid == "0000:0000:0000:0000:0000:ffff:0a09:010a"'
check "the GID is the kernel's" is "$(cat "/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/$(jq .macvlan.gid.index made.json)")" mv0
check "its steps are told" json made.json '.steps | length > 3 and any(.action == "create")'
check "as text" told "rxe0 port 1, index $(jq .macvlan.gid.index made.json): 10.9.1.10, RoCE v2" cli mv0
check "in a namespace of its own" has "$(in_ns mv0 ip link show mv0)" "alias aitherion:mv0"
check "a second run has nothing to do" told "nothing to do" cli mv0
check "changed in place: MTU, mode, address" cli mv0 --mtu 1400 --mode private --address 10.9.1.11/24
check "its MTU" has "$(in_ns mv0 ip link show mv0)" "mtu 1400"
check "its mode" has "$(in_ns mv0 ip -d link show mv0)" "macvlan mode private"
check "its address, alone" is "$(in_ns mv0 ip -4 -o addr show mv0 | grep -o '10\.9\.1\.[0-9]*/24')" 10.9.1.11/24
check "in the document, too" has "$(cat d.yaml)" "mode: private"
check "another parent" told "create macvlan 'mv0' on 'eth2'" cli mv0 --parent eth2
check "its GID went along" told "rxe2 port 1" cli mv0
check "back again" cli mv0 --parent eth0 --mode bridge --address 10.9.0.20/24 --mtu null

# The host's own link.
check "a link on the host" told "mv0-host" cli mv0 --host-link
check "the host reaches its macvlan by it" await ping -c 1 -W 1 10.9.0.20
check "with an address of its own" cli mv0 --host-address 10.9.0.21/24
check "which it has" has "$(ip -o addr show mv0-host)" 10.9.0.21/24
check "a second run keeps it" told "nothing to do" cli mv0
check "not in another mode" refused value-invalid cli mv0 --mode vepa
check "taken away by --set and another run" told "delete link 'mv0-host'" \
    bash -c "\"\$AITHERION\" configure --set roce.macvlans.mv0.host_link=false -c d.yaml && \"\$AITHERION\" roce macvlan mv0 -c d.yaml"
check "it is gone" not ip link show mv0-host

# Refusals.
mine=$(world)
check "an address in use on the host" refused address-in-use cli mv1 --parent eth0 --address 10.9.0.12/24
check "an address that another macvlan has" refused address-in-use cli mv1 --parent eth0 --address 10.9.0.20/24
check "a parent that does not exist" refused not-found cli mv1 --parent eth9
check "what was meant is told" says "did you mean 'eth" cli mv1 --parent eth9
check "a parent that is no Ethernet link" refused link-not-ethernet cli mv1 --parent lo
check "an MTU above the parent's" refused value-invalid cli mv1 --parent eth0 --mtu 9000
check "a NUMA entry that does not exist" refused key-unknown cli mv1 --parent eth0 --numa 7
check "no name for a link" refused value-invalid cli a/b --parent eth0
check "passthru beside others" refused parent-unsuitable cli mv1 --parent eth0 --mode passthru
ip netns add aitherion-mv1
check "a namespace of that name that is somebody else's" refused foreign cli mv1 --parent eth1
check "it is not deleted" told "nothing to do" cli mv1 --delete
check "it is there" ip netns exec aitherion-mv1 true
ip netns delete aitherion-mv1
check "the name of a foreign link" refused foreign cli foreign0 --parent eth1
check "a foreign link is not deleted" refused foreign cli foreign0 --delete
check "not root: how to go on" says "sudo" setpriv --reuid 65534 --clear-groups --inh-caps=-all "$AITHERION" roce macvlan mv0
check "not root: the code" says not-permitted setpriv --reuid 65534 --clear-groups --inh-caps=-all "$AITHERION" roce macvlan mv0 --json
check "nothing was touched by what was refused" is "$(world)" "$mine"

# Saving fails: a folder stands where the new text is written.
mkdir .d.yaml.new
check "saving fails: said, and that the kernel is as before" says "the kernel is as it was before" cli mv1 --parent eth1 --address 10.9.3.1/24
check "saving fails: nothing is left" is "$(world)" "$mine"
check "saving fails: a change in place is taken back" says "as it was before" cli mv0 --mtu 1300
check "saving fails: the MTU is as it was" has "$(in_ns mv0 ip link show mv0)" "mtu 1500"
check "saving fails: what was deleted is there again" says "as it was before" cli mv0 --delete
check "saving fails: with its address" has "$(in_ns mv0 ip -o addr show mv0)" 10.9.0.20/24
rmdir .d.yaml.new

# Killed, and run again.
killed() { # SECONDS: killed after that long
    "$AITHERION" roce macvlan mv1 --parent eth1 --address 10.9.3.1/24 -c d.yaml > /dev/null 2>&1 &
    sleep "$1"
    kill -9 $! 2> /dev/null
    wait $! 2> /dev/null
    cli mv1 --parent eth1 --address 10.9.3.1/24 --json > again.json || return 1
    json again.json '.macvlan.state == "made"' && has "$(in_ns mv1 ip -o addr show mv1)" 10.9.3.1/24 && cli mv1 --delete
}
for seconds in 0.05 0.1 0.2 0.4; do check "killed after $seconds s: finished by the next run, and deleted" killed $seconds; done
check "nothing is left of those that were killed" is "$(world)" "$mine"

# Told to stop in the middle: document and kernel say the same all the same. The lock of the network makes it wait there.
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
for signal in INT TERM HUP; do check "stopped by SIG$signal: all is done first" stopped $signal; done
check "nothing is left of those that were stopped" is "$(world)" "$mine"

# Two at once: both are done, one after the other.
at_once() {
    cli mv1 --parent eth1 --address 10.9.3.1/24 > one.out 2>&1 & local one=$!
    cli mv2 --parent eth1 --address 10.9.3.2/24 > two.out 2>&1 & local two=$!
    wait $one && wait $two || { cat one.out two.out; return 1; }
    in_ns mv1 true && in_ns mv2 true && has "$(cat d.yaml)" "name: mv1" && has "$(cat d.yaml)" "name: mv2"
}
check "two at once" at_once

# In use by a container: not without being asked.
unshare -n sleep 1000 &
holder=$!
await has_own_network $holder
ip -n aitherion-mv2 link set mv2 netns $holder
check "in a container: its state" schema_state mv2 moved
check "in a container: not deleted unasked" refused busy cli mv2 --delete
check "in a container: deleted with --yes" cli mv2 --delete --yes
kill $holder
check "gone there" not ip netns exec aitherion-mv2 true
check "deleted without a document" told "would be done" "$AITHERION" roce macvlan mv1 --delete --dry-run -c nowhere.yaml
check "mv1 deleted" cli mv1 --delete
check "mv0 deleted" cli mv0 --delete
check "the host's links, addresses, routes and namespaces are as before" unchanged
check "comments and order of the document are as before" is "$(grep -v 'macvlans' d.yaml)" "$(head -5 first.yaml)"
exit $failed
