#!/bin/sh
# Enables and starts a unit, and restarts it if a file that it reads has changed since its start: start-unit.sh UNIT [FILE…]
# Prints its changes, one per line. A unit whose start failed and is repeated by systemd counts as started.
set -eu
unit=$1
shift

# tell PROPERTY
tell() { systemctl show --timestamp=us+utc --property "$1" --value "$unit"; }

# run VERB
run() { systemctl "$1" "$unit" || [ "$(tell ActiveState)" = activating ]; }

if ! systemctl --quiet is-enabled "$unit" 2>/dev/null; then
  systemctl --quiet enable "$unit"
  echo "$unit was enabled"
fi

# A unit that an interrupted run is starting may have read the previous files.
verb=start
case $(tell ActiveState) in
  active | activating | reloading)
    if [ -n "$(find "$@" -maxdepth 0 -newerct "$(tell ExecMainStartTimestamp)" 2>/dev/null)" ]; then
      verb=restart
    else
      systemctl --quiet is-active "$unit" || run start
      exit 0
    fi
    ;;
esac
# Always, because systemd does not detect a first drop-in.
systemctl daemon-reload
run "$verb"
echo "$unit was ${verb}ed"
