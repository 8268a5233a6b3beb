#!/bin/sh
# Enrols the mesh identity of this host if it has none: enrol.sh [--anew] IDENTITY USER JWT TUNNELLER COMMAND
#   IDENTITY, USER       its path and owner; with --anew it replaces an existing one
#   JWT                  file with the enrolment token, which is valid once; may be empty if nothing has to be enrolled
#   TUNNELLER, COMMAND   the mesh's programs: the first enrols, or the second if the first is missing
#
# Until a new identity is in place it is kept under its token's digest, so an interrupted run can be finished. The
# digest stays, so the same token causes no further enrolment. Prints its changes, or that there was nothing to do.
set -eu
umask 077
enrolments=/var/cache/deployd-enrolments

anew=
if [ "$1" = --anew ]; then anew=yes && shift; fi
identity=$1 user=$2 jwt=$3 tunneller=$4 command=$5

enrol() {
  rm -f "$enrolled.part"
  if [ -x "$tunneller" ]; then
    "$tunneller" enroll --jwt "$jwt" --identity "$enrolled.part" >&2
  else
    "$command" edge enroll --jwt "$jwt" --out "$enrolled.part" >&2
  fi
  [ -s "$enrolled.part" ]
  sync "$enrolled.part"
  mv -fT "$enrolled.part" "$enrolled"
}

# A copy is moved in, because the mesh's user can write to the directory and could put a link in root's way.
put() {
  directory=${identity%/*}
  if [ ! -d "$directory" ]; then
    (umask 022 && mkdir -p "${directory%/*}")
    mkdir -m 0750 "$directory"
    chown -h "$user:$user" "$directory"
  fi
  cp "$enrolled" "$enrolled.copy"
  chown "$user:$user" "$enrolled.copy"
  chmod 0640 "$enrolled.copy"
  mv -fT "$enrolled.copy" "$identity.enrolling"
  # From now on, programs that use the identity are older than it.
  echo "$enrolment" >"$enrolments/last"
  mv -fT "$identity.enrolling" "$identity"
  rm -f "$enrolled"
}

digest=$(sha256sum <"${jwt:-/dev/null}" | cut -d ' ' -f 1)
enrolled=$enrolments/$digest.json
enrolment="$digest $identity"
mkdir -p "$enrolments"
# Complete, by a run that was interrupted right afterwards.
case $(tail -c 2 "$enrolled.part" 2>/dev/null) in *'}') mv -fT "$enrolled.part" "$enrolled" ;; esac
if [ -s "$enrolled" ]; then
  put
  echo "mesh identity $identity was enrolled by a run before, and is in place now"
elif [ -s "$identity" ] && [ "$enrolment" = "$(cat "$enrolments/last" 2>/dev/null)" ]; then
  echo "mesh identity $identity is there, enrolled by this token"
elif [ -s "$identity" ] && [ -z "$anew" ]; then
  echo "mesh identity $identity is there${jwt:+; the enrolment token is not used, unless a new identity is asked for}"
else
  enrol
  put
  echo "mesh identity $identity was enrolled"
fi
