#!/bin/sh
# Adds this host to a tenancy service of deployd. The service fills in the three values below; `deployctl host add` prints
# the lines that run this. The one-time code comes on standard input. Contains only functions until the last line.
{ set +x; } 2>/dev/null
set +a -eu
umask 077

service=
authority=

usage() {
  cat <<'USAGE'
Adds this host to the tenancy service: installs a container engine and compose where they are missing, installs deployd,
and enrols the host. May be run again after any interruption. The one-time code of `deployctl host add` is read from
standard input.

  sh deployd-host.sh [OPTION…]

  --yes                 install a missing engine without asking
  --engine KIND         debian or docker: where a missing engine comes from; default: the distribution where it has
                        compose 2.20 or newer, otherwise Docker's repository
  --no-engine           install no engine and no compose
  --docker-url URL      address of Docker's repository; default: https://download.docker.com/linux
  --help                show this help
USAGE
}

docker_url=https://download.docker.com/linux
place=/var/lib/deployd-host
least_compose=2.20

main() {
  read_options "$@"
  become_root "$@"
  require_host
  read_code
  hold_place
  redeem
  bring_engine
  install_deployd
}

say() { printf 'deployd host: %s\n' "$*"; }
die() {
  printf 'deployd host: %s\n' "$*" >&2
  exit 1
}
misused() {
  printf 'deployd host: %s\n' "$*" >&2
  exit 2
}

read_options() {
  yes='' engine='' no_engine=''
  while [ $# -gt 0 ]; do
    case $1 in
      --help) usage && exit ;;
      --yes) yes=yes ;;
      --no-engine) no_engine=yes ;;
      --engine)
        case ${2-} in debian | docker) engine=$2 ;; *) misused '--engine: must be debian or docker' ;; esac
        shift
        ;;
      --docker-url)
        case ${2-} in https://?* | http://127.0.0.1* | http://localhost*) docker_url=${2%/} ;; *) misused '--docker-url: must be an https:// address' ;; esac
        shift
        ;;
      *) misused "unknown option $1; --help lists them" ;;
    esac
    shift
  done
}

# The code stays on standard input.
become_root() {
  [ "$(id -u)" != 0 ] || return 0
  [ -f "$0" ] || die 'must run as root: save the script, and run it with sudo'
  command -v sudo >/dev/null || die "must run as root, and there is no sudo here: sign in as root and paste the lines again"
  exec sudo sh "$0" "$@"
}

# --- checks before any change

require_host() {
  [ -d /run/systemd/system ] || die 'systemd does not run here; deployd needs its timers'
  for tool in curl base64 sha256sum flock; do
    command -v "$tool" >/dev/null || die "needs $tool, which this host does not have; install it, then paste the lines again"
  done
  # shellcheck disable=SC1091 # every supported system has it
  id=$(. /etc/os-release && echo "$ID") like=$(. /etc/os-release && echo "$ID ${ID_LIKE-}")
  case " $like " in
    *' debian '* | *' ubuntu '*) manager=apt ;;
    *' fedora '* | *' rhel '*) manager=dnf ;;
    *) die "$id is not supported: deployd is packaged for Debian, Ubuntu, Fedora and RHEL, and those that follow them" ;;
  esac
}

read_code() {
  [ ! -t 0 ] || die 'the one-time code is missing: paste all lines that deployctl host add has printed'
  IFS= read -r code || :
  exec </dev/null
  case $code in
    *[!A-Za-z0-9_-]*) code='' ;;
    dhc_????????????????????????????????) ;;
    *) code='' ;;
  esac
  [ -n "$code" ] || die 'standard input does not contain a one-time code: paste all lines that deployctl host add has printed'
}

# Only root can read the place. The key in it distinguishes this host from others until it has checked in.
hold_place() {
  [ -d "$place" ] || mkdir -m 0700 "$place" || die "cannot make $place"
  exec 8>"$place/lock"
  flock -n 8 || die 'this script is running already; wait for it'
  kit=$place/kit
  rm -rf "$kit" "$place/key.new"
  trap 'rm -rf "$kit"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  mkdir -m 0700 "$kit"
  if [ ! -s "$place/key" ]; then
    head -c 32 /dev/urandom | sha256sum | cut -c 1-64 >"$place/key.new"
    sync "$place/key.new"
    mv "$place/key.new" "$place/key"
  fi
  IFS= read -r key <"$place/key"
}

# --- the kit

