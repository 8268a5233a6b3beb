#!/bin/sh
# Lets the deploy agent read its mesh identity after the tunneller rewrote it: identity-acl.sh [--undo] [IDENTITY…]
# Without identities, uses deployd-host.<env>.json of both meshes for each configuration with transport sdk. A rewrite
# drops ACLs, and under mode 0600 the ACL's mask hides the directory's default grants and the group's access. Correct
# ACLs are not changed, because every change would trigger the watch on the directory again.
set -u

# configured KEY: a plain word of $config
configured() { sed -n "s/^$1:[[:space:]]*[\"']\{0,1\}\([a-z0-9-]*\).*/\1/p" "$config" 2>/dev/null | head -n 1; }

newline='
'

# grants PATH ENTRY…: whether the ACL has each entry exactly so, not cut by the mask
grants() {
  acl=$newline$(getfacl --omit-header --absolute-names -- "$1" 2>/dev/null)$newline
  shift
  for entry in "$@"; do
    case $acl in *"$newline$entry$newline"*) ;; *) return 1 ;; esac
  done
}

# grant PATH ENTRY…
grant() {
  if grants "$@"; then return; fi
  path=$1
  shift
  entries=$(IFS=,; echo "$*")
  # A file that the tunneller has just moved away is not a fault.
  change --modify 2>/dev/null || [ ! -e "$path" ] || change --modify
}

# names PATTERN: whether the ACL of $path has such an entry
names() { getfacl --omit-header --absolute-names -- "$path" 2>/dev/null | grep -Eq "$1"; }

# revoke PATH ENTRY…: also removes the rest of an ACL that names nobody else
revoke() {
  path=$1
  shift
  entries=$(IFS=,; echo "$*")
  names user:deployd: || return 0
  change --remove || return 1
  if names '(user|group):[^:]'; then return; fi
  entries=
  change --remove-all
}

# Uses a descriptor, because the mesh's user may replace its file with a link to a file of root's at any time.
change() { change_open "$1" 3<"$path"; }

change_open() {
  if [ "$(readlink /proc/self/fd/3)" != "$path" ]; then
    echo "$path is a link, or below one; left alone" >&2
    return 1
  fi
  setfacl "$1" ${entries:+"$entries"} /proc/self/fd/3
}

undo=
if [ "${1-}" = --undo ]; then undo=yes && shift; fi
if [ $# = 0 ]; then
  for config in /etc/deployd/config.yaml /etc/deployd-envs/*/config.yaml; do
    if [ -z "$undo" ] && [ "$(configured transport)" != sdk ]; then continue; fi
    name=deployd-host.$(configured env).json
    set -- "$@" "/opt/mesh/etc/identities/$name" "/opt/openziti/etc/identities/$name"
  done
fi
status=0
for identity in "$@"; do
  directory=${identity%/*}
  [ -d "$directory" ] || continue
  directory=$(realpath "${directory%/*}")/${directory##*/}
  identity=$directory/${identity##*/}
  if [ ! -f "$identity" ] || [ -L "$identity" ]; then continue; fi
  if [ -n "$undo" ]; then
    revoke "$directory" user:deployd default:user:deployd || status=1
    revoke "$identity" user:deployd || status=1
  else
    grant "$directory" user:deployd:--x \
      default:user::rwx default:user:deployd:r-- default:group::r-- default:mask::r-- default:other::--- || status=1
    grant "$identity" user:deployd:r-- group::r-- mask::r-- other::--- || status=1
  fi
done
exit $status
