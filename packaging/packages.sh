# shellcheck shell=bash
# Sourced by ./quickstart and ./check: which packages of debian-packages.txt are missing, and installing them.

PACKAGE_LIST=$(dirname "${BASH_SOURCE[0]}")/debian-packages.txt

# The names of the list: `packages_named all`, or `packages_named build` for those above the tests' line.
packages_named() {
    local stop="/^# === tests ===/,\$d"
    [[ $1 == all ]] && stop=
    sed -e "$stop" -e "/^#/d" -e "/^[[:space:]]*\$/d" "$PACKAGE_LIST"
}

# Those of the names on standard input that are not installed.
packages_missing() {
    local name
    while read -r name; do
        [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || echo "$name"
    done
}

# Those of the arguments that apt can install here; a name that this release does not have is said and left out.
packages_known() {
    local name
    for name in "$@"; do
        if [[ $(LC_ALL=C apt-cache policy "$name" 2>/dev/null) == *Candidate:\ [0-9a-zA-Z]* &&
              $(LC_ALL=C apt-cache policy "$name" 2>/dev/null) != *"Candidate: (none)"* ]]; then
            echo "$name"
        else
            echo "  this release has no package '$name'; going on without it" >&2
        fi
    done
}

# Installs the packages given, as root; all output goes to the log given first.
packages_install() {
    local log=$1 known
    shift
    export DEBIAN_FRONTEND=noninteractive
    echo "+ apt-get update" >>"$log"
    apt-get -q update >>"$log" 2>&1 || echo "apt-get update failed; trying with the lists that are there" >>"$log"
    mapfile -t known < <(packages_known "$@")
    ((${#known[@]} == 0)) && return 0
    echo "+ apt-get install ${known[*]}" >>"$log"
    apt-get -q -y install --no-install-recommends "${known[@]}" >>"$log" 2>&1
}
