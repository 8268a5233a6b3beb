import type { TenancySettings } from '../config/configKeys.ts';

/** The request of the operator; null where the default or the existing configuration decides. */
export interface SetupRequest {
  readonly url: string;
  readonly secretstorePort: number | null;
  readonly stateDir: string | null;
}

/** Port of the embedded secretstore. */
export const defaultSecretstorePort = 8200;

/** The environment that is created. */
export const firstEnv = 'main';

/** The address of the service with the problem of the text; the problem is null if the address can be used. */
export function readSetupUrl(text: string): { url: URL; problem: null } | { url: null; problem: string } {
  const problem = (message: string) => ({ url: null, problem: `${JSON.stringify(text)}: ${message}` });
  if (/^http:/i.test(text))
    return problem('tokens and secrets must not travel unencrypted: begin with https://, setup makes the certificate');
  if (!/^https:\/\//i.test(text)) return problem('is not an address such as https://tenancy.example');
  if (!URL.canParse(text)) return problem('has no valid host name or port');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    return { url: null, problem: `leave out the user and the password before ${url.host}` };
  if (url.pathname !== '/' || /[?#]/.test(text))
    return problem(`leave out what follows the host: the service needs the whole address ${url.origin}`);
  if (url.hostname.endsWith('.')) return problem('leave out the dot at the end of the host name');
  if (url.port === '0') return problem('has no port that can be called');
  return { url, problem: null };
}

/** True for an address that only this machine can call. */
export function isOfThisMachine(url: URL): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
}

/** The addresses to listen on: only on loopback for an address of this machine, otherwise all, of IPv4 if `hasIpv6` is false. */
export function listenAddresses(url: URL, secretstorePort: number, hasIpv6: boolean): [service: string, store: string] {
  const host = isOfThisMachine(url) ? url.hostname : hasIpv6 ? '[::]' : '0.0.0.0';
  return [`${host}:${url.port || '443'}`, `${host}:${secretstorePort}`];
}

/** The text of config.yaml. */
export function configText(request: Omit<SetupRequest, 'url'>, url: URL, hasIpv6: boolean): string {
  const port = request.secretstorePort ?? defaultSecretstorePort;
  const [listen, storeListen] = listenAddresses(url, port, hasIpv6);
  return [
    '# Written by `deployd-tenancy setup`. Every key: deployd-tenancy.yaml(5).',
    `public_url: ${url.origin}`,
    `listen: '${listen}'`,
    'tls:',
    '  own_authority: true',
    ...(request.stateDir === null ? [] : [`state_dir: ${JSON.stringify(request.stateDir)}`]),
    `secretstore_url: https://${url.hostname}:${port}`,
    'secretstore:',
    `  listen: '${storeListen}'`,
    '',
  ].join('\n');
}

/** Reasons why two ports, or a port and the store, cannot be as the operator has asked for. */
export function requestProblems({ secretstorePort }: SetupRequest, url: URL): string[] {
  const port = secretstorePort ?? defaultSecretstorePort;
  if (String(port) !== (url.port || '443')) return [];
  return [`port ${port} is the port of the service already: choose another one with --secretstore-port`];
}

/** Differences between the request and an existing configuration, which setup does not change. */
export function contradictions(request: SetupRequest, url: URL, settings: TenancySettings): string[] {
  const { public_url, state_dir, secretstore } = settings;
  const port = secretstore.listen?.slice(secretstore.listen.lastIndexOf(':') + 1) ?? null;
  const asked: [key: string, asked: string | null, is: string | null][] = [
    ['public_url', url.href, new URL(public_url).href],
    ['state_dir', request.stateDir, state_dir],
    ['the port of secretstore.listen', request.secretstorePort === null ? null : String(request.secretstorePort), port],
  ];
  return asked.flatMap(([key, wanted, is]) =>
    wanted === null || wanted === is ? [] : [`${key} is ${is ?? 'not set'} there, not ${wanted}`],
  );
}

/** Names for the operator of a user: the first one that is free is taken. Names of operators are printable ASCII. */
export function operatorNames(user: string): string[] {
  const name = /^[!-~]{1,64}$/.test(user) && user !== 'deployd-tenancy' && !user.startsWith('oidc:') ? user : 'admin';
  return [name, ...Array.from({ length: 98 }, (_, index) => `${name}-${index + 2}`)];
}

/** The address of the service in a configuration of `deployctl`, which `login` has written; null without one. */
export function urlOfCtlConfig(text: string): string | null {
  return ctlValue(text, 'url');
}

/** The file of the token in it; null without one. */
export function tokenFileOfCtlConfig(text: string): string | null {
  return ctlValue(text, 'token_file');
}

function ctlValue(text: string, key: string): string | null {
  const [, value] = RegExp(`^${key}:[ \\t]*["']?([^"'\\s#]+)["']?[ \\t]*(?:#.*)?$`, 'm').exec(text) ?? [];
  return value ?? null;
}

/** The configuration of `deployctl`, as its `login` writes it. */
export function ctlConfigText(url: URL, tokenFile: string, authorityFile: string | null): string {
  const values = { url: url.href, token_file: tokenFile, ...(authorityFile !== null && { ca_file: authorityFile }) };
  return Object.entries(values)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('');
}

/** The state of the unit, from `systemctl show`. A queued start has a job; a unit that was restarted keeps failing. */
export function unitStateOf(properties: string): 'active' | 'starting' | 'failed' {
  const values = new Map(properties.split('\n').map((line) => line.split('=', 2) as [name: string, value: string]));
  if (values.get('ActiveState') === 'active') return 'active';
  if (Number(values.get('Job') ?? 0) > 0) return 'starting';
  const isRestarted = values.get('SubState') === 'auto-restart' || Number(values.get('NRestarts') ?? 0) > 0;
  return values.get('ActiveState') === 'activating' && !isRestarted ? 'starting' : 'failed';
}
