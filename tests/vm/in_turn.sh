#!/usr/bin/env bash
# in_turn.sh SCRIPT...: runs scripts of this folder one after another in the guest. Each script may take 25 minutes (in case it
# hangs), and finds the network as it was after the boot. Before and after the output of a script come the lines "== SCRIPT" and
# "-- SCRIPT: exit code N, S seconds", which ./check reads. A boot for each script would take longer than this clean-up.

remove_links() {
    local device link
    for device in /sys/class/infiniband/*; do
        [[ ! -e $device ]] || rdma link del "${device##*/}"
    done
    ip -all netns delete
    for link in /sys/class/net/*; do
        link=${link##*/}
        case $link in
        lo) ;;
        eth[0-9]) ip addr flush dev "$link"; ip link set "$link" down mtu 1500 ;;
        *) ip link del "$link" 2>/dev/null ;; # deleting one end of a pair deletes the other
        esac
    done
}

# Ends the Docker of a script and deletes its data.
end_docker() {
    local daemon
    pidof dockerd >/dev/null || return 0
    docker ps -aq | xargs -r docker rm -f >/dev/null
    for daemon in dockerd containerd; do
        pkill -x "$daemon"
        timeout 120 bash -c "while pidof $daemon >/dev/null; do sleep 0.1; done"
    done
    rm -rf /var/lib/docker /var/lib/containerd
}

# Unloads modules that the boot did not load, so that each script finds the kernel as after a boot.
remove_modules() {
    local module
    for module in $(lsmod | awk 'NR > 1 { print $1 }' | grep -vxF "$booted_with"); do
        modprobe -qr "$module"
    done
}

booted_with=$(lsmod | awk 'NR > 1 { print $1 }')
for script; do
    echo "== $script"
    begin=$SECONDS
    timeout -k 5 1500 bash "/vm/$script"
    echo "-- $script: exit code $?, $((SECONDS - begin)) seconds"
    end_docker
    remove_links
    remove_modules
    rm -rf /tmp/*
done
exit 0
