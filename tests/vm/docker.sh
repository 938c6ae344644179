#!/usr/bin/env bash
# Docker alone, without aitherion: a container bound to a NUMA node, a macvlan network, a device, and RDMA between two containers
# on two nodes, with the GIDs of the host's links. Runs in the guest.
# shellcheck source=tests/vm/checks.sh
. /vm/checks.sh

soft_roce 0 2
check "dockerd answers" vm-docker --bridge=none --iptables=false

# An image without files. Its containers use the guest's own files.
mkdir image
ln -s usr/{bin,sbin,lib,lib64} image/
check "an empty image is imported" bash -c 'tar -C image -c . | docker import - guest'
check "a macvlan network is created" docker network create -d macvlan --subnet 10.50.0.0/24 -o parent=eth2 roce
run() { # NODE ARGUMENT...
    local node=$1
    shift
    docker run -v /usr:/usr:ro -v /etc/libibverbs.d:/etc/libibverbs.d:ro --ulimit memlock=-1 \
        --device /dev/infiniband/uverbs0 --device /dev/infiniband/uverbs1 \
        --cpuset-cpus "$(cpus_of "$node")" --cpuset-mems "$node" "$@"
}
place_of() { awk '/^(Cpus|Mems)_allowed_list/ { print $2 }' "/proc/$(docker inspect "$1" | jq '.[0].State.Pid')/status" | xargs; }
address_of() { docker inspect "$1" | jq -r '.[0].NetworkSettings.Networks.roce.IPAddress'; }

check "a container starts" run "$last_node" -d --name server --network roce guest timeout 300 ibv_rc_pingpong -d rxe2 -g 0 -n 200
check "the container is on the last node" is "$(place_of server)" "$(cpus_of "$last_node") $last_node"
check "the Engine's API lists the container" is \
    "$(curl -s --unix-socket /run/docker.sock http://d/v1.41/containers/json | jq -r '.[0].Names[0]')" /server
ip link add mv0 link eth0 type macvlan mode bridge
ip link set mv0 up
ip addr add 10.50.0.1/24 dev mv0
rxe_ready rxe0 rxe2
check "eth0 reaches the container's macvlan" ping -c 1 -w 10 "$(address_of server)"
check "RDMA works between two containers" run 0 --name client --network roce guest \
    timeout 300 ibv_rc_pingpong -d rxe0 -g 0 -n 200 "$(address_of server)"
grep usec/iter /tmp/check.out | sed 's/^/# /'
docker rm -f server client >/dev/null
check "no container is left" is "$(docker ps -aq)" ""
exit "$failed"
