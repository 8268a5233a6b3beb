#!/bin/sh
# Installs the programs to build and check packages: needs.sh build | repository | lintian | rpmlint | shells … Silent
# when there is nothing to do.
set -eu

say() { printf 'deployd package: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# need PROGRAM PACKAGE: notes the package of a missing program
need() {
  command -v "$1" >/dev/null || missing="$missing $2"
}

install_missing() {
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then die "needs the packages$missing: install them"; fi
  say "installing$missing with apt-get"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq -o DPkg::Lock::Timeout=300 update >&2 || die 'apt-get update failed'
  # shellcheck disable=SC2086 # a list
  apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing >&2 ||
    die "cannot install$missing: see above"
}

missing=
for use in "$@"; do
  case $use in
    build)
      need dpkg-deb dpkg
      need dpkg-shlibdeps dpkg-dev
      need strip binutils
      need aarch64-linux-gnu-strip binutils-aarch64-linux-gnu
      need qemu-aarch64-static qemu-user-static
      need xz xz-utils
      need rpmbuild rpm
      ;;
    repository)
      need apt-ftparchive apt-utils
      need createrepo_c createrepo-c
      need gpg gpg
      need gpg-agent gpg-agent
      need rpmsign rpm
      ;;
    lintian)
      need lintian lintian
      need man man-db
      ;;
    rpmlint) need rpmlint rpmlint ;;
    shells)
      need bash bash
      need zsh zsh
      need fish fish
      need shellcheck shellcheck
      ;;
    *) die "unknown use $use: build, repository, lintian, rpmlint or shells" ;;
  esac
done
install_missing
