# shellcheck shell=bash
# Sourced by the scripts that run on the host (build, run, check, ../cross): architectures, and fetching Debian packages without
# installing them. Exit codes: 125 after a failure, 77 if this machine cannot do it, after a line "skipped: WHY".
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() { echo "${0##*/}: $*" >&2; exit 125; }
skip() { echo "skipped: $*"; exit 77; }
say() { echo "${0##*/}: ${SECONDS} s: $*" >&2; }

# set_arch ARCH: sets the names of an architecture (`arch` of the kernel, `deb` of Debian) and its cache folder.
set_arch() {
    # shellcheck disable=SC2034  # used by the scripts that source this file
    case $1 in
    x86_64 | amd64) arch=x86_64 deb=amd64 kernel=linux-image-amd64 qemu=qemu-system-x86_64 qemu_package=qemu-system-x86 ;;
    ppc64le | ppc64el) arch=ppc64le deb=ppc64el kernel=linux-image-powerpc64le qemu=qemu-system-ppc64 qemu_package=qemu-system-ppc ;;
    *) die "unknown architecture '$1' (x86_64 or ppc64le)" ;;
    esac
    cache=${AITHERION_VM_CACHE:-${TMPDIR:-/tmp}/aitherion-vm-$EUID}/$arch
}

# make_cache: makes the cache folder, which must belong to this user, because programs in it are run.
make_cache() {
    mkdir -p "$cache"
    [[ -O $cache ]] || die "'$cache' belongs to another user; choose another folder with AITHERION_VM_CACHE=DIR"
}

# host_tools PACKAGE...: installs the packages on this machine, or skips with the reason.
host_tools() {
    local package missing=()
    command -v apt-get >/dev/null || skip "the packages of the guest are Debian's, and there is no apt-get here"
    for package in "$@"; do
        [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
    ((${#missing[@]} > 0)) || return 0
    ((EUID == 0)) || skip "not installed, and only root can install them: ${missing[*]}"
    say "installing ${missing[*]}"
    apt-get update -qq || say "some package lists cannot be fetched; the existing ones are used"
    DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends "${missing[@]}" >/dev/null ||
        skip "apt-get cannot install ${missing[*]}"
}

# apt_for COMMAND...: runs apt for the architecture $deb with a separate state in $debs, in which no package is installed.
apt_for() {
    local tool=apt-get
    [[ $1 != depends ]] || tool=apt-cache
    "$tool" -qq -o APT::Architecture="$deb" -o APT::Architectures::="$deb" -o APT::Sandbox::User=root \
        -o Dir::State="$debs" -o Dir::State::lists="$debs/lists" -o Dir::State::status="$debs/status" \
        -o Dir::Cache::archives="$debs/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o Acquire::Languages=none "$@"
}

# fetch_debs DIR PACKAGES: downloads the packages and their dependencies into DIR/archives.
fetch_debs() {
    debs=$1
    mkdir -p "$debs"/{lists,archives}/partial
    : >"$debs/status"
    apt_for update 2>/dev/null || say "some package lists cannot be fetched; the others are used"
    compgen -G "$debs/lists/*Packages*" >/dev/null || skip "no package lists for $deb can be fetched: no network?"
    # shellcheck disable=SC2086  # words on purpose
    apt_for -y --no-install-recommends --download-only install $2 >/dev/null
}

# unpack_debs DIR ROOT [EXCEPT]: unpacks DIR/archives, except files that match EXCEPT, into ROOT, whose / is merged with /usr.
unpack_debs() {
    export root=$2
    (cd "$root" && mkdir -p usr/{bin,sbin,lib,lib64} && ln -s usr/{bin,sbin,lib,lib64} .)
    # shellcheck disable=SC2016  # expanded by the inner shell
    find "$1/archives" -name '*.deb' ! -name "${3:-}" -print0 | xargs -0 -n1 -P"$(nproc)" bash -c '
        dpkg-deb --fsys-tarfile "$1" | tar -x -C "$root" --keep-directory-symlink --exclude=./lib/systemd \
            --exclude=./usr/share/{doc,man,locale,info,lintian,bash-completion,bug,zoneinfo,perl}' _
}
