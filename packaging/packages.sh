# shellcheck shell=bash
# Sourced by ./quickstart and ./check: finds the packages of debian-packages.txt that are missing, and installs them.

PACKAGE_LIST=$(dirname "${BASH_SOURCE[0]}")/debian-packages.txt

# packages_named build | tests | all: prints the names of the list for building, those and the tests' names, or all.
packages_named() {
    local stop
    case $1 in
    build) stop="/^# === tests ===/,\$d" ;;
    tests) stop="/^# === release ===/,\$d" ;;
    *) stop= ;;
    esac
    sed -e "$stop" -e "/^#/d" -e "/^[[:space:]]*\$/d" "$PACKAGE_LIST"
}

# Prints the names from standard input that are not installed.
packages_missing() {
    local name
    while read -r name; do
        [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || echo "$name"
    done
}

# Prints the arguments that apt can install here. Reports a name that this release does not have, and leaves it out.
packages_known() {
    local name
    for name in "$@"; do
        if [[ $(LC_ALL=C apt-cache policy "$name" 2>/dev/null) == *Candidate:\ [0-9a-zA-Z]* &&
              $(LC_ALL=C apt-cache policy "$name" 2>/dev/null) != *"Candidate: (none)"* ]]; then
            echo "$name"
        else
            echo "  this release has no package '$name'; continuing without it" >&2
        fi
    done
}

# packages_install LOG NAME...: installs the packages, as root. All output goes to the log.
packages_install() {
    local log=$1 known
    shift
    export DEBIAN_FRONTEND=noninteractive
    echo "+ apt-get update" >>"$log"
    apt-get -q update >>"$log" 2>&1 || echo "apt-get update failed; continuing with the old package lists" >>"$log"
    mapfile -t known < <(packages_known "$@")
    ((${#known[@]} == 0)) && return 0
    echo "+ apt-get install ${known[*]}" >>"$log"
    apt-get -q -y install --no-install-recommends "${known[@]}" >>"$log" 2>&1
}
