#!/bin/sh
# Installs deployd on this host, or changes it to the given version and options; safe to repeat. See --help. Contains
# only functions until the last line: a script that is cut off in a pipe does nothing.
{ set +x; } 2>/dev/null
set +a -eu
umask 022

# Filled in by the publisher of the installer.
version=0.2.0
registry_base=
release_base=

usage() {
  cat <<'USAGE'
Installs deployd, the agent of a host with systemd, on amd64 or arm64: with apt on Debian and Ubuntu, with dnf on Fedora
and RHEL 9. Run it as root.

  sh install.sh --env ID --site SITE --transport system --tenancy-url URL --secretstore-url URL \
    --bootstrap-file FILE

Values in the host's configuration need not be repeated.

  --env ID                environment of this host
  --site SITE             site of this host
  --transport KIND        path to the services: system (ordinary network), sdk (mesh, from inside the agent) or
                          proxy (mesh, through a local proxy)
  --tenancy-url URL       address of the tenancy service
  --tenancy-ca FILE       PEM file of the authority that signs its certificate; default: the system's authorities
  --secretstore-url URL   address of the secretstore (OpenBao or Vault)
  --secretstore-ca FILE   PEM file of the authority that signs its certificate; default: the system's authorities
  --bootstrap-file FILE   bootstrap grant of the install kit; - for standard input. If the host has no token yet, a
                          saved script also reads the grant from standard input without this option
  --identity-jwt FILE     one-time enrolment token of the mesh identity (transports sdk and proxy)
  --re-enrol              enrol with --identity-jwt and replace an existing mesh identity
  --mesh NAMES            mesh or openziti: names of the mesh's directory, user and unit; default: detected
  --kit-trust FILE        trusted signers of bundles, trust.json of the install kit; not used if this host's config.yaml
                          has the key trust, or with --trust
  --trust FILE            the same from another source, which is used in place of the kit's; its fingerprints are printed
  --sequence N            lowest sequence of a bundle to accept, for a host that has applied none; from the install kit
  --laptop                this host may be offline for a long time
  --enable-timer          enable the timer even if somebody stopped, disabled or masked it
  --token TOKEN           download token of the package registry; better in the variable DEPLOYD_TOKEN, which sudo does
                          not log
  --source KIND           registry, gitea or repository: where the package comes from; or DEPLOYD_SOURCE; default: the
                          repository that this host is configured for, otherwise registry
  --base-url URL          part of the address before /VERSION/FILE (registry), /vVERSION/FILE (gitea), or /apt and /dnf
                          (repository); or DEPLOYD_BASE_URL
  --repository-key FILE   public key that verifies the repository's signature, its deployd.asc; stored on the host
  --version VERSION       version of the package; default: the script's own version
  --proxy URL             HTTP proxy for the downloads; default: the variable https_proxy
  --help                  show this help
USAGE
}

config_dir=/etc/deployd
share=/usr/share/deployd
config=$config_dir/config.yaml
units=/etc/systemd/system
cache=/var/cache/deployd-install
fetch_config=/run/deployd-install.conf
lock=/run/deployd-install.lock

main() {
  hide_token "$@"
  read_options "$@"
  require_host
  hold_lock
  settle_values
  read_grant
  require_values
  install_package
  make_places
  enrol_identity
  join_mesh
  grant_identity
  write_config
  start_mesh
  accept_sequence
  bootstrap
  enable_timer
  first_tick
}

say() { printf 'deployd install: %s\n' "$*"; }
warn() { printf 'deployd install: %s\n' "$*" >&2; }
die() {
  warn "$*"
  is_told=yes
  exit 1
}
misused() {
  warn "$*"
  is_told=yes
  exit 2
}

# --- options; their values are never printed, because a misplaced one may be a secret

is_file() {
  case ${0##*/} in sh | dash | ash | bash | busybox | ksh | mksh | zsh) return 1 ;; esac
  [ -f "$0" ]
}

# Every user can read a token on this process's command line: the script starts again with the token in its environment.
# A script from a pipe cannot.
hide_token() {
  is_file || return 0
  left=$# hidden=
  while [ "$left" -gt 0 ]; do
    left=$((left - 1))
    case $1:${2-} in
      --token: | --token:--* | --token=:*) set -- "$@" "$1" ;;
      --token:*)
        DEPLOYD_TOKEN=$2 hidden=yes left=$((left - 1))
        shift
        ;;
      --token=?*) DEPLOYD_TOKEN=${1#*=} hidden=yes ;;
      *) set -- "$@" "$1" ;;
    esac
    shift
  done
  [ -n "$hidden" ] || return 0
  export DEPLOYD_TOKEN
  exec sh "$0" "$@"
}

read_options() {
  # The environment may export these names, and would export them again.
  unset token grant
  token=${DEPLOYD_TOKEN-} source=${DEPLOYD_SOURCE-} base_url=${DEPLOYD_BASE_URL-}
  unset DEPLOYD_TOKEN
  env='' site='' transport='' tenancy_url='' tenancy_ca='' secretstore_url='' secretstore_ca=''
  trust='' kit_trust='' sequence=''
  bootstrap_file='' identity_jwt='' re_enrol='' mesh='' laptop='' timer='' wanted='' proxy='' repository_key=''
  while [ $# -gt 0 ]; do
    name=${1%%=*}
    case $name in
      --help) usage && exit ;;
      --laptop | --re-enrol | --enable-timer)
        [ "$1" = "$name" ] || misused "$name takes no value; nothing was changed"
        take_option "$name" yes
        shift
        continue
        ;;
      --env | --site | --transport | --tenancy-url | --tenancy-ca | --secretstore-url | --secretstore-ca | \
        --bootstrap-file | --trust | --kit-trust | --sequence | --identity-jwt | --mesh | --token | --source | --base-url | --repository-key | --version | \
        --proxy) ;;
      --*) misused "unknown option $name; --help lists them" ;;
      *) misused 'an argument that belongs to no option; --help lists them' ;;
    esac
    case $1 in
      *=?*) ;;
      *=*) misused "$name needs a value; nothing was changed" ;;
      *)
        case ${2-} in '' | --*) misused "$name needs a value; nothing was changed" ;; esac
        shift
        ;;
    esac
    take_option "$name" "${1#"$name="}"
    shift
  done
}

