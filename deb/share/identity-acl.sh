#!/bin/sh
# Lets the deploy agent read its mesh identity after the tunneller rewrote it: identity-acl.sh [--undo] [IDENTITY…]
# With --extend, extends the certificate of identities before it ends, as their owner, once a day.
# Without identities, uses mesh.identity_file of each configuration with transport sdk (--extend: also with proxy), by
# default deployd-host.<env>.json of both meshes. A rewrite drops ACLs, and under mode 0600 the ACL's mask hides the
# directory's default grants and the group's access. Correct ACLs are not changed, because every change would trigger the
# watch on the directory again.
set -u

# configured KEY: a plain word of $config
configured() { sed -n "s/^$1:[[:space:]]*[\"']\{0,1\}\([a-z0-9-]*\).*/\1/p" "$config" 2>/dev/null | head -n 1; }

# identity_file: mesh.identity_file of $config, in whatever form of YAML on one line
identity_file() {
  sed -n "s/^[^#]*identity_file[\"']\{0,1\}:[[:space:]]*[\"']\{0,1\}\([^\"'},#]*\).*/\1/p" "$config" 2>/dev/null |
    sed 's/[[:space:]]*$//' | head -n 1
}

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

# program_of_identity: the other program that was started with $identity or its directory
program_of_identity() {
  for process in /proc/[0-9]*; do
    line=$(tr '\0' ' ' <"$process/cmdline" 2>/dev/null) || continue
    case $line in
      *' tunnel proxy '* | *identity-acl.sh* | *' extend-identity '*) ;;
      *"$directory"*) cat "$process/comm" && return ;;
    esac
  done
}

# Extends the certificate of $identity; where a person calls it, at once. Another program that uses the identity must
# extend it itself: it keeps the old certificate in memory, which the mesh would refuse then. The proxy is restarted.
extend() {
  stamp=/var/cache/deployd-enrolments/extended.${identity##*/}
  if [ ! -t 1 ] && [ ! -e "$identity.extended" ] && [ -n "$(find "$stamp" -mtime -1 2>/dev/null)" ]; then return; fi
  user=$(stat -c %U "$identity")
  program=$(program_of_identity)
  if [ -n "$program" ]; then
    echo "the mesh identity $identity is used by $program, which has to extend its certificate"
  else
    timeout 25 setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups \
      /usr/bin/deployd extend-identity "$identity" || return
  fi
  mkdir -p "${stamp%/*}" && touch "$stamp"
}

undo='' extend=''
case ${1-} in
  --undo) undo=yes && shift ;;
  --extend) extend=yes && shift ;;
esac
if [ $# = 0 ]; then
  for config in /etc/deployd/config.yaml /etc/deployd-envs/*/config.yaml; do
    case ${undo:+undo}${extend:+extend}:$(configured transport) in
      undo:* | *:sdk | extend:proxy) ;;
      *) continue ;;
    esac
    file=$(identity_file)
    name=deployd-host.$(configured env).json
    if [ -n "$file" ]; then set -- "$@" "$file"; fi
    if [ -z "$file" ] || [ -n "$undo" ]; then
      set -- "$@" "/opt/mesh/etc/identities/$name" "/opt/openziti/etc/identities/$name"
    fi
  done
fi
status=0
for identity in "$@"; do
  directory=${identity%/*}
  [ -d "$directory" ] || continue
  directory=$(realpath "${directory%/*}")/${directory##*/}
  identity=$directory/${identity##*/}
  if [ ! -f "$identity" ] || [ -L "$identity" ]; then continue; fi
  if [ -n "$extend" ]; then
    extend || status=1
  elif [ -n "$undo" ]; then
    revoke "$directory" user:deployd default:user:deployd || status=1
    revoke "$identity" user:deployd || status=1
  else
    grant "$directory" user:deployd:--x \
      default:user::rwx default:user:deployd:r-- default:group::r-- default:mask::r-- default:other::--- || status=1
    grant "$identity" user:deployd:r-- group::r-- mask::r-- other::--- || status=1
  fi
done
exit $status
