#!/bin/sh
# Prints the facts of the host that the role needs, as JSON. Its arguments:
#
#   TOKEN GRANT KIT_NOTE DROP_IN CONFIG_DIR GROUP IDENTITY TUNNELLER COMMAND UNIT FETCHED SOURCE PIN KEY REPO
#
# Contents are in base64; links and irregular files have no content.
set -eu
PATH=$PATH:/usr/sbin:/sbin
token=$1 grant=$2 kit_note=$3 drop_in=$4 config=$5 group=$6 identity=$7 tunneller=$8 command=$9 unit=${10} fetched=${11}
shift 11

# bool COMMAND…
bool() { if "$@" >/dev/null 2>&1; then echo true; else echo false; fi; }
exists() { [ -e "$1" ] || [ -L "$1" ]; }
is_regular() { [ -f "$1" ] && [ ! -L "$1" ]; }
content() { if is_regular "$1"; then base64 --wrap=0 "$1"; fi; }
digest() { if is_regular "$1"; then sha256sum <"$1" | cut -c 1-64; fi; }
proxy_runs() {
  case $(systemctl is-active deployd-proxy.service) in inactive | failed | unknown) ;; *) return 0 ;; esac
  systemctl --quiet is-enabled deployd-proxy.service
}
unit_exists() { [ "$(systemctl show --property=LoadState --value "$unit")" != not-found ]; }
# Ignores a file that another user created: whoever runs the proxy would treat it as an operator's.
operators() { if exists "$1" && [ "$(stat --format=%u "$1")" = 0 ]; then content "$1"; fi; }

# The system's identification decides, as in the installer: some systems have both package managers.
case " $(sed -n 's/^ID\(_LIKE\)\{0,1\}=//p' /etc/os-release 2>/dev/null | tr "\"'\n" '   ') " in
  *' debian '* | *' ubuntu '*)
    manager=apt architecture=$(dpkg --print-architecture) files="$1 $2"
    # shellcheck disable=SC2016 # dpkg fills these in
    package=$(dpkg-query --show --showformat='${db:Status-Status} ${Version}' deployd) || [ $? = 1 ]
    ;;
  *' fedora '* | *' rhel '*)
    manager=dnf architecture=$(rpm --eval '%{_arch}') files="$3 $4"
    package=$(rpm --query --queryformat 'installed %{VERSION}\n' deployd | grep '^installed ' | tail -n 1) || [ $? = 1 ]
    ;;
  *) manager='' architecture='' files='' package='' ;;
esac
version=''
case $package in 'installed '*) version=${package#* } ;; esac
contents=''
for file in $files; do contents="$contents${contents:+, }\"$(content "$file")\""; done
cat <<JSON
{
  "manager": "$manager",
  "architecture": "$architecture",
  "systemd": $(bool [ -d /run/systemd/system ]),
  "package": "${package%% *}",
  "version": "$version",
  "fetched": $(bool exists "$fetched"),
  "manager_files": [$contents],
  "token": $(bool exists "$token"),
  "grant": $(bool exists "$grant"),
  "grant_note": "$(digest "$config/bootstrap.sha256")",
  "trust": $(bool is_regular "$config/trust.json"),
  "sequence_note": "$(content "$config/sequence")",
  "kit_note": $(bool exists "$kit_note"),
  "drop_in": $(bool exists "$drop_in"),
  "config": "$(content "$config/config.yaml")",
  "proxy_env": "$(operators "$config/proxy.env")",
  "proxy_runs": $(bool proxy_runs),
  "firewall": $(bool command -v nft),
  "group": $(bool getent group "$group"),
  "identity": $(bool [ -s "$identity" ]),
  "tunneller": $(bool exists "$tunneller"),
  "command": $(bool exists "$command"),
  "unit": $(bool unit_exists)
}
JSON