take_option() {
  case $1 in
    --env) env=$2 ;;
    --site) site=$2 ;;
    --transport) transport=$2 ;;
    --tenancy-url) tenancy_url=$2 ;;
    --tenancy-ca) tenancy_ca=$2 ;;
    --secretstore-url) secretstore_url=$2 ;;
    --secretstore-ca) secretstore_ca=$2 ;;
    --bootstrap-file) bootstrap_file=$2 ;;
    --trust) trust=$2 ;;
    --kit-trust) kit_trust=$2 ;;
    --sequence) sequence=$2 ;;
    --identity-jwt) identity_jwt=$2 ;;
    --re-enrol) re_enrol=$2 ;;
    --mesh) mesh=$2 ;;
    --laptop) laptop=$2 ;;
    --enable-timer) timer=--asked ;;
    --proxy) proxy=$2 ;;
    --token) token=$2 ;;
    --source) source=$2 ;;
    --base-url) base_url=$2 ;;
    --repository-key) repository_key=$2 ;;
    --version) wanted=$2 ;;
  esac
}

# --- checks before any change

require_host() {
  [ "$(id -u)" = 0 ] || die 'must run as root: use sudo'
  choose_manager
  for tool in $programs systemctl curl sha256sum flock; do
    command -v "$tool" >/dev/null || die "needs $tool, which this host does not have; install it with $manager"
  done
  architecture=$(own_architecture)
  case " $architectures " in
    *" $architecture "*) ;;
    *) die "deployd is packaged for ${architectures% *} and ${architectures#* }, not for $architecture" ;;
  esac
  [ -d /run/systemd/system ] || die 'systemd does not run here; deployd needs its timers'
}

# The system's identification decides, not the existing programs: some systems have both.
choose_manager() {
  case " $(sed -n 's/^ID\(_LIKE\)\{0,1\}=//p' /etc/os-release 2>/dev/null | tr "\"'\n" '   ') " in
    *' debian '* | *' ubuntu '*) use_apt ;;
    *' fedora '* | *' rhel '*) use_dnf ;;
    *) die 'the installer is for Debian and Ubuntu, Fedora and RHEL, and those that follow them; see /etc/os-release' ;;
  esac
}

# Only one installer runs at a time. Removes the leftovers of a killed one, including its token.
hold_lock() {
  exec 9>"$lock"
  flock -n 9 || die 'another deployd installer is running; wait for it'
  fetcher='' unfinished='' is_hidden='' is_told=''
  signals='1 2 3 4 5 6 7 8 10 11 12 13 14 15 16 24 25 26 27 29 30 31'
  trap tidy EXIT
  for signal in $signals; do
    # shellcheck disable=SC2064 # the number is the current one
    trap "be_stopped $((128 + signal))" "$signal"
  done
  remove_downloads
}

# A signal while the script already ends must not interrupt the cleanup.
be_stopped() {
  # shellcheck disable=SC2086 # each is a word
  trap '' $signals
  tidy "$1"
  trap - EXIT
  exit "$1"
}

# A second signal, for example of a closing terminal, must not end this.
tidy() {
  code=${1-$?}
  # shellcheck disable=SC2086 # each is a word
  trap '' $signals
  [ "$code" = 0 ] || [ -n "$is_told" ] || warn "stopped before it was done ($code); run the installer again"
  [ -z "$is_hidden" ] || show_typing
  [ -z "$fetcher" ] || kill "$fetcher" 2>/dev/null || :
  [ -z "$unfinished" ] || rm -f "$unfinished"
  remove_downloads
}

remove_downloads() { rm -rf "$fetch_config" "$cache"; }

settle_values() {
  before=/dev/null
  if [ -f "$config" ]; then
    [ "$(stat -c %u "$config")" = 0 ] || die "$config does not belong to root: see what it says, then chown root $config"
    before=$config
  fi
  env=${env:-$(configured env)}
  site=${site:-$(configured site)}
  transport=${transport:-$(configured transport)}
  tenancy_url=${tenancy_url:-$(configured tenancy_url)}
  secretstore_url=${secretstore_url:-$(configured secretstore_url)}
  # The tenancy service may hand out the package, too.
  service_ca=${tenancy_ca:-$(configured tenancy_ca)}
  state_dir=$(configured state_dir) grant_file=$(configured bootstrap_file)
  state_dir=${state_dir:-/var/lib/deployd} grant_file=${grant_file:-$config_dir/bootstrap.jwt}
  if [ -z "$source$base_url" ] && [ -f "$repository_file" ]; then source=repository; fi
  source=${source:-registry}
  case $source in
    registry) base_url=${base_url:-$registry_base} ;;
    gitea) base_url=${base_url:-$release_base} token='' ;;
    repository) base_url=${base_url:-$(sed -n "s,^${address_key}[[:space:]]*\(.*\)/$manager\$,\1,p" "$repository_file" 2>/dev/null || :)} token='' ;;
  esac
  base_url=${base_url%/}
  installed=$(installed_version)
  version=${wanted:-$version}
  settle_mesh
}

# configured KEY: the value of an unindented key of config.yaml.
configured() { awk "$plain"' index($0, key ":") == 1 { print plain($0); exit }' key="$1" "$before"; }

