#!/bin/sh
# Enables deployd.timer the first time; a timer that an operator later stops, disables or masks stays so: enable-timer.sh [--asked]
# With --asked it is always enabled. Prints its changes; exits with 3 if the timer does not run.
set -eu
unit=deployd.timer
# Exists after the timer was first enabled, until the package is removed.
once=/etc/deployd/timer.enabled

# note: the agent's user can write to the directory, and could put a link to a file of root's there
note() {
  if [ -f "$once" ] && [ ! -L "$once" ]; then return; fi
  rm -rf "$once"
  (set -C && : >"$once")
}

# left HOW COMMAND
left() {
  echo "$unit was $1 on purpose and stays so; no tick is run. To continue: $2"
  exit 3
}

if [ "${1-}" = --asked ]; then
  rm -f "$once"
  systemctl --quiet unmask "$unit"
fi
is=$(systemctl is-enabled "$unit" 2>/dev/null || :)
case $is in
  masked*) left masked "systemctl unmask $unit && systemctl enable --now $unit" ;;
  enabled)
    if systemctl --quiet is-active "$unit"; then
      note
      exit
    fi
    [ ! -e "$once" ] || left stopped "systemctl start $unit"
    ;;
  *) [ ! -e "$once" ] || left disabled "systemctl enable --now $unit" ;;
esac
systemctl --quiet enable --now "$unit"
note
echo "$unit was enabled"
