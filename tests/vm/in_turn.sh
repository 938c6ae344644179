#!/usr/bin/env bash
# in_turn.sh SCRIPT...: in the guest, runs the scripts (of this folder) one after the other, each for 25 minutes at
# most (against what hangs), and each on a network as it was after the boot. Around each one's output it prints "== SCRIPT" and
# "-- SCRIPT: exit code N, S seconds", which ./check reads. A boot costs more than the scripts' separation.

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
        *) ip link del "$link" 2>/dev/null ;; # one end of a pair takes the other
        esac
    done
}

# A script's Docker ends with it, and keeps nothing for the next.
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

# What the boot did not load goes again, so that a script meets the kernel that it would meet alone.
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
