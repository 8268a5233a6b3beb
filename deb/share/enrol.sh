#!/bin/sh
# Enrols the mesh identity of this host, where it has none: enrol.sh [--anew] IDENTITY USER JWT TUNNELLER COMMAND
#   IDENTITY, USER       where it is put, and whose it is; with --anew it replaces one that is there
#   JWT                  file with the enrolment token, which serves once; may be empty where nothing is to be enrolled
#   TUNNELLER, COMMAND   the mesh's programs: the first enrols, or the second where the first is missing
# What was enrolled is kept by the digest of its token until it is in place, so that a run that is cut can be finished; the
# digest stays, so that the token which brought an identity is no reason for another.
# Tells what it did, or that there was nothing to do.
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

# A copy is moved in, for the directory is the mesh's, whose user could put a link wherever root goes on writing.
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
  # What runs by the identity is older than this from now on.
  echo "$enrolment" >"$enrolments/last"
  mv -fT "$identity.enrolling" "$identity"
  rm -f "$enrolled"
}

digest=$(sha256sum <"${jwt:-/dev/null}" | cut -d ' ' -f 1)
enrolled=$enrolments/$digest.json
enrolment="$digest $identity"
mkdir -p "$enrolments"
# Written whole, by a run that was cut right after.
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
