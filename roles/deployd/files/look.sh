#!/bin/sh
# Tells as JSON what the role asks of the host: look.sh TOKEN GRANT KIT_NOTE DROP_IN CONFIG_DIR GROUP IDENTITY TUNNELLER COMMAND
# UNIT DOWNLOAD
# Contents come in base64; a file that is none, or a link, has none.
set -eu
PATH=$PATH:/usr/sbin:/sbin
token=$1 grant=$2 kit_note=$3 drop_in=$4 config=$5 group=$6 identity=$7 tunneller=$8 command=$9 unit=${10} download=${11}

# whether COMMAND…
whether() { if "$@" >/dev/null 2>&1; then echo true; else echo false; fi; }
there() { [ -e "$1" ] || [ -L "$1" ]; }
plain() { [ -f "$1" ] && [ ! -L "$1" ]; }
content() { if plain "$1"; then base64 --wrap=0 "$1"; fi; }
digest() { if plain "$1"; then sha256sum <"$1" | cut -c 1-64; fi; }
proxy_runs() {
  case $(systemctl is-active deployd-proxy.service) in inactive | failed | unknown) ;; *) return 0 ;; esac
  systemctl --quiet is-enabled deployd-proxy.service
}
unit_is_there() { [ "$(systemctl show --property=LoadState --value "$unit")" != not-found ]; }
# A file that another user made says nothing: who runs the proxy would take it for an operator's.
operators() { if there "$1" && [ "$(stat --format=%u "$1")" = 0 ]; then content "$1"; fi; }

architecture='' version=''
if command -v dpkg >/dev/null; then
  architecture=$(dpkg --print-architecture)
  # shellcheck disable=SC2016 # dpkg fills these in
  package=$(dpkg-query --show --showformat='${db:Status-Status} ${Version}' deployd) || [ $? = 1 ]
  case $package in 'installed '*) version=${package#* } ;; esac
fi
cat <<JSON
{
  "architecture": "$architecture",
  "apt": $(whether command -v apt-get),
  "systemd": $(whether [ -d /run/systemd/system ]),
  "version": "$version",
  "download": $(whether there "$download"),
  "token": $(whether there "$token"),
  "grant": $(whether there "$grant"),
  "grant_note": "$(digest "$config/bootstrap.sha256")",
  "kit_note": $(whether there "$kit_note"),
  "drop_in": $(whether there "$drop_in"),
  "config": "$(content "$config/config.yaml")",
  "proxy_env": "$(operators "$config/proxy.env")",
  "proxy_runs": $(whether proxy_runs),
  "firewall": $(whether command -v nft),
  "group": $(whether getent group "$group"),
  "identity": $(whether [ -s "$identity" ]),
  "tunneller": $(whether there "$tunneller"),
  "command": $(whether there "$command"),
  "unit": $(whether unit_is_there)
}
JSON
