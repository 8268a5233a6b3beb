/** Each player notes how it was called, and waits where a test holds it. */
const stubPreamble = `name=\${0##*/}
echo "$name $*" >>/var/log/calls
for stage in "$name" "$name.\${1-}"; do
  [ -p "/hold/$stage.at" ] || continue
  echo >"/hold/$stage.at"
  cat "/hold/$stage.go"
  rm -f "/hold/$stage.at" "/hold/$stage.go"
done
[ ! -f "/played/$name.says" ] || cat "/played/$name.says" >&2
[ ! -f "/played/$name.ends" ] || exit "$(cat "/played/$name.ends")"
`;

/** A script that notes its call, waits where it is held, and then does this. */
export function stubProgram(body: string): string {
  return `#!/bin/sh\n${stubPreamble}${body}`;
}

/** The behaviour of the scripts that replace programs of a real host, by name. */
export const stubPrograms: Record<string, string> = {
  'apt-get': 'for last; do :; done\nexec dpkg -i "$last"\n',
  deployd: `case $1:\${2-} in
  bootstrap:) mv /etc/deployd/bootstrap.jwt /var/lib/deployd/store.token ;;
  trust:store) echo 'key SHA256:stub' >&2 && printf 'trust: {"bundles":{"keys":["%s"]}}\\n' "$(cat "$3")" ;;
  trust:reset) echo "reset: bundles from sequence $4 are accepted; before, from 0" ;;
esac
`,
  systemctl: `for unit; do :; done
case $* in
  *ExecMainStatus*) cat /played/tick.code 2>/dev/null || echo 0 ;;
  *InvocationID*) echo 0123456789abcdef ;;
  *ActiveState*) if [ -e "/played/started.$unit" ]; then echo active; else echo inactive; fi ;;
  *ExecMainStartTimestamp*) date -r "/played/started.$unit" '+%F %T.%N %z' ;;
  *is-enabled*)
    [ -e "/played/enabled.$unit" ] || exit 1
    [ "$1" = --quiet ] || echo enabled
    ;;
  *is-active*) [ -e "/played/started.$unit" ] ;;
  *'disable --now'*) rm -f "/played/enabled.$unit" "/played/started.$unit" ;;
  *'enable --now'*) touch "/played/enabled.$unit" "/played/started.$unit" ;;
  *enable*) : >"/played/enabled.$unit" ;;
  *start*) : >"/played/started.$unit" ;;
esac
`,
  nft: '',
  journalctl: 'cat /played/tick.journal 2>/dev/null || echo "healthy; heartbeat reported"\n',
};

/** A tunneller that enrols what it is given. */
export const tunneller = stubProgram(
  `while [ "$1" != --identity ]; do shift; done\necho '{"ztAPI":"https://mesh.example"}' >"$2"\n`,
);
