#!/bin/sh
# Makes ./configure from configure.ac; needs autoconf, automake and pkg-config (packaging/debian-packages.txt).
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake pkg-config; do
    command -v "$tool" >/dev/null || { echo "$tool is missing: apt-get install autoconf automake pkg-config" >&2; exit 1; }
done
mkdir -p m4
exec autoreconf --install --warnings=all,no-portability
