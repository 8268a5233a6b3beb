#!/bin/sh
# The steps of deployd-proxy.service: proxy.sh run | await | close | open. Its variables come from /etc/deployd/proxy.env.
#   run    runs the mesh's tunneller, which offers the tenancy service on 18443 and the secretstore on 18200; ends with it,
#          when a service does not answer through its port, and when the identity was rewritten
#   await  waits until both services answer through their ports; fails if the tunneller has ended
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
  mkdir -p "$runtime"
  rm -f "$runtime/answers"
  started_with=$(digest)
  # Without a poll rate the tunneller never opens the port of a service that is granted after its start.
  "$tunneller" tunnel proxy --identity "$identity" --svcPollRate 5 \
    "${DEPLOYD_TENANCY_SERVICE:-tenancy.deploy}:18443" "${DEPLOYD_SECRETSTORE_SERVICE:-secretstore}:18200" &
  tunneller=$!
  begin
  watch
}

digest() { sha256sum "$identity" 2>/dev/null || :; }

# Waits for the first answers: 20 seconds, after the first start in vain 40 and then 80, so that the hosts of a fleet do
# not log in again every few seconds.
begin() {
  patience=$(cat "$runtime/patience" 2>/dev/null || echo 20)
  since=$(now)
  pause=1
  until answer; do
    if [ $(($(now) - since)) -ge "$patience" ] && is_idle; then
      [ "$patience" -ge 80 ] || echo $((patience * 2)) >"$runtime/patience"
      again "no answer through the mesh from $silent within $patience s"
    fi
    keep_up "$pause"
    [ "$pause" -ge 5 ] || pause=$((pause + 1))
  done
  rm -f "$runtime/patience"
  : >"$runtime/answers"
}

# Checks both services every 30 seconds; two failures in a row end the tunneller.
watch() {
  failures=0
  while :; do
    for _ in 1 2 3 4 5 6; do keep_up 5; done
    if answer; then failures=0; else failures=$((failures + 1)); fi
    if [ "$failures" -ge 2 ] && is_idle; then again "no answer through the mesh from $silent"; fi
  done
}

now() { cut -d . -f 1 /proc/uptime; }

# keep_up SECONDS: waits; ends with the tunneller, or when the identity has another content, because the tunneller reads
# it only once
keep_up() {
  sleep "$1"
  kill -0 "$tunneller" 2>/dev/null || { wait "$tunneller"; exit 1; }
  if [ -r "$identity" ] && [ "$(digest)" != "$started_with" ] && is_idle; then
    rm -f "$runtime/patience"
    again "the identity $identity was rewritten"
  fi
}

# again WHY: ends, and the unit starts the tunneller again
again() {
  echo "deployd-proxy: $1: starting the tunneller again" >&2
  exit 1
}

# Whether both services answer end to end; sets $silent.
answer() {
  silent='the tenancy service and the secretstore'
  has 480B 0A || has 4718 0A || return 1
  silent=$("$deployd" doctor --proxy 2>/dev/null) || { silent=${silent:-$deployd}; return 1; }
}

# Nothing is transferred through the ports: a restart interrupts nobody.
is_idle() { ! has 480B 01 && ! has 4718 01; }

# The unit supplies the process id of `run`.
await() {
  while [ -n "${MAINPID:-}" ] && kill -0 "$MAINPID" 2>/dev/null; do
    if [ -e "$runtime/answers" ]; then return; fi
    sleep 0.2
  done
  exit 1
}

# has PORT STATE: whether a local port has a TCP socket in the state; in hexadecimal, as the kernel prints them
has() { cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -Eq "^ *[0-9]+: [0-9A-F]+:$1 [0-9A-F]+:[0-9A-F]+ $2 "; }

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
runtime=${RUNTIME_DIRECTORY:-/run/deployd-proxy}
deployd=/usr/bin/deployd
case ${1-} in
  run | await | close | open) "$1" ;;
  *) fail "unknown step ${1-}: run, await, close or open" ;;
esac
