#!/usr/bin/env bash
# `aitherion roce test` on two soft-RoCE devices, rxe0 on eth0 (first node) and rxe2 on eth2 (last node), which are connected
# outside of the guest. Runs in the guest.
# shellcheck source=tests/vm/checks.sh
. /vm/checks.sh

rounds=3 # rounds of the comparison with perftest

ath() { timeout 300 "$AITHERION" roce test "$@"; }
# fails CODE WORD ARGUMENT...: the command must exit with 1, have CODE, and have WORD in its message or hint.
fails() {
    local code=$1 word=$2 status
    shift 2
    ath "$@" --json >/tmp/out 2>/tmp/err
    status=$?
    cat /tmp/out /tmp/err
    [ $status = 1 ] && [ ! -s /tmp/out ] && jq -e --arg c "$code" --arg w "$word" \
        '.code == $c and (.message + " " + (.hint // "") | contains($w))' /tmp/err >/dev/null
}
# right OP FILE: checks a result.
right() {
    cat "$2"
    jq -e --arg op "$1" '.schema == "aitherion.roce-test/1" and .plan.op == $op and .is_verified
        and (.bandwidth == null or (.bandwidth.bytes > 0 and .bandwidth.bytes_per_second > 0
            and .bandwidth.bytes == .bandwidth.messages * .plan.bandwidth_size_bytes))
        and (.latency == null or (.latency.samples > 0 and (.latency.latency_us
            | .min > 0 and .min <= .p50 and .p50 <= .p99 and .p99 <= .max and .mean >= .min and .mean <= .max)))
        and (.bandwidth != null or .latency != null)' "$2" >/dev/null
}
pair() { # OP ARGUMENT...
    local op=$1
    shift
    ath --device rxe0 --peer-device rxe2 --op "$op" --json "$@" >/tmp/pair.json && right "$op" /tmp/pair.json
}
# Prints the index of a RoCE v2 GID. The table has 1024 slots.
gid() { # DEVICE PATTERN
    local folder=/sys/class/infiniband/$1/ports/1 index
    for index in $(grep -l "$2" "$folder"/gids/* | xargs -n 1 basename | sort -n); do
        if grep -q 'RoCE v2' "$folder/gid_attrs/types/$index"; then echo "$index" && return; fi
    done
}
field() { jq -r "$1" "$2"; }

check "without a device, the error is no-rdma" fails no-rdma "rdma link add"
soft_roce 0 2

# The ports are not ready yet; the command waits for them.
dry() { ath --device rxe0 --peer-device rxe2 --dry-run --json >/tmp/dry.json && jq -e '.is_dry_run and .bandwidth == null and .remote.device == "rxe2"' /tmp/dry.json; }
check "a dry run works before the ports are up" dry
check "a test right after the links were set up works" pair write --duration 1
check "the default ports are these two" bash -c "
    timeout 300 $AITHERION roce test --duration 0.2 --json | jq -e '.local.device == \"rxe0\" and .remote.device == \"rxe2\"'"
check "ports can be named by their links" bash -c "
    timeout 300 $AITHERION roce test --device eth2 --peer-device eth0 --duration 0.2 --json |
        jq -e '.local.device == \"rxe2\" and .remote.device == \"rxe0\"'"
for op in write read send; do
    check "$op between two devices" pair $op --duration 1
    check "$op: bandwidth only, 1 MiB" pair $op --duration 0.2 --bandwidth --size 1M
    check "$op: latency only" pair $op --duration 0.2 --latency
    for size in 1 221 4097; do # one byte; one above the inline limit; one above an MTU
        check "$op of $size bytes" pair $op --duration 0.2 --size $size
    done
    check "$op one at a time, and a thousand" bash -c "
        for depth in 1 1000; do timeout 300 $AITHERION roce test --op $op --depth \$depth --duration 0.2 --size 512 || exit; done"
done
check "a device can be tested with itself" bash -c "
    timeout 300 $AITHERION roce test --device rxe0 --peer-device rxe0 --duration 0.3 --json | jq -e .is_verified"
check "the text shows Gb/s" bash -c "timeout 300 $AITHERION roce test --duration 0.3 | tee /tmp/text && grep -q 'Gb/s' /tmp/text"
ath --duration 0.5 2>&1 | sed 's/^/# /'

# ---- over TCP ----
serve() { # ARGUMENT...
    "$AITHERION" roce test --server --json "$@" >/tmp/server.json 2>/tmp/server.err &
    server=$!
    await listens "${port:-18516}"
}
shows() { # NUMBER of tests
    [[ $(jq -s length /tmp/server.json) == "$1" ]]
}
end_server() { # SIGNAL: its exit code
    kill -"$1" $server
    wait $server
}
for way in "rxe2 rxe0" "rxe0 rxe2"; do
    read -r from to <<<"$way"
    serve --device "$to"
    for op in write read send; do
        ath --device "$from" --peer localhost --op $op --duration 0.5 --json >/tmp/client.json 2>/tmp/client.err
        check "$op from $from to a server on $to" right $op /tmp/client.json
    done
    check "the server shows each test" await shows 3
    check "SIGINT ends the server with exit code 0" end_server INT
    jq -s '.[-1]' /tmp/server.json >/tmp/last.json
    check "both sides show the same figures" test "$(jq -c '[.bandwidth, .latency, .plan]' /tmp/last.json)" = \
        "$(jq -c '[.bandwidth, .latency, .plan]' /tmp/client.json)"
    check "each side shows its own direction" test "$(field .direction /tmp/last.json) $(field .direction /tmp/client.json)" = \
        "from-remote to-remote"
    check "each side knows the other's device" test "$(field .remote.device /tmp/last.json) $(field .remote.device /tmp/client.json)" = \
        "$from $to"
done

port=19000
serve --device rxe2 --port 19000 --listen 127.0.0.1
check "another port and address" bash -c "timeout 300 $AITHERION roce test --device rxe0 --peer 127.0.0.1 --port 19000 --duration 0.2"
check "a port without a server is reported" fails peer-unreachable "--server" --device rxe0 --peer 127.0.0.1 --port 19001
printf 'GET / HTTP/1.1\r\n\r\n' | timeout 60 bash -c 'cat >/dev/tcp/127.0.0.1/19000' 2>/dev/null
printf 'ATRT\0\2\0\1\0\0\0\113%075d' 0 | timeout 60 bash -c 'cat >/dev/tcp/127.0.0.1/19000' 2>/dev/null
check "the server reports garbage" await grep -q 'not `aitherion roce test`' /tmp/server.err
check "the server reports another version" await grep -q 'version 2' /tmp/server.err
timeout 300 "$AITHERION" roce test --device rxe0 --peer 127.0.0.1 --port 19000 --duration 20 >/dev/null 2>&1 &
client=$!
await is_connected 19000
kill -KILL $(pgrep -P $client aitherion) 2>/dev/null
wait $client 2>/dev/null
check "the server reports a client that dies" await grep -q 'lost the other side\|retries failed' /tmp/server.err
check "the server still works afterwards" bash -c "timeout 300 $AITHERION roce test --device rxe0 --peer 127.0.0.1 --port 19000 --duration 0.2"
v4=$(gid rxe0 'ffff:0a09:') local0=$(gid rxe0 '^fe80')
check "an IPv4 GID against a link-local one is refused" fails rdma-unreachable "one GID is IPv4" --device rxe0 --gid "$v4" --peer 127.0.0.1 --port 19000
check "SIGTERM ends the server with exit code 0" end_server TERM

nc_once() { timeout 60 bash -c 'exec 3<>/dev/tcp/127.0.0.1/19000; cat <&3 >/dev/null'; }
serve --device rxe2 --port 19000 --once
nc_once 2>/dev/null # sends nothing; the server gives up after five seconds
check "a silent client ends --once with an error" bash -c "! wait $server 2>/dev/null; grep -q 'sends nothing' /tmp/server.err"

# ---- errors ----
check "an unknown GID is refused" fails gid-unusable "usable indexes" --device rxe0 --peer-device rxe2 --gid 99
check "--gid chooses the GID" bash -c "timeout 300 $AITHERION roce test --device rxe0 --peer-device rxe2 --gid $local0 --duration 0.2"
check "IPv4 GIDs within one host fail with a hint" fails rdma-unreachable "policy routing" --device rxe0 --peer-device rxe2 --gid "$v4"
check "an unknown device is refused" fails not-found "rxe0, rxe2" --device mlx5_9
interrupt() {
    "$AITHERION" roce test --duration 60 --json >/tmp/out 2>/tmp/err &
    local pid=$! begin=$SECONDS
    await catches_int $pid
    kill -INT $pid
    wait $pid
    [ $? = 1 ] && [ $((SECONDS - begin)) -lt 50 ] && grep -q '"interrupted"' /tmp/err
}
check "SIGINT ends the test at once" interrupt
chmod 666 /dev/infiniband/*
cp "$AITHERION" /tmp/aitherion.user && chmod 755 /tmp/aitherion.user
check "a low limit of locked memory is reported" bash -c "ulimit -l 64
    timeout 300 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all /tmp/aitherion.user roce test --size 1M --json 2>/tmp/err
    [ \$? = 1 ] && cat /tmp/err && jq -e '.code == \"memlock-low\" and (.hint | contains(\"ulimit -l unlimited\"))' /tmp/err"

# ---- comparison with perftest ----
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
perftest() { # PROGRAM ARGUMENT...: both sides; the client's output
    timeout 300 "$@" -x 0 -F -d rxe2 >/dev/null 2>&1 &
    local other=$!
    await listens 18515
    timeout 300 "$@" -x 0 -F -d rxe0 localhost
    wait $other
}
: >/tmp/bw.theirs; : >/tmp/bw.ours; : >/tmp/lat.theirs; : >/tmp/lat.ours
for ((round = 0; round < rounds; round++)); do
    perftest ib_write_bw -s 65536 -D 1 --report_gbits | awk '$1 == 65536 { print $4 }' >>/tmp/bw.theirs
    ath --device rxe0 --peer-device rxe2 --bandwidth --duration 1 --json | jq '.bandwidth.bytes_per_second * 8 / 1e9' >>/tmp/bw.ours
    perftest ib_write_lat -s 2 -n 1000 | awk '$1 == 2 { print $5 }' >>/tmp/lat.theirs
    ath --device rxe0 --peer-device rxe2 --latency --duration 1 --json | jq .latency.latency_us.p50 >>/tmp/lat.ours
done
best() { # BW-OR-LAT FILE: prints the highest bandwidth or the lowest latency
    case $1 in bw) sort -gr "$2" ;; lat) sort -g "$2" ;; esac | head -1
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { print (b > 0) ? a / b : 0 }'; }
for what in bw lat; do
    theirs=/tmp/$what.theirs ours=/tmp/$what.ours
    echo "# write $what, perftest: $(xargs <$theirs) ours: $(xargs <$ours)"
    echo "# write $what, medians of $rounds: perftest $(median <$theirs), ours $(median <$ours)," \
        "ours/perftest $(ratio "$(median <$ours)" "$(median <$theirs)")"
    # Soft-RoCE in an emulated machine varies several-fold between runs. Its latency is either 0.2 ms or the kernel's tick (4 ms).
    # Only the best runs are compared, because disturbances never make a run better.
    check "write $what is within the spread of perftest" \
        awk -v r="$(ratio "$(best $what $ours)" "$(best $what $theirs)")" 'BEGIN { print r; exit !(r > 0.04 && r < 25) }'
done

# ---- last, because it takes the port down ----
ip link set eth2 down
check "a port that is down is reported" fails rdma-not-ready "ip link set eth2 up" --device rxe0 --peer-device rxe2
check "a missing second port is reported" fails no-rdma "--peer-device"
exit "$failed"
