#!/bin/sh
# The steps of deployd-proxy.service: proxy.sh run | await | close | open. Its variables come from /etc/deployd/proxy.env.
#   run    becomes the mesh's tunneller, which offers the tenancy service on 18443 and the secretstore on 18200
#   await  waits until the tunneller has opened these ports, for at most 20 seconds; fails if it has ended
#   close  closes these ports to all other hosts: the tunneller listens on every address
#   open   undoes that
# A missing step of the operator exits with 78, and is not tried again.
set -eu

# fail LINE…
fail() {
  printf 'deployd-proxy: %s\n' "$@" >&2
  exit 78
}

# The identity's path contains the mesh's directory: /opt/openziti/etc/identities/… is OpenZiti's, with other names.
run() {
  identity=${DEPLOYD_IDENTITY:-}
  [ -n "$identity" ] || fail 'DEPLOYD_IDENTITY is not set in /etc/deployd/proxy.env: name the identity file of this host'
  home=${identity%/etc/identities/*}
  case $home in */openziti) name=ziti ;; *) name=mesh ;; esac
  tunneller=${DEPLOYD_TUNNELLER:-$home/bin/$name}
  [ -x "$tunneller" ] ||
    fail "no tunneller at $tunneller: install the mesh's, or set DEPLOYD_TUNNELLER in /etc/deployd/proxy.env"
  [ -r "$identity" ] ||
    fail "the identity $identity cannot be read by $(id -un): enrol this host, or correct DEPLOYD_IDENTITY"
  is_exposed || command -v nft >/dev/null ||
    fail 'the ports 18443 and 18200 would be open to the network: install nftables,' \
      'or, where another firewall closes them, set DEPLOYD_PROXY_PORTS=exposed in /etc/deployd/proxy.env'
  exec "$tunneller" tunnel proxy --identity "$identity" \
    "${DEPLOYD_TENANCY_SERVICE:-tenancy.deploy}:18443" "${DEPLOYD_SECRETSTORE_SERVICE:-secretstore}:18200"
}

# The unit supplies the tunneller's process id.
await() {
  tries=100
  while [ -n "${MAINPID:-}" ] && kill -0 "$MAINPID" 2>/dev/null; do
    if is_open 480B && is_open 4718; then return; fi
    tries=$((tries - 1))
    if [ "$tries" = 0 ]; then
      echo 'deployd-proxy: the ports are not open yet: they are as soon as the mesh answers' >&2
      return
    fi
    sleep 0.2
  done
  exit 1
}

# is_open PORT: whether a process listens on it; in hexadecimal, as the kernel prints it
is_open() { cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -Eq "^ *[0-9]+: [0-9A-F]+:$1 [0-9A-F]+:[0-9A-F]+ 0A "; }

is_exposed() { [ "${DEPLOYD_PROXY_PORTS:-closed}" = exposed ]; }

close() {
  # Without nft the next step reports it.
  if is_exposed || ! command -v nft >/dev/null; then return; fi
  nft -f - <<'RULES'
table inet deployd_proxy
delete table inet deployd_proxy
table inet deployd_proxy {
  chain input {
    type filter hook input priority filter - 1
    iifname != "lo" tcp dport { 18443, 18200 } drop
  }
}
RULES
}

open() {
  if command -v nft >/dev/null; then nft delete table inet deployd_proxy 2>/dev/null || :; fi
}

PATH=$PATH:/usr/sbin:/sbin
case ${1-} in
  run | await | close | open) "$1" ;;
  *) fail "unknown step ${1-}: run, await, close or open" ;;
esac
