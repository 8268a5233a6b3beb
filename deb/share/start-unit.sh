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
verb=
if [ "$(tell ActiveState)" != active ]; then
  verb=start
elif [ -n "$(find "$@" -maxdepth 0 -newerct "$(tell ExecMainStartTimestamp)" 2>/dev/null)" ]; then
  verb=restart
fi
[ -n "$verb" ] || exit 0
# Always: systemd's own sign that it is needed does not tell of a first drop-in.
systemctl daemon-reload
systemctl "$verb" "$unit"
echo "$unit was ${verb}ed"