# The value of a line `key: value`, without quotes and comment.
plain='
  function plain(line) {
    sub(/^[^:]*:[ \t]*/, "", line)
    if (match(line, /^"[^"]*"/)) return substr(line, 2, RLENGTH - 2)
    if (match(line, /^\047([^\047]|\047\047)*\047/)) {
      line = substr(line, 2, RLENGTH - 2)
      gsub(/\047\047/, "\047", line)
      return line
    }
    sub(/[ \t]*#.*/, "", line)
    sub(/[ \t]+$/, "", line)
    return line
  }'

# Without an option, the host's installation decides.
settle_mesh() {
  if [ -z "$mesh" ]; then
    case $(configured mesh) in
      */opt/openziti/*) mesh=openziti ;;
      *) if [ -d /opt/openziti ] && [ ! -d /opt/mesh ]; then mesh=openziti; else mesh=mesh; fi ;;
    esac
  fi
  mesh_dir=/opt/mesh mesh_user=mesh mesh_unit=mesh-tunnel.service
  if [ "$mesh" = openziti ]; then mesh_dir=/opt/openziti mesh_user=ziti mesh_unit=ziti-edge-tunnel.service; fi
  tunneller=$mesh_dir/bin/${mesh_unit%.service}
  mesh_command=$mesh_dir/bin/$mesh_user
  [ -x "$mesh_command" ] || mesh_command=$(command -v "$mesh_user" || echo "$mesh_command")
  identity=$mesh_dir/etc/identities/deployd-host.$env.json
  # A file with another name was chosen by an operator.
  named=$(sed -n "s/^[^#]*identity_file[\"']\{0,1\}:[[:space:]]*[\"']\{0,1\}\([^\"'},#]*\).*/\1/p" "$before" | sed 's/[[:space:]]*$//' | head -n 1)
  case $named in
    '' | /opt/mesh/etc/identities/deployd-host.*.json | /opt/openziti/etc/identities/deployd-host.*.json) ;;
    *) identity=$named ;;
  esac
}

uses_mesh() { case $transport in sdk | proxy) ;; *) return 1 ;; esac }

needs_package() {
  [ -n "$installed" ] || return 0
  [ "$installed" != "$version" ] || return 1
  [ -n "$wanted" ] || is_older "$installed" "$version"
}

read_grant() {
  grant=
  if [ "$bootstrap_file" = - ]; then
    is_file ||
      misused '--bootstrap-file -: standard input is the script; give the grant in a file; nothing was changed'
    grant=$(cat)
  elif [ -n "$bootstrap_file" ]; then
    [ -r "$bootstrap_file" ] || misused '--bootstrap-file: names no file that can be read; nothing was changed'
    grant=$(cat "$bootstrap_file")
  elif ! is_file; then
    return 0
  elif has_grant; then
    :
  elif [ ! -t 0 ]; then
    say 'reading the bootstrap grant from standard input'
    grant=$(cat)
  else
    is_hidden=yes
    stty -echo
    printf 'Paste the bootstrap grant of the install kit and press Enter (it is not shown): ' >&2
    read -r grant || :
    show_typing
  fi
  exec </dev/null
}

# has_grant: whether there is a token or a waiting grant; another grant is accepted only on request.
has_grant() { has_token || [ -f "$grant_file" ]; }

has_token() { [ -f "$state_dir/store.token" ]; }

show_typing() {
  stty echo
  is_hidden=
  echo >&2
}

# Reports all missing or wrong values at once.
require_values() {
  faults=
  require --env "$env"
  require --site "$site"
  require --transport "$transport"
  require --tenancy-url "$tenancy_url"
  require --secretstore-url "$secretstore_url"
  if needs_package || [ -n "$repository_key" ]; then require '--base-url (or DEPLOYD_BASE_URL)' "$base_url"; fi
  judge_values
  judge_grant
  if uses_mesh; then judge_mesh; fi
  [ -z "$faults" ] || misused "nothing was changed:$faults"
}

fault() {
  faults="$faults
  $*"
}

require() { [ -n "$2" ] || fault "$1 is missing"; }

