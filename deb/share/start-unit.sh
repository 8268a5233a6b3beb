#!/bin/sh
# Enables and starts a unit, anew where a file that it reads has changed since it was started: start-unit.sh UNIT [FILE…]
# Tells what it did, a line each; nothing where all was so already.
set -eu
unit=$1
shift

# tell PROPERTY
tell() { systemctl show --timestamp=us+utc --property "$1" --value "$unit"; }

if ! systemctl --quiet is-enabled "$unit" 2>/dev/null; then
  systemctl --quiet enable "$unit"
  echo "$unit was enabled"
fi

# One that is being started, by a run that was cut, may read what was there before.
verb=start
case $(tell ActiveState) in
  active | activating | reloading)
    if [ -n "$(find "$@" -maxdepth 0 -newerct "$(tell ExecMainStartTimestamp)" 2>/dev/null)" ]; then
      verb=restart
    elif systemctl --quiet is-active "$unit"; then
      exit 0
    fi
    ;;
esac
# Always: systemd's own sign that it is needed does not tell of a first drop-in.
systemctl daemon-reload
systemctl "$verb" "$unit"
echo "$unit was ${verb}ed"