redeem() {
  set -- --disable --silent --show-error --connect-timeout 15 --max-time 120 --retry 5
  if [ -n "$authority" ]; then
    printf '%s\n' "$authority" >"$kit/authority.pem"
    set -- "$@" --cacert "$kit/authority.pem"
  fi
  say "redeeming the code at $service"
  failure=0
  status=$(printf '{"code":"%s","host":"%s"}' "$code" "$key" |
    curl "$@" --header 'content-type: application/json' --data @- --output "$kit/answer" \
      --write-out '%{http_code}' "$service/v1/host-codes/redeem" 2>"$kit/errors" 8>&-) || failure=$?
  code='' key=''
  [ "$failure" = 0 ] || die "$(breakdown "$failure")"
  [ "$status" = 200 ] || refused
  while IFS=' ' read -r name value; do
    case $name in
      command | bootstrap.jwt | download-token | tenancy-ca.pem | secretstore-ca.pem | mesh-enrolment.jwt | trust.json)
        printf '%s' "$value" | base64 -d >"$kit/$name" || die "$service has sent a damaged install kit; paste the lines again"
        ;;
    esac
  done <"$kit/answer"
  if [ ! -s "$kit/command" ] || [ ! -s "$kit/bootstrap.jwt" ]; then
    die "$service has sent no install kit; paste the lines again"
  fi
  rm -f "$kit/answer"
}

breakdown() {
  said=$(head -n 1 "$kit/errors")
  case $1 in
    5 | 6 | 7 | 28 | 35 | 52 | 55 | 56) echo "no network to $service: $said; open its port, then paste the lines again" ;;
    51 | 60 | 77 | 90) echo "the certificate of $service is not trusted: $said; see to it that nothing in between answers for it" ;;
    *) echo "the call to $service failed: $said; paste the lines again" ;;
  esac
}

refused() {
  reason=$(sed -n 's/.*"code":"\([A-Z_]*\)".*/\1/p' "$kit/answer" | head -n 1)
  again='make another one: deployctl host add NAME'
  case $reason in
    HOST_CODE_SPENT)
      if [ -f /var/lib/deployd/store.token ]; then
        say 'this host was added with this code, and has checked in: nothing is left to do; deployd status shows it'
        exit 0
      fi
      die "the code is spent, because the host that it was for has checked in; $again"
      ;;
    HOST_CODE_EXPIRED) die "the code has expired: it is valid for an hour; $again" ;;
    HOST_CODE_TAKEN) die "another host has redeemed this code: find out which one (deployctl audit), then $again" ;;
    HOST_CODE_UNKNOWN) die "the service does not know this code, or a newer one has replaced it; $again" ;;
    BACKEND_RETIRED) die "the record of this host is retired; $again" ;;
    *) die "$service answers $status ${reason:-without a reason}; try again in a minute, then look at its log" ;;
  esac
}

# --- the engine

bring_engine() {
  [ -z "$no_engine" ] || return 0
  parts=''
  has_engine || parts='a container engine'
  has_compose || parts="${parts:+$parts and }compose"
  [ -n "$parts" ] || return 0
  # Another engine is the operator's choice, and must be configured: docs/installing.md.
  if ! has_engine && command -v podman >/dev/null; then
    say 'there is podman, and no docker: no engine is installed; deployd needs the socket of podman in its configuration'
    return 0
  fi
  "choose_$manager"
  confirm
  say "installing $packages from $origin"
  "bring_$manager"
  [ ! -e /usr/lib/systemd/system/docker.service ] || systemctl --quiet enable --now docker.service 8>&- ||
    die 'docker.service does not start: systemctl status docker.service; then paste the lines again'
  has_engine || die "there is still no engine after the installation of $packages; install one, then paste the lines again"
  has_compose || die "there is still no compose $least_compose or newer; install it, then paste the lines again"
}

has_engine() { command -v docker >/dev/null && { command -v dockerd >/dev/null || [ -S /run/docker.sock ]; }; }

has_compose() {
  found=$(docker compose version --short 2>/dev/null) || return 1
  is_enough "${found#v}"
}

# is_enough VERSION: whether it is at least $least_compose
is_enough() {
  [ "$(printf '%s\n' "$least_compose" "$1" | sort -V | head -n 1)" = "$least_compose" ]
}

confirm() {
  [ -z "$yes" ] || return 0
  (: </dev/tty) 2>/dev/null ||
    die "this host has no ${parts}, and there is no terminal to ask on: run deployctl host add NAME --yes, or install it first"
  printf 'This host has no %s. Install %s from %s? [y/N] ' "$parts" "$packages" "$origin" >/dev/tty
  read -r answer </dev/tty || answer=''
  case $answer in y | Y | yes) ;; *) die 'nothing was installed; paste the lines again when an engine is there, or answer y' ;; esac
}

# --- apt

candidate() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '(none)' || :; }
has_package() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -q '^installed'; }