judge_values() {
  case $env in *[!a-z0-9-]* | -*) fault "--env: lower-case letters, digits and hyphens make one" ;; esac
  case $site in *[[:cntrl:]]*) fault '--site: must be one line' ;; esac
  case $transport in '' | sdk | proxy | system) ;; *) fault '--transport: must be sdk, proxy or system' ;; esac
  judge_url --tenancy-url "$tenancy_url"
  judge_url --secretstore-url "$secretstore_url"
  case $source in registry | gitea) ;; repository) judge_key ;; *) fault '--source: must be registry, gitea or repository' ;; esac
  case $mesh in mesh | openziti) ;; *) fault '--mesh: must be mesh or openziti' ;; esac
  case $version in *[!A-Za-z0-9.+~-]*) fault '--version: letters, digits and . + ~ - make one' ;; esac
  case $token in *[![:graph:]]* | *[\"\\]*) fault '--token: holds characters that no token has' ;; esac
  [ -z "$base_url" ] || is_safe "$base_url" || fault "--base-url: must be an https:// URL without credentials"
  judge_trust
  case $sequence in '' | [1-9]*) ;; *) fault '--sequence: must be a whole number from 1' ;; esac
  case $sequence in *[!0-9]*) fault '--sequence: must be a whole number from 1' ;; esac
  judge_pem --tenancy-ca "$tenancy_ca"
  judge_pem --secretstore-ca "$secretstore_ca"
  case $proxy in *[![:graph:]]* | *[\"\\]*) fault '--proxy: must be one address without spaces' ;; esac
  case $state_dir$grant_file in *[!A-Za-z0-9/._-]*) fault "$config: state_dir and bootstrap_file: letters, digits and / . _ - make one here" ;; esac
  case $grant_file in /*/*) ;; *) fault "$config: bootstrap_file: must lie in a directory" ;; esac
}

# The agent validates the rest.
judge_url() {
  case $2 in
    *[![:graph:]]*) ;;
    '' | http://?* | https://?*) return ;;
  esac
  fault "$1: must be an http(s) address in one line"
}

# Only characters that are safe in the fetcher's configuration; http:// never leaves this host.
is_safe() {
  case $1 in *[![:graph:]]* | *[\"\\]*) return 1 ;; esac
  case $(origin "$1") in
    *@*) return 1 ;;
    https://?*) return 0 ;;
    http://127.0.0.1 | http://127.0.0.1:* | http://localhost | http://localhost:*) return 0 ;;
    'http://[::1]' | 'http://[::1]:'*) return 0 ;;
  esac
  return 1
}

# origin URL: its scheme, host and port, as written.
origin() {
  rest=${1#*://}
  printf '%s://%s' "${1%%://*}" "${rest%%[/?#]*}"
}

judge_pem() {
  [ -n "$2" ] || return 0
  grep -q -e '-----BEGIN CERTIFICATE-----' "$2" 2>/dev/null || fault "$1: names no readable PEM file with a certificate"
}

# Trusted signers that somebody wrote into config.yaml count more than the kit's, and are not replaced.
judge_trust() {
  for file in "$trust" "$kit_trust"; do
    [ -z "$file" ] || [ -r "$file" ] || fault '--trust or --kit-trust: names no file that can be read'
  done
  [ -z "$trust" ] || ! has_trust || grep -q '^trust: {"bundles":' "$before" ||
    fault "--trust: $config has the key trust; change it there, or remove it"
}

has_trust() { grep -q '^trust:' "$before"; }

judge_key() {
  if [ -n "$repository_key" ]; then
    grep -q -e '-----BEGIN PGP PUBLIC KEY BLOCK-----' "$repository_key" 2>/dev/null ||
      fault '--repository-key: names no readable file with an OpenPGP public key in ASCII'
  elif needs_package && [ ! -f "$repository_file" ]; then
    fault '--repository-key is missing: the public key that the repository is signed by'
  fi
}

judge_grant() {
  if [ -z "$grant" ]; then
    has_grant ||
      fault 'the bootstrap grant is missing: --bootstrap-file FILE, or standard input where that is not the script'
  elif ! is_jwt "$grant"; then
    fault 'the bootstrap grant is not a JWT; it is bootstrap_jwt of the install kit'
  fi
}

is_jwt() {
  case $1 in
    *[!A-Za-z0-9._-]* | *.*.*.* | .* | *..* | *.) return 1 ;;
    *.*.*) return 0 ;;
  esac
  return 1
}

judge_mesh() {
  getent group "$mesh_user" >/dev/null ||
    fault "--transport $transport: there is no group $mesh_user; install the mesh's tunneller first, or choose its names with --mesh"
  [ "$transport" != proxy ] || [ -x "$mesh_command" ] ||
    fault "--transport proxy: there is no $mesh_command to run the proxy; install it first"
  [ "$transport" != proxy ] || is_closed ||
    fault '--transport proxy: its ports would be open to the network: install nftables, or, where another firewall closes 18443 and 18200,' \
      "write DEPLOYD_PROXY_PORTS=exposed into $config_dir/proxy.env"
  [ -n "$re_enrol" ] || [ ! -s "$identity" ] || return 0
  if [ -z "$identity_jwt" ]; then
    if [ -s "$identity" ]; then
      fault '--re-enrol: needs --identity-jwt, with the enrolment token of the new identity'
    else
      fault "--identity-jwt is missing: this host has no mesh identity yet ($identity)"
    fi
  elif [ ! -r "$identity_jwt" ] || ! is_jwt "$(cat "$identity_jwt")"; then
    fault '--identity-jwt: names no readable file with a JWT; it holds mesh_enrolment_jwt of the install kit'
  fi
  [ -x "$tunneller" ] || [ -x "$mesh_command" ] ||
    fault "--identity-jwt: there is no $tunneller here to enrol it with; install the mesh's tunneller first"
}

# Whether something closes the proxy's ports to the network.
is_closed() {
  PATH=$PATH:/usr/sbin:/sbin command -v nft >/dev/null || lines_of_root "$config_dir/proxy.env" | grep -Eq '^DEPLOYD_PROXY_PORTS=["'\'']?exposed["'\'']?[[:space:]]*$'
}

# --- the package

install_package() {
  if [ "$source" = repository ] && { needs_package || [ -n "$repository_key" ]; }; then use_repository; fi
  if ! needs_package; then
    say "deployd $installed is installed"
    return
  fi
  package=$(package_in_repository)
  [ "$source" = repository ] || fetch_package
  say "installing deployd $version"
  bring "$package" || { finish_killed && bring "$package"; } || die "$manager could not install ${package##*/}: see above$hint"
  installed=$version
  remove_downloads
}

fetch_package() {
  file=$(package_file)
  tag=$version
  [ "$source" = registry ] || tag=v$version
  mkdir -p "$cache" || die "cannot make $cache"
  say "fetching $file from $(origin "$base_url")"
  fetch "$base_url/$tag/$file.sha256" "$cache/$file.sha256"
  fetch "$base_url/$tag/$file" "$cache/$file"
  token=
  verify "$cache/$file"
  room_for "$cache/$file"
  package=$cache/$file
}

