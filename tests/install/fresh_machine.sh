#!/usr/bin/env bash
# Makes truly fresh Debian machines (debootstrap --variant=minbase, in a chroot) and runs the project's two commands in
# them, from a copy of the last commit. Not part of the default tests: it needs root and takes long.
#
#   tests/install/fresh_machine.sh [--keep] [--with PATH]... [--command CMD]... [SUITE...]
#
# SUITE      Debian releases; bookworm (12) and trixie (13) by default
# --command  what to run in the checkout instead of: scripts/quickstart, scripts/quickstart again, scripts/test,
#            scripts/test --full
# --with     a file or folder of this checkout that git does not have, to be there, too
# --keep     leave the machines in place, to look around in
#
# They are made under $FRESH_MACHINES, by default ${TMPDIR:-/tmp}/fresh-machines. Mirror, apt options, pip configuration
# and certificates are those of this machine. Every step's seconds are printed.
set -euo pipefail

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
machines=${FRESH_MACHINES:-${TMPDIR:-/tmp}/fresh-machines}
keep=false
commands=()
extras=()
suites=()
while (($# > 0)); do
  case $1 in
    --keep) keep=true ;;
    --command) commands+=("${2:?--command needs a command}"); shift ;;
    --with) extras+=("${2:?--with needs a path}"); shift ;;
    -*) echo "usage: fresh_machine.sh [--keep] [--with PATH]... [--command CMD]... [SUITE...]" >&2; exit 2 ;;
    *) suites+=("$1") ;;
  esac
  shift
done
((${#suites[@]} > 0)) || suites=(bookworm trixie)
((${#commands[@]} > 0)) || commands=(./scripts/quickstart ./scripts/quickstart ./scripts/test './scripts/test --full')

fail() { printf 'error: %s\n' "$*" >&2; exit 4; }
((EUID == 0)) || fail 'debootstrap and chroot need root'
command -v debootstrap >/dev/null || fail 'no debootstrap: apt-get install debootstrap'
# shellcheck source=/dev/null
codename=$(. /etc/os-release && [[ $ID == debian ]] && echo "$VERSION_CODENAME") ||
  fail 'this is no Debian: its apt sources name no Debian mirror'
# No `exit` after the first line: apt would be stopped by a closed pipe.
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Release: $codename" 'Component: main' |
  sed -n 1p)
[[ -n $mirror ]] || fail "the apt sources of this machine name no mirror of $codename"

say() { printf '\n### %s (%d s)\n' "$*" "$SECONDS"; }

# What a machine needs to know of this one to reach the same mirror and package index.
inherit() {
  local machine=$1 file
  for file in /etc/resolv.conf /etc/hosts; do
    [[ ! -r $file ]] || cp --remove-destination "$(realpath "$file")" "$machine$file"
  done
  apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries|Check-|Force)' | grep -v -i cainfo \
    >"$machine/etc/apt/apt.conf.d/90machine" || true
  for file in /etc/pip.conf "${PIP_CONFIG_FILE:-}" ~/.pip/pip.conf ~/.config/pip/pip.conf; do
    [[ ! -s $file ]] || cp "$file" "$machine/etc/pip.conf"
  done
  if [[ -r /etc/ssl/certs/ca-certificates.crt ]]; then
    cp /etc/ssl/certs/ca-certificates.crt "$machine/etc/machine-certificates.crt"
    echo 'Acquire::https::CaInfo "/etc/machine-certificates.crt";' >>"$machine/etc/apt/apt.conf.d/90machine"
  fi
}

# inside MACHINE COMMAND: runs it in the checkout; the mounts end with it.
inside() {
  local machine=$1 command=$2 environment=() name
  for name in $(compgen -e); do
    case $name in
      PIP_CERT | PIP_CONFIG_FILE) ;;
      PIP_* | *_proxy | *_PROXY) environment+=("$name=${!name}") ;;
    esac
  done
  [[ ! -e $machine/etc/machine-certificates.crt ]] || environment+=(PIP_CERT=/etc/machine-certificates.crt)
  # shellcheck disable=SC2016
  unshare --mount --propagation private bash -euc '
    mount -t proc proc "$1/proc"
    mkdir -p "$1/dev/shm" "$1/dev/pts"
    mount -t tmpfs tmpfs "$1/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
    ln -sf pts/ptmx "$1/dev/ptmx"
    machine=$1 command=$2
    shift 2
    exec env -i "$@" HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      chroot "$machine" bash -c "cd /root/vernier && $command"' inside "$machine" "$command" "${environment[@]}"
}

machine=
clean() { [[ -z $machine ]] || $keep || rm -rf --one-file-system "$machine"; }
trap clean EXIT

failures=0
mkdir -p "$machines"
for suite in "${suites[@]}"; do
  say "making $suite"
  machine=$(mktemp -d "$machines/$suite.XXXXXX")
  chmod 755 "$machine"
  debootstrap --variant=minbase "$suite" "$machine" "$mirror" >"$machine.log" 2>&1 ||
    { tail -n 20 "$machine.log" >&2; fail "debootstrap could not make $suite"; }
  rm "$machine.log"
  inherit "$machine"
  mkdir "$machine/root/vernier"
  git -C "$checkout" archive HEAD | tar -x -C "$machine/root/vernier"
  ((${#extras[@]} == 0)) || tar -c -C "$checkout" -- "${extras[@]}" | tar -x -C "$machine/root/vernier"
  for command in "${commands[@]}"; do
    say "$suite: $command"
    begin=$SECONDS
    if inside "$machine" "$command"; then verdict=passed; else verdict="FAILED ($?)" failures=$((failures + 1)); fi
    say "$suite: $command: $verdict in $((SECONDS - begin)) s"
  done
  clean
done
((failures == 0)) || fail "$failures of $((${#commands[@]} * ${#suites[@]})) commands failed"
