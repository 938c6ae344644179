# shellcheck shell=bash
# Sourced by the scripts that run in the guest, where /host is the built tree and /vm is this folder. A script prints one line for
# each check: "ok - WHAT", "not ok - WHAT" with the output as comment, or "skip - WHY". Comments begin with "# ". A script ends with
# `exit "$failed"`.
AITHERION=${AITHERION:-/host/aitherion}
export AITHERION LC_ALL=C
failed=0 # the scripts' exit code
cd /tmp || exit 125

seconds_since() { # EPOCHREALTIME LEAST FORMAT: prints the seconds since then if they are at least LEAST
    awk -v at="$1 $EPOCHREALTIME" -v least="$2" -v format="$3" \
        'BEGIN { split(at, t, " "); if (t[2] - t[1] >= least) printf format, t[2] - t[1] }'
}
check() { # WHAT COMMAND...
    local what=$1 begin=$EPOCHREALTIME
    shift
    if "$@" >/tmp/check.out 2>&1; then
        echo "ok - $what$(seconds_since "$begin" 2 ", %.1f s")"
    else
        echo "not ok - $what"
        sed 's/^/# /' /tmp/check.out
        failed=1
    fi
}
skip() { echo "skip - $1"; }

# Commands for checks. On failure each prints the reason.
is() { # GOT WANTED
    [[ $1 == "$2" ]] && return
    if [[ $2 == *$'\n'* ]]; then diff <(echo "$2") <(echo "$1"); else echo "got '$1', wanted '$2'"; fi
    return 1
}
has() { [[ $1 == *"$2"* ]] || { echo "'$2' is not in: $1"; return 1; }; } # TEXT PART
not() { ! "$@"; }
json() { # FILE FILTER: jq's FILTER must be true for the file
    jq -e "$2" "$1" >/dev/null || { echo "not true: $2"; cat "$1"; return 1; }
}
says() { # TEXT COMMAND...: the command must fail and print TEXT
    local text=$1 out
    shift
    if out=$("$@" 2>&1); then echo "did not fail: $out"; return 1; fi
    has "$out" "$text"
}
silent() { # COMMAND...: the command must succeed and print nothing
    local out
    out=$("$@") && is "$out" ""
}
await() { # COMMAND...: the command must succeed within a minute (a guest that shares its processor is slow)
    local end=$((SECONDS + 60))
    while ((SECONDS < end)); do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.1
    done
    "$@"
}
# Conditions to wait for.
has_own_network() { [[ $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" ]]; } # PID
listens() { [[ -n $(ss -Hltn "sport = :$1") ]]; } # PORT
is_connected() { [[ -n $(ss -Htn state established "dport = :$1") ]]; } # PORT
catches_int() { (($(awk '/^SigCgt/ { print "0x" $2 }' "/proc/$1/status") & 2)); } # PID
has_open() { readlink "/proc/$1/fd/"* | grep -qxF "$2"; } # PID FILE

# The machine: NUMA nodes 0 and $last_node (1, or 8 on ppc64le); eth0 and eth1 on the first, eth2 and eth3 on the last.
# shellcheck disable=SC2034  # used by the scripts
last_node=$(sed 's/.*[,-]//' /sys/devices/system/node/online)
cpus_of() { cat "/sys/devices/system/node/node$1/cpulist"; } # NODE
soft_roce() { # N...: soft-RoCE device rxeN on ethN, which gets the address 10.9.0.1N/24
    local n
    modprobe -a rdma_rxe rdma_ucm
    for n in "$@"; do
        ip link set "eth$n" up
        ip addr add "10.9.0.1$n/24" dev "eth$n"
        rdma link add "rxe$n" type rxe netdev "eth$n"
    done
}
# A port is ACTIVE and shows its GID one or two seconds before the GID works. It works when IPv6 duplicate address detection ends.
link_is_ready() { # LINK
    local addresses
    addresses=$(ip -6 -o addr show dev "$1") # the link-local address appears with the carrier
    [[ $addresses == *inet6* && $addresses != *tentative* ]]
}
links_ready() { # LINK...
    local link
    for link in "$@"; do await link_is_ready "$link"; done
}
rxe_ready() { # DEVICE...
    local device
    for device in "$@"; do
        await grep -q ACTIVE "/sys/class/infiniband/$device/ports/1/state"
        links_ready "$(cat "/sys/class/infiniband/$device/parent")"
    done
}
# Prints the state of the machine's network that must not change: all links, addresses and routes, except the content of our own
# namespaces, indexes, and values that change with time.
world() {
    local namespace
    ip -o link | sed 's/^[0-9]*: //'
    ip -o addr | sed 's/^[0-9]*: //; s/ tentative//; s/valid_lft.*//'
    ip route
    ip -6 route | grep -v '^fe80' # the route of a link comes and goes with its carrier
    rdma link | sed 's/ state.* netdev/ netdev/'
    for namespace in $(ip netns list | sed 's/ (id.*//' | sort); do
        echo "namespace $namespace"
        [[ $namespace != aitherion-* ]] || continue
        ip -n "$namespace" -o link | sed 's/^[0-9]*: //'
        ip -n "$namespace" -o addr | sed 's/^[0-9]*: //; s/ tentative//; s/valid_lft.*//'
    done
}