# A refused repository would block every other installation on the host, so the manager gets it only after its signature
# is verified.
use_repository() {
  mkdir -p "$cache" || die "cannot make $cache"
  say "reading the repository at $(origin "$base_url")"
  text=$(repository_text)
  printf '%s\n' "$text" >"$cache/${repository_file##*/}"
  read_index "$cache/${repository_file##*/}" || refuse_repository
  [ -z "$repository_key" ] || keep_key
  put "$repository_file" 0644 root:root "$text"
  remove_downloads
}

# Without another key, the host keeps its key.
repository_text() {
  if [ -n "$repository_key" ]; then
    new_repository
  else
    sed "s,^\(${address_key}[[:space:]]*\).*,\1$base_url/$manager," "$repository_file"
  fi
}

refuse_repository() {
  why='cannot be read'
  ! printf '%s' "$said" | grep -Eq "$unsigned" || why='is not signed by the key of --repository-key'
  die "the repository at $base_url $why; nothing was changed:
$said"
}

# fetch URL FILE: follows redirects itself, because the fetcher would send the token to every target.
fetch() {
  url=$1 hops=0
  while :; do
    request "$url" "$2"
    case $status in
      200) return ;;
      301 | 302 | 303 | 307 | 308) ;;
      *) die "$(refusal "$status" "${1##*/}")" ;;
    esac
    hops=$((hops + 1))
    [ "$hops" -le 5 ] || die "$(origin "$base_url") redirects without end"
    is_safe "$redirect" || die "$(origin "$url") redirects to an address that is not https; not followed"
    url=$redirect
  done
}

# request URL FILE: sets status and redirect. Sends the token only to the origin of the download base, from a file that
# exists while the fetcher runs.
request() {
  (
    umask 077
    {
      printf '%s\n' silent show-error globoff 'connect-timeout = 15' 'speed-time = 60' 'speed-limit = 1'
      printf '%s = "%s"\n' url "$1" output "$2" proto '=https,http' write-out '%{http_code} %{redirect_url}'
      case $1 in
        http:*) echo 'noproxy = "*"' ;;
        *) [ -z "$proxy" ] || printf 'proxy = "%s"\n' "$proxy" ;;
      esac
      if [ -n "$service_ca" ] && [ "$(origin "$1")" = "$(origin "$tenancy_url")" ]; then
        printf 'cacert = "%s"\n' "$service_ca"
      fi
      if [ -n "$token" ] && [ "$(origin "$1")" = "$(origin "$base_url")" ]; then
        printf 'header = "DEPLOY-TOKEN: %s"\n' "$token"
      fi
    } >"$fetch_config"
  ) || die "cannot write $fetch_config"
  curl --disable --config "$fetch_config" >"$cache/answer" 2>"$cache/errors" </dev/null 9>&- &
  fetcher=$! failure=0
  wait "$fetcher" || failure=$?
  fetcher=
  rm -f "$fetch_config"
  [ "$failure" = 0 ] || die "$(breakdown "$failure" "$1")"
  read -r status redirect <"$cache/answer" || :
}

refusal() {
  why="$1 for $2" from=$(origin "$url")
  case $1:$from in
    401:"$(origin "$base_url")" | 403:"$(origin "$base_url")" | 404:"$(origin "$base_url")") ;;
    *) echo "$from answers $why; try again later" && return ;;
  esac
  if [ "$source" = gitea ]; then
    echo "$why: there is no such release; check --version ($version) and --base-url"
  elif [ -z "$token" ]; then
    echo "$why: no download token was given; it is in the install kit, pass it in DEPLOYD_TOKEN or by --token"
  elif [ "$1" = 401 ]; then
    echo "$why: the download token is wrong, revoked or lacks the scope read_package_registry; reveal the install kit again"
  elif [ "$1" = 403 ]; then
    echo "$why: the download token may not read this project's packages; reveal the install kit again"
  else
    echo "$why: there is no such package, or the download token is another project's; check --version ($version) and --base-url"
  fi
}

# breakdown CODE URL: the fault in words, with the fetcher's message.
breakdown() {
  said=$(head -n 1 "$cache/errors")
  case $1 in
    5 | 6 | 7 | 16 | 18 | 28 | 35 | 52 | 55 | 56 | 92) echo "no network to $(origin "$2"): $said; run the installer again when there is" ;;
    51 | 58 | 60 | 77 | 83 | 90 | 91) echo "the certificate of $(origin "$2") is not trusted: $said" ;;
    23) echo "no room on the disk of $cache: make some and run the installer again" ;;
    *) echo "the download from $(origin "$2") failed: $said" ;;
  esac
}

verify() {
  read -r digest name <"$1.sha256" || :
  case $digest in *[!0-9a-f]*) digest='' ;; esac
  [ "${#digest}" = 64 ] || die "${1##*/}.sha256 is not a checksum file; nothing was installed"
  name=${name#\*}
  [ -z "$name" ] || [ "${name##*/}" = "${1##*/}" ] || die "${1##*/}.sha256 is of another file; nothing was installed"
  found=$(sha256sum <"$1")
  [ "${found%% *}" = "$digest" ] ||
    die "${1##*/} does not have the checksum it was published with: damaged on the way or not the package; nothing was installed"
}

room_for() {
  needed=$(installed_kib "$1")
  free=$(df -Pk /usr | sed -n '2p' | tr -s ' ' | cut -d ' ' -f 4)
  [ "$free" -ge "${needed:-0}" ] ||
    die "no room on the disk of /usr: the package needs $((needed / 1024)) MiB, $((free / 1024)) are free; nothing was installed"
}

# --- the package manager: the code above uses either of the two by the same names. Programs with the name of a busybox
# applet are called by path, because a busybox shell would run the applet.

