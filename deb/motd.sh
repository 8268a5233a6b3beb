#!/bin/sh
# Prints at sign-in that an operator holds this host. Calls the program only if there is a hold, or was one recently.

# report CONFIG STATE_DIR WHAT [OPTION…]
report() {
  state_dir=$(sed -n "s/^state_dir:[[:space:]]*[\"']\{0,1\}\(\/[^\"'#]*[^\"'#[:space:]]\).*/\1/p" "$1" 2>/dev/null | head -n 1)
  [ -n "$(find "${state_dir:-$2}/hold.json" -mtime -8 2>/dev/null)" ] || return 0
  what=$3
  shift 3
  held=$(timeout 5 deployd hold --show "$@" 2>/dev/null) || return 0
  echo "deployd: $what is $held; sooner: sudo deployd unhold${*:+ $*}"
}

report /etc/deployd/config.yaml /var/lib/deployd 'this host'
for config in /etc/deployd-envs/*/config.yaml; do
  [ -e "$config" ] || continue
  env=${config%/config.yaml} env=${env##*/}
  report "$config" "/var/lib/deployd-envs/$env" "env $env of this host" --env "$env"
done
