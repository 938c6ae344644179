#!/usr/bin/env bash
# Compares the machine with the output of `discover`, and with the documents of `init` and `configure`: two NUMA nodes, two NICs
# behind each, soft-RoCE on eth0 and eth2. Runs in the guest.
# shellcheck source=tests/vm/checks.sh
. /vm/checks.sh

ath() { timeout 300 "$AITHERION" "$@"; }
online=$(cat /sys/devices/system/node/online)
cpus=$(compgen -G '/sys/devices/system/node/node0/cpu[0-9]*' | wc -l)

# ---- the guest itself: the other checks depend on it ----
nic_nodes() { cat /sys/class/net/eth{0,1,2,3}/device/numa_node | xargs; }
check "the guest has the nodes 0 and $last_node" is "${online//[-,]/ }" "0 $last_node"
check "the NICs are at their nodes" is "$(nic_nodes)" "0 0 $last_node $last_node"

# ---- before any RDMA device exists ----
check "discover works without RDMA" eval 'ath discover --json >bare.json && json bare.json "
    [.nics[].netdev] == [\"eth0\", \"eth1\", \"eth2\", \"eth3\"] and all(.nics[]; .rdma_device == null and .gids == [])"'

# ---- discover ----
soft_roce 0 2
rxe_ready rxe0 rxe2
check "discover succeeds" eval 'ath discover --json >machine.json'
check "two nodes have CPUs" json machine.json ".schema == \"aitherion.machine/1\" and .machine.source == \"live\"
    and [.numa_nodes[] | [.id, .kind, .cpus, .cpu_count]] ==
        [[0, \"cpu\", \"$(cpus_of 0)\", $cpus], [$last_node, \"cpu\", \"$(cpus_of "$last_node")\", $cpus]]"
check "both nodes have memory" json machine.json 'all(.numa_nodes[]; .memory_total_bytes > 8e8 and .memory_total_bytes < 1.1e9
    and .memory_free_bytes > 0 and .memory_free_bytes < .memory_total_bytes)'
check "the distances are right" json machine.json "[.numa_nodes[].distances] ==
    [{\"0\": 10, \"$last_node\": 40}, {\"0\": 40, \"$last_node\": 10}]"
check "each NIC is at its node" json machine.json "[.nics[] | [.netdev, .numa_node]] ==
    [[\"eth0\", 0], [\"eth1\", 0], [\"eth2\", $last_node], [\"eth3\", $last_node]]"
for n in 0 1 2 3; do
    check "eth$n: PCI address, driver and MAC are right" json machine.json "[.nics[$n] | .pci, .driver, .mac] ==
        [\"$(basename "$(readlink /sys/class/net/eth$n/device)")\", \"e1000e\", \"$(cat /sys/class/net/eth$n/address)\"]"
done
check "soft-RoCE devices belong to their NICs" json machine.json '[.nics[] | [.netdev, .rdma_device, .port]] ==
    [["eth0", "rxe0", 1], ["eth1", null, null], ["eth2", "rxe2", 1], ["eth3", null, null]]'
check "the states of the links are right" json machine.json '[.nics[] | .link] == ["up", "down", "up", "down"]
    and .nics[0].link_layer == "ethernet" and .nics[0].speed_mbps == 1000'
check "the subnets are right" json machine.json '[.nics[] | .subnets] == [["10.9.0.0/24"], [], ["10.9.0.0/24"], []]'
# Prints the GIDs of the kernel. Soft-RoCE's table has 1024 slots, and an unused one reads as zeros.
gids_of() { # DEVICE
    local folder=/sys/class/infiniband/$1/ports/1 file gid
    grep -v '^[0:]*$' "$folder"/gids/* | sort -t: -k1,1V | while IFS=: read -r file gid; do
        echo "${file##*/} $gid $(cat "$folder/gid_attrs/ndevs/${file##*/}")"
    done
}
for n in 0 2; do
    check "rxe$n: the GIDs are those of the kernel" is "$(jq -r ".nics[$n].gids[] | \"\(.index) \(.gid) \(.netdev)\"" machine.json)" "$(gids_of rxe$n)"
    check "rxe$n: the GID to use is IPv4 and RoCE v2" json machine.json ".nics[$n] | .best_gid_index as \$best
        | .gids[] | select(.index == \$best) | .type == \"RoCE v2\" and .gid == \"0000:0000:0000:0000:0000:ffff:0a09:000$(
            [[ $n == 0 ]] && echo a || echo c)\""
done
check "there is no GPU and no pair" json machine.json '.gpus == [] and .pairs == [] and any(.warnings[]; .code == "no-gpu")'

# ---- other formats ----
check "text format works" eval 'ath discover >text'
for part in "NUMA node 0" "NUMA node $last_node" "rxe0 port 1, use GID" "10.9.0.12"; do
    check "the text has: $part" has "$(cat text)" "$part"
done
check "matrix format works" eval 'ath discover --format matrix >matrix'
check "the matrix has a row for each NIC" is "$(grep -E ' X  .* [0-9]+ +N/A$' matrix | awk '{ print $1, $(NF - 1) }' | xargs)" \
    "rxe0 0 eth1 0 rxe2 $last_node eth3 $last_node"
for format in yaml dot svg; do
    check "$format format works" eval "ath discover --format $format >out && [ -s out ]"
done

# ---- programs on the CPUs and the memory of their GPUs: the guest's nodes, with GPUs that only a captured root has ----
gpu_at() { # NUMBER NODE
    local name=0000:c$1:00.0
    mkdir -p "root/sys/devices/pci0000:c$1/$name"
    (cd "root/sys/devices/pci0000:c$1/$name" &&
        echo 0x030200 >class && echo 0x10de >vendor && echo 0x2330 >device && echo "$2" >numa_node)
    ln -s "../../../devices/pci0000:c$1/$name" "root/sys/bus/pci/devices/$name"
}
mkdir -p root/sys/{bus/pci/devices,class/net} root/sys/devices/system/node
for n in 0 "$last_node"; do
    mkdir "root/sys/devices/system/node/node$n"
    cp /sys/devices/system/node/node"$n"/{cpulist,cpumap,distance,meminfo} "root/sys/devices/system/node/node$n"
done
cp /sys/devices/system/node/{online,possible,has_cpu,has_memory} root/sys/devices/system/node
gpu_at 0 0; gpu_at 1 "$last_node"; gpu_at 2 "$last_node"
bound() { awk -F'\t' '/^(Cpus|Mems)_allowed_list/ { print $2 }' status | xargs; }
check "place: two GPUs are of one node, and the program runs on its CPUs" eval \
    'ath place 2 --root root -- cat /proc/self/status >status && is "$(bound)" "$(cpus_of "$last_node") ${online//,/-}"'
check "place: the memory of that node is preferred" eval \
    'ath place 2 --root root -- cat /proc/self/numa_maps >maps && has "$(cat maps)" " prefer:$last_node "'
check "place: --membind binds it" eval \
    'ath place 2 --root root --membind -- cat /proc/self/numa_maps >maps && has "$(cat maps)" " bind:$last_node "'
check "place: the other node's GPU has the other node's CPUs" eval \
    'ath place 1 --root root --free 0 -- cat /proc/self/status >status && is "$(bound)" "$(cpus_of 0) ${online//,/-}"'
check "place: no node has three GPUs" says "needs 3 free GPUs on 1 NUMA node" ath place 3 --root root --policy single-numa -- true

# ---- a document ----
check "init succeeds" ath init -c topology.yaml
ath configure -c topology.yaml --show --json >document.json
check "each node has an entry with its soft-RoCE device" json document.json ".warnings == []
    and [.document.numa[] | [.id, .node, .data_iface, .rdma_devices]] ==
        [[0, 0, [\"eth0\"], [\"rxe0\"]], [1, $last_node, [\"eth2\"], [\"rxe2\"]]]"
check "configure: a dry run changes nothing" eval 'cp topology.yaml before.yaml; ath configure 0 -c topology.yaml --set memory_percent=55 --dry-run &&
    cmp topology.yaml before.yaml'
check "configure: the value is changed" eval 'ath configure 0 -c topology.yaml --set memory_percent=55 && grep -q "memory_percent: *55" topology.yaml'
check "configure: a second run changes nothing" eval 'cp topology.yaml before.yaml
    ath configure 0 -c topology.yaml --set memory_percent=55 && cmp topology.yaml before.yaml'
check "configure: more than 100 percent is refused" says "at most 100" ath configure 0 -c topology.yaml --set memory_percent=101
exit "$failed"