use_apt() {
  manager=apt programs='apt-get /usr/bin/dpkg dpkg-query' architectures='amd64 arm64'
  repository_file=/etc/apt/sources.list.d/deployd.sources address_key='URIs:'
  unsigned='NO_PUBKEY|BADSIG|EXPKEYSIG|REVKEYSIG|not signed|signature|Clearsigned|NOSPLIT|NODATA'
  hint='; where it misses packages, run apt-get update first'

  own_architecture() { /usr/bin/dpkg --print-architecture; }
  installed_version() {
    dpkg-query -W -f '${db:Status-Status} ${Version}' deployd 2>/dev/null | sed -n 's/^installed //p'
  }
  is_older() { /usr/bin/dpkg --compare-versions "$1" lt "$2"; }
  package_file() { echo "deployd_${version}_$architecture.deb"; }
  package_in_repository() { echo "deployd=$version"; }
  installed_kib() { /usr/bin/dpkg-deb -f "$1" Installed-Size; }

  # bring PACKAGE: installs a file or a repository's package with its dependencies; waits for another package manager
  bring() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 ${wanted:+--allow-downgrades} \
      install "$1" </dev/null 9>&-
  }
  # Finishes the work of a killed package manager, which blocks all others; fails if there is none.
  finish_killed() {
    [ -n "$(ls -A /var/lib/dpkg/updates)" ] || return 1
    say 'finishing what a package manager that was killed has begun'
    DEBIAN_FRONTEND=noninteractive /usr/bin/dpkg --configure --pending </dev/null 9>&-
  }

  # The same as the role's.
  new_repository() {
    printf '%s\n' '# The repository of deployd.' 'Types: deb' "URIs: $base_url/apt" 'Suites: stable' 'Components: main' 'Signed-By:'
    sed 's/^[[:space:]]*$/./; s/^/ /' "$repository_key"
  }
  keep_key() { :; }
  # read_index SOURCES: reads this source only; sets said; waits for another apt-get
  read_index() {
    tries=30
    until said=$(LC_ALL=C apt-get -qq -o Dir::Etc::SourceList="$1" -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=false \
      -o APT::Update::Error-Mode=any update 2>&1 </dev/null 9>&-); do
      case $tries:$said in
        [1-9]*'Could not get lock'*) sleep 10 ;;
        *) return 1 ;;
      esac
      tries=$((tries - 1))
    done
  }
}

