#!/bin/sh
# Undoes the changes of installer and role beyond the package: drop-ins, access to the mesh identity, the mesh's group.
# Prints what keeps running unchanged. Operators' files stay. With `UNIT NAME`, removes one drop-in and prints that.
set -u
units=/etc/systemd/system

say() { echo "deployd: $*" >&2; }

# remove UNIT NAME: removes a drop-in whose first line shows that it is ours
remove() {
  case $(head -n 1 "$units/$1.d/$2" 2>/dev/null) in
    '# Written by the installer of deployd.' | '# Written by the Ansible role deployd.') ;;
    *) return 1 ;;
  esac
  rm -f "$units/$1.d/$2"
  rmdir "$units/$1.d" 2>/dev/null || :
}

reload() { if [ -d /run/systemd/system ]; then systemctl --system daemon-reload >/dev/null || :; fi; }

if [ $# = 2 ]; then
  if remove "$1" "$2"; then
    reload
    echo "$units/$1.d/$2 was removed"
  fi
  exit 0
fi
remove deployd-proxy.service mesh.conf
remove deployd.service paths.conf
for unit in mesh-tunnel.service ziti-edge-tunnel.service; do
  if remove "$unit" run-host.conf; then
    say "$unit runs with the settings of deployd (run-host) until it is restarted"
  fi
done
reload
/usr/share/deployd/identity-acl.sh --undo
for group in mesh ziti; do
  case " $(id -nG deployd 2>/dev/null) " in *" $group "*) gpasswd --delete deployd "$group" >/dev/null || : ;; esac
done
exit 0