choose_apt() {
  say 'reading the lists of packages'
  update_apt || die "apt-get update failed; correct the sources of this host, then paste the lines again:
$said"
  own_compose=''
  for each in docker-compose-v2 docker-compose; do
    version=$(candidate "$each")
    if [ -n "$version" ] && is_enough "${version#*:}"; then own_compose=$each && break; fi
  done
  origin=$id
  if has_engine; then
    packages=$own_compose
    if has_package docker-ce || [ -z "$own_compose" ]; then packages=docker-compose-plugin origin="Docker’s repository"; fi
  elif [ "$engine" = docker ] || { [ -z "$own_compose" ] && [ "$engine" != debian ]; }; then
    packages='docker-ce docker-ce-cli containerd.io docker-compose-plugin' origin="Docker’s repository"
  else
    [ -n "$own_compose" ] || die "$id has no compose $least_compose or newer: leave --engine debian out"
    packages="docker.io $own_compose"
    [ -z "$(candidate docker-cli)" ] || packages="docker.io docker-cli $own_compose"
  fi
}

update_apt() { said=$(LC_ALL=C apt-get -qq -o DPkg::Lock::Timeout=300 -o APT::Update::Error-Mode=any update 2>&1 </dev/null 8>&-); }

bring_apt() {
  case $origin in Docker*) add_docker_source ;; esac
  # A package of another source must not be removed for these.
  # shellcheck disable=SC2086 # each is a word
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-remove -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install $packages \
    </dev/null 8>&- ||
    die "apt-get could not install $packages: see above. Where packages of another engine are in the way, remove them, or use these with --no-engine"
}

# A second source with another key would stop apt, so that an existing one is used.
add_docker_source() {
  [ -z "$(candidate docker-compose-plugin)" ] || return 0
  # shellcheck disable=SC1091 # every supported system has it
  codename=$(. /etc/os-release && echo "${UBUNTU_CODENAME:-${VERSION_CODENAME-}}")
  case " $like " in *' ubuntu '*) family=ubuntu ;; *) family=debian ;; esac
  ! grep -rqs "$docker_url/$family" /etc/apt/sources.list /etc/apt/sources.list.d ||
    die "the sources of apt name $docker_url/$family, but have no docker-compose-plugin; correct them, then paste the lines again"
  mkdir -p /etc/apt/keyrings
  curl --disable --silent --show-error --fail --location --proto '=https,http' --connect-timeout 15 --max-time 120 \
    --output /etc/apt/keyrings/docker.asc "$docker_url/$family/gpg" 8>&- ||
    die "the key of $docker_url/$family cannot be fetched: see above; use --docker-url, or install an engine first"
  chmod 0644 /etc/apt/keyrings/docker.asc
  file=/etc/apt/sources.list.d/docker.sources
  printf '%s\n' 'Types: deb' "URIs: $docker_url/$family" "Suites: $codename" 'Components: stable' \
    "Architectures: $(dpkg --print-architecture)" 'Signed-By: /etc/apt/keyrings/docker.asc' >"$file"
  chmod 0644 "$file"
  update_apt || {
    rm -f "$file"
    die "$docker_url/$family has no packages for $codename, or they are not signed by its key; nothing was installed:
$said"
  }
}

# --- dnf

choose_dnf() {
  if [ "$id" = fedora ] && [ "$engine" != docker ]; then
    packages='moby-engine docker-compose' origin=fedora
    ! has_engine || packages=docker-compose
  else
    packages='docker-ce docker-ce-cli containerd.io docker-compose-plugin' origin="Docker’s repository"
    ! has_engine || packages=docker-compose-plugin
  fi
}

bring_dnf() {
  case $id in fedora | rhel) family=$id ;; *) family=centos ;; esac
  case $origin in
    Docker*)
      if ! grep -qs "$docker_url" /etc/yum.repos.d/*.repo; then
        curl --disable --silent --show-error --fail --location --proto '=https,http' --connect-timeout 15 --max-time 120 \
          --output /etc/yum.repos.d/docker-ce.repo "$docker_url/$family/docker-ce.repo" 8>&- ||
          die "$docker_url/$family/docker-ce.repo cannot be fetched: see above; use --docker-url, or install an engine first"
        chmod 0644 /etc/yum.repos.d/docker-ce.repo
      fi
      ;;
  esac
  # shellcheck disable=SC2086 # each is a word
  dnf --quiet --assumeyes install $packages </dev/null 8>&- ||
    die "dnf could not install $packages: see above; then paste the lines again"
}

# --- deployd

write_installer() {
  cat >"$kit/install.sh" <<'END_OF_INSTALLER'
# the installer
END_OF_INSTALLER
}

# The command names the other files of the kit.
install_deployd() {
  write_installer
  cd "$kit"
  if [ -s download-token ]; then
    DEPLOYD_TOKEN=$(cat download-token)
    export DEPLOYD_TOKEN
  fi
  sh ./command 8>&- || die 'deployd is not installed yet: see above, then paste the lines again'
  cd /
  rm -rf "$place/key"
  say 'this host is added; deployctl host list shows it'
}

main "$@"
