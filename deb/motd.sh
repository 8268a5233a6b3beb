#!/bin/sh
# Tells whoever signs in that an operator holds this host. The program is asked only where there is a hold, or was of late.
configured() {
  sed -n "s/^state_dir:[[:space:]]*[\"']\{0,1\}\(\/[^\"'#]*[^\"'#[:space:]]\).*/\1/p" /etc/deployd/config.yaml 2>/dev/null |
    head -n 1
}

state_dir=$(configured)
[ -n "$(find "${state_dir:-/var/lib/deployd}/hold.json" -mtime -8 2>/dev/null)" ] || exit 0
held=$(timeout 5 deployd hold --show 2>/dev/null) || exit 0
echo "deployd: this host is $held; sooner: sudo deployd unhold"