# dnf itself waits for another dnf.
use_dnf() {
  manager=dnf programs='dnf /usr/bin/rpm' architectures='x86_64 aarch64'
  repository_file=/etc/yum.repos.d/deployd.repo address_key='baseurl[[:space:]]*='
  unsigned=GPG hint=''
  key_file=/etc/pki/rpm-gpg/deployd.asc

  own_architecture() { /usr/bin/rpm --eval '%{_arch}'; }
  installed_version() { /usr/bin/rpm -q --queryformat '=%{VERSION}\n' deployd 2>/dev/null | sed -n 's/^=//p' | tail -n 1; }
  is_older() { [ "$(/usr/bin/rpm --eval "%{lua:print(rpm.vercmp('$1', '$2'))}")" = -1 ]; }
  package_file() { echo "deployd-$version.$architecture.rpm"; }
  package_in_repository() { echo "deployd-$version"; }
  installed_kib() { bytes=$(/usr/bin/rpm -qp --nosignature --queryformat '%{SIZE}' "$1") && echo $((bytes / 1024)); }

  # A repository's package is installed with the current index, whatever version is pinned.
  bring() {
    case $1 in /*) ;; *) set -- --setopt=deployd.metadata_expire=0 --setopt=deployd.includepkgs="$1" "$1" ;; esac
    dnf --quiet --assumeyes install "$@" </dev/null 9>&-
  }
  finish_killed() { return 1; }

  # The same as the role's. Keeps the host's pin, which apt has in a separate file.
  new_repository() {
    printf '%s\n' '# The repository of deployd.' '[deployd]' 'name=deployd' "baseurl=$base_url/dnf" "gpgkey=file://$key_file" \
      'gpgcheck=1' 'repo_gpgcheck=1'
    [ ! -e "$repository_file" ] || sed -n '/^includepkgs[[:space:]]*=/p' "$repository_file"
  }
  keep_key() { put "$key_file" 0644 root:root "$(cat "$repository_key")"; }
  # read_index FILE: reads this repository only, with an empty cache; sets said. dnf 5 has another name for the cache.
  read_index() {
    [ -z "$repository_key" ] || cp "$repository_key" "$cache/deployd.asc" || die "cannot write $cache/deployd.asc"
    said=$(LC_ALL=C dnf --quiet --assumeyes --refresh --setopt=reposdir="${1%/*}" --setopt=cachedir="$cache/index" \
      --setopt=system_cachedir="$cache/index" --setopt=deployd.skip_if_unavailable=0 \
      ${repository_key:+--setopt=deployd.gpgkey="file://$cache/deployd.asc"} makecache 2>&1 </dev/null 9>&-)
  }
}

# --- the mesh

# Paths that the package creates by default; the unit may write to these as well.
make_places() {
  paths=
  if [ "$state_dir" != /var/lib/deployd ]; then
    [ -d "$state_dir" ] || install -d -m 0700 -o deployd -g deployd "$state_dir" || die "cannot make $state_dir, the configured state_dir"
    paths="-$state_dir"
  fi
  [ "${grant_file%/*}" = "$config_dir" ] || paths="${paths:+$paths }-${grant_file%/*}"
  if [ -n "$paths" ]; then
    put_drop_in deployd.service paths.conf "ReadWritePaths=$paths"
    manage daemon-reload
  else
    "$share/undo.sh" deployd.service paths.conf </dev/null >/dev/null 9>&-
  fi
}

enrol_identity() {
  uses_mesh || return 0
  said=$("$share/enrol.sh" ${re_enrol:+--anew} "$identity" "$mesh_user" "$identity_jwt" "$tunneller" "$mesh_command" </dev/null 9>&-) ||
    die 'the mesh identity could not be enrolled: see above; an enrolment token serves once, reveal the install kit again for another'
  say "$said"
}

join_mesh() {
  uses_mesh || return 0
  case " $(id -nG deployd) " in *" $mesh_user "*) return ;; esac
  usermod -a -G "$mesh_user" deployd
}

grant_identity() {
  uses_mesh || return 0
  [ "$transport" = sdk ] || return 0
  "$share/identity-acl.sh" "$identity" </dev/null 9>&- || die "the agent could not be given the mesh identity $identity: see above"
  manage enable --now deployd-identity-acl.path
}

# --- the configuration

write_config() {
  put_authority secretstore-ca.pem "$secretstore_ca"
  put_authority tenancy-ca.pem "$tenancy_ca"
  store_trust
  text=$(merged)
  begin "$config" 0640 root:deployd "$text"
  require_valid "$unfinished"
  settle "$config"
}

# Prints the fingerprints, which people compare, and sets the line of config.yaml.
store_trust() {
  trust_line=
  if [ -z "$trust" ] && [ -n "$kit_trust" ]; then
    if has_trust; then
      say "$config has trusted signers; the signers of the install kit are not used"
    else
      trust=$kit_trust
    fi
  fi
  [ -n "$trust" ] || return 0
  put "$config_dir/trust.json" 0644 root:root "$(cat "$trust")"
  say 'trusted signers of bundles; compare the fingerprints with the people who sign:'
  trust_line=$(deployd trust store "$config_dir/trust.json" </dev/null 9>&-) ||
    die "the trusted signers cannot be stored: see above; nothing was enabled"
}

# put_drop_in UNIT NAME TEXT: below [Service].
put_drop_in() {
  mkdir -p "$units/$1.d"
  put "$units/$1.d/$2" 0644 root:root "# Written by the installer of deployd.
[Service]
$3"
}

put_authority() {
  [ -n "$2" ] || return 0
  text=$(cat "$2")
  put "$config_dir/$1" 0644 root:root "$text"
}

# put FILE MODE OWNER TEXT: replaces the file with the text at once.
put() {
  begin "$@"
  settle "$1"
}

# Creates a new file, whoever can write to its directory: nobody can change root's file there until the last step
# changes its owner.
begin() {
  unfinished=$1.new
  rm -rf "$unfinished"
  (
    umask 077
    set -C
    printf '%s\n' "$4" >"$unfinished" && [ "$(LC_ALL=C stat -c %u:%F "$unfinished")" = '0:regular file' ]
  ) || die "cannot write $1: see above"
  chmod "$2" "$unfinished"
  chown -h "$3" "$unfinished"
}

settle() {
  if cmp -s "$unfinished" "$1" 2>/dev/null && [ "$(rights "$unfinished")" = "$(rights "$1")" ]; then
    rm -f "$unfinished"
  else
    sync "$unfinished"
    mv -fT "$unfinished" "$1"
  fi
  unfinished=
}

rights() { stat -c '%a %U:%G' "$1"; }

# The desired configuration: changed lines are replaced, the rest is unchanged.
merged() {
  wanted_keys | awk "$plain"'
    function key_of(line) { sub(/:.*/, "", line); return line }
    NR == FNR { wanted[key_of($0)] = $0; order[++count] = key_of($0); next }
    key_of($0) in wanted {
      if (key_of($0) == "trust" || plain($0) != plain(wanted[key_of($0)])) $0 = wanted[key_of($0)]
      found[key_of($0)] = 1
    }
    { print }
    END { for (i = 1; i <= count; i++) if (!(order[i] in found)) print wanted[order[i]] }' - "$before"
}

wanted_keys() {
  text_key env "$env"
  text_key site "$site"
  text_key transport "$transport"
  text_key tenancy_url "$tenancy_url"
  text_key secretstore_url "$secretstore_url"
  [ -z "$tenancy_ca" ] || text_key tenancy_ca "$config_dir/tenancy-ca.pem"
  [ -z "$secretstore_ca" ] || [ -z "$(configured secretstore_ca)" ] || text_key secretstore_ca "$config_dir/secretstore-ca.pem"
  [ -z "$laptop" ] || echo 'laptop_mode: true'
  [ -z "$trust_line" ] || printf '%s\n' "$trust_line"
  if uses_mesh && [ "$mesh" != mesh ] && [ "$identity" != "$named" ] && ! grep -q '^mesh:[[:space:]]*$' "$before"; then
    echo "mesh: { identity_file: '$identity' }"
  fi
}

