#!/bin/sh
# Lets the deploy agent read the mesh identities after the tunneller rewrote them: identity-acl.sh [DIRECTORY…]
# A rewrite drops ACLs, and under mode 0600 the ACL's mask hides what the directory's default grants, the group's access
# too. What is right already is not touched: every change would wake the watch on the directory again.
set -u
[ $# -gt 0 ] || set -- /opt/mesh/etc/identities /opt/openziti/etc/identities

newline='
'

# grants PATH ENTRY…: whether each entry stands in the ACL as it is here, not cut by the mask
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
  # One that the tunneller has just moved away is no fault.
  modify 2>/dev/null || [ ! -e "$path" ] || modify
}

# By a descriptor, for the mesh's user may at any time put a link to a file of root's in the place of his own.
modify() { modify_open 3<"$path"; }

modify_open() {
  if [ "$(readlink /proc/self/fd/3)" != "$path" ]; then
    echo "$path is a link, or below one; left alone" >&2
    return 1
  fi
  setfacl --modify "$entries" /proc/self/fd/3
}

status=0
for directory in "$@"; do
  [ -d "$directory" ] || continue
  directory=$(realpath "${directory%/*}")/${directory##*/}
  grant "$directory" user:deployd:--x \
    default:user::rwx default:user:deployd:r-- default:group::r-- default:mask::r-- default:other::--- || status=1
  for identity in "$directory"/*.json; do
    if [ ! -f "$identity" ] || [ -L "$identity" ]; then continue; fi
    grant "$identity" user:deployd:r-- group::r-- mask::r-- other::--- || status=1
  done
done
exit $status