text_key() { printf "%s: '%s'\n" "$1" "$(printf '%s' "$2" | sed "s/'/''/g")"; }

# The agent reports faults itself; it exits with 78 if it rejects the configuration.
require_valid() {
  code=0
  said=$(deployd status --config "$1" 2>&1 >/dev/null </dev/null 9>&-) || code=$?
  [ "$code" != 78 ] || die "the configuration is refused; the old one stays and nothing was enabled:
$said"
}

# manage VERB [UNIT]
manage() {
  systemctl --quiet "$@" </dev/null 9>&- || die "systemctl $* failed: see above, or journalctl -xe; then run the installer again"
}

start_mesh() {
  if [ "$transport" != proxy ] && systemctl --quiet is-enabled deployd-proxy.service 2>/dev/null; then
    manage disable --now deployd-proxy.service
  fi
  uses_mesh || return 0
  run_host
  [ "$transport" = proxy ] || return 0
  write_proxy
  start_unit deployd-proxy.service "$config_dir/proxy.env" "$units/deployd-proxy.service.d/mesh.conf" ||
    die "the proxy does not start, and nothing is reached without it; mend this and run the installer again:
$(journalctl --quiet --output cat --unit deployd-proxy.service --lines 2 2>/dev/null || :)"
}

# start_unit UNIT FILE…: runs it with the current files and the newest identity
start_unit() { "$share/start-unit.sh" "$@" /var/cache/deployd-enrolments/last </dev/null >/dev/null 2>&1 9>&-; }

# The tunneller of the host's identity hosts services and intercepts nothing.
run_host() {
  put_drop_in "$mesh_unit" run-host.conf "ExecStart=
ExecStart=$tunneller run-host --identity-dir=$mesh_dir/etc/identities"
  if systemctl --quiet cat "$mesh_unit" >/dev/null 2>&1; then
    start_unit "$mesh_unit" "$units/$mesh_unit.d/run-host.conf" ||
      die "$mesh_unit does not start: systemctl status $mesh_unit; then run the installer again"
  else
    say "there is no $mesh_unit on this host; it will run as a host when it is installed"
  fi
}

# The proxy derives the mesh's names from the identity, except its user, which is in the unit. Other variables belong to
# the operator.
write_proxy() {
  file=$config_dir/proxy.env
  text="DEPLOYD_IDENTITY=$identity"
  names=DEPLOYD_IDENTITY
  case $mesh_command:$identity in
    "$mesh_dir"/*:"$mesh_dir"/*) ;;
    *)
      text="$text
DEPLOYD_TUNNELLER=$mesh_command"
      names="$names|DEPLOYD_TUNNELLER"
      ;;
  esac
  theirs=$(lines_of_root "$file" | grep -Ev "^($names)=" || :)
  [ -z "$theirs" ] || text="$text
$theirs"
  put "$file" 0640 root:"$mesh_user" "$text"
  [ "$mesh_user" != mesh ] || return 0
  put_drop_in deployd-proxy.service mesh.conf "User=$mesh_user
Group=$mesh_user"
}

# Ignores a file that another user created: whoever runs the proxy would treat it as an operator's.
lines_of_root() {
  case $(LC_ALL=C stat -c %u:%F "$1" 2>/dev/null) in '0:regular file') cat "$1" ;; esac
}

# --- the first tick

# A running tick has the lock for a moment.
accept_sequence() {
  [ -n "$sequence" ] || return 0
  tries=10
  while :; do
    code=0
    said=$(deployd trust reset --sequence "$sequence" --if-unknown 2>&1 </dev/null 9>&-) || code=$?
    case $code:$tries in
      0:*) break ;;
      75:[1-9]*) sleep 1 ;;
      *) die "the sequence of --sequence cannot be stored; nothing was enabled: $said" ;;
    esac
    tries=$((tries - 1))
  done
  say "$said"
}

# The timer is enabled even if the grant fails; faults of the grant are reported at the end.
bootstrap() {
  trouble=
  [ -z "$grant" ] || put "$grant_file" 0600 deployd:deployd "$grant"
  [ -f "$grant_file" ] || return 0
  say 'exchanging the bootstrap grant for a token'
  code=0
  said=$(deployd bootstrap 2>&1 </dev/null 9>&-) || code=$?
  [ -z "$said" ] || printf '%s\n' "$said" >&2
  [ -f "$grant_file" ] || code=0 # a tick of the timer may have taken it first
  case $code:$said in
    0:*) ;;
    75:*) warn 'the grant stays in place, and the next tick exchanges it' ;;
    *BOOTSTRAP_REFUSED*)
      rm -f "$grant_file"
      if has_token; then
        warn 'the bootstrap grant was refused and removed; the token that the host has stays'
      else
        trouble='the bootstrap grant was refused and removed: it is expired, superseded or of another service; reveal the install kit again and run the installer with the new one'
      fi
      ;;
    *) trouble="the bootstrap failed; the grant stays in $grant_file; mend what is told above and run the installer again" ;;
  esac
}

enable_timer() {
  code=0
  said=$("$share/enable-timer.sh" ${timer:+"$timer"} </dev/null 2>&1 9>&-) || code=$?
  case $code in 0 | 3) ;; *) die "the timer cannot be enabled: $said" ;; esac
  [ -z "$trouble" ] || die "$trouble"
  [ "$code" = 3 ] || return 0
  say "deployd $installed is installed; $said"
  exit
}

# The unit runs the tick, as the timer does; if the timer has already begun one, this waits for it.
first_tick() {
  say 'running one tick; journalctl -fu deployd.service shows it'
  failure=0
  systemctl start deployd.service 9>&- 2>/dev/null || failure=$?
  code=$(systemctl show --property ExecMainStatus --value deployd.service)
  [ "$failure" = 0 ] || [ "$code" != 0 ] ||
    die "deployd $installed is installed and its timer enabled, but deployd.service does not start: systemctl status deployd.service"
  said=$(journalctl --quiet --output cat "_SYSTEMD_INVOCATION_ID=$(systemctl show --property InvocationID --value deployd.service)" 2>/dev/null || :)
  [ -z "$said" ] || printf '%s\n' "$said"
  case $code:$said in
    0:*) say "done: deployd $installed ticks every minute" ;;
    75:*) say "deployd $installed is installed, and not connected yet: $(printf '%s\n' "$said" | tail -n 1); it is tried again every minute" ;;
    *AGENT_UNAUTHENTICATED*)
      die 'deployd is installed, but the tenancy service refuses its token: the grant was superseded by a later reveal of the install kit; run the installer with the newest grant'
      ;;
    *) die "deployd $installed is installed and its timer enabled, but the first tick ended with $code: see above, or journalctl -u deployd.service" ;;
  esac
}

main "$@"
