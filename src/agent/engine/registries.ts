import type { Manifest } from '../../../machines/types.ts';
import type { Vault } from '../secrets/vault.ts';
import { lstatSync, readdirSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { SecureContext } from 'node:tls';
import { stoppedFault } from '../../../machines/fault.ts';
import { createTlsContext, parseAuthorities, untrustedOf } from '../../core/certificateAuthorities.ts';
import { describeErrorCode, diskFault } from '../../core/errors.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import { parseRetryAfter } from '../../core/http.rules.ts';
import { type Agents, closeAgents, createAgents } from '../../core/connector.ts';
import { open } from '../../core/nodeClient.ts';
import { collectBytes } from '../../core/streams.ts';
import { certificateCure, systemAuthorities } from '../../core/untrusted.rules.ts';
import { loginFor, type LoginScope, scopeOf } from '../../registry/imageReference.rules.ts';
import { type RegistryAccess, type RegistryAnswer, RegistryError } from '../../registry/repository.ts';
import type { Settings } from '../config/configKeys.ts';
import { writeWithoutSync } from '../state/durableFiles.ts';
import type { State } from '../state/state.rules.ts';
import { errorCodeOf } from '../transport/httpRequest.ts';
import type { SystemRoots } from '../transport/trustStore.ts';

/** Image registries, by ordinary networking whatever the transport, just as the engine reaches them. */
export interface Registries {
  /**
   * Access with only these logins, until `close` and at most for the duration of a pull, or for `limitS` seconds. A call
   * throws `RegistryError`, or the fault `stopped`. A host that asks for a pause (`Retry-After`) gets it: calls wait for
   * a short one, and are not sent during a long one.
   */
  open: (logins: readonly RegistryLogin[], signal: AbortSignal, bounds?: RegistryBounds) => OpenRegistries;
}

type OpenRegistries = RegistryAccess & { close: () => void };

/** Limits of the calls to registries. */
interface RegistryBounds {
  /** Seconds for all calls together. */
  limitS?: number;
  /** The ends of the pauses that hosts asked for, in milliseconds since 1970; calls add to it. */
  pauses?: Map<string, number>;
}

/** The registry logins of a bundle, with the values of its secrets; their encoded forms are redacted too. */
export function registryLoginsOf(
  { vault }: { vault: Vault },
  { manifest }: { manifest: Pick<Manifest, 'registries'> },
): RegistryLogin[] {
  return manifest.registries.map(({ host, username_var, password_var }) => {
    const login = { host, username: vault.value(username_var) ?? '', password: vault.value(password_var) ?? '' };
    vault.registerForRedaction(Buffer.from(`${login.username}:${login.password}`).toString('base64'));
    return login;
  });
}

interface RegistriesOptions {
  settings: Settings;
  roots: Pick<SystemRoots, 'all'>;
  version: string;
  /** Where engines find the certificates of registries, each in a directory of its host and port. */
  certificateDirs?: readonly string[];
}

const engineDirs = ['/etc/docker/certs.d', '/etc/containers/certs.d'];

/** Registries accept no larger manifest. */
const maxAnswerBytes = 4 * 2 ** 20;

/** Creates the access to registries; it reads and connects only on first use. */
export function createRegistries(options: RegistriesOptions): Registries {
  return {
    open: (logins, signal, { limitS = options.settings.pull_timeout_s, pauses = new Map<string, number>() } = {}) => {
      const agents = createHostAgents(options);
      const closed = new AbortController();
      const deadline = AbortSignal.any([AbortSignal.timeout(limitS * 1000), closed.signal]);
      return {
        loginOf: (registry, repository) => {
          const login = loginFor(logins, { registry, repository });
          return login === null ? null : { user: login.username, password: login.password };
        },
        get: (url, headers) =>
          getWithPauses(() => get({ url, headers, agents: agents.of(url.host), deadline }, options, signal), {
            ...{ host: url.host, pauses, deadline, signal },
          }),
        close: () => {
          closed.abort();
          agents.close();
        },
      };
    },
  };
}

/** One pair of agents for each host, with its own certificates. */
function createHostAgents({ settings, roots, certificateDirs = engineDirs }: RegistriesOptions) {
  const byHost = new Map<string, Agents>();
  const connection = { connectTimeoutMs: settings.connect_timeout_s * 1000, maxSockets };
  const create = (host: string): Agents => {
    const dirs = certificateDirs.map((dir) => join(dir, host));
    const agents = createAgents({ context: registryContext(roots.all().pem, dirs) }, connection);
    byHost.set(host, agents);
    return agents;
  };
  return {
    of: (host: string) => byHost.get(host) ?? create(host),
    close: () => byHost.forEach(closeAgents),
  };
}

/** Connections to one host. */
const maxSockets = 16;

/** Seconds; a longer pause is left to a later tick. */
const maxWaitS = 10;

/** Limits the effect of a wrong header, in seconds. */
const maxPauseS = 3600;

/** Calls of one request that a host answers with a short pause. */
const maxTries = 3;

interface Pauses {
  host: string;
  pauses: Map<string, number>;
  deadline: AbortSignal;
  signal: AbortSignal;
}

/** Calls a host when its pause is over. Throws `RegistryError` during a long pause. */
async function getWithPauses(call: () => Promise<RegistryAnswer>, { host, pauses, deadline, signal }: Pauses) {
  for (let tries = 1; ; tries++) {
    const leftMs = (pauses.get(host) ?? 0) - Date.now();
    if (leftMs > maxWaitS * 1000) throw new RegistryError(`${host} asked for no calls until ${pauseEnd(host, pauses)}`);
    if (leftMs > 0) await pause(leftMs, { host, deadline, signal });
    const answer = await call();
    const pauseS = answer.status === 429 || answer.status === 503 ? parseRetryAfter(answer.headers, Date.now()) : null;
    if (pauseS === null) return answer;
    pauses.set(host, Math.max(pauses.get(host) ?? 0, Date.now() + Math.min(pauseS, maxPauseS) * 1000));
    if (pauseS > maxWaitS)
      throw new RegistryError(
        `${host} answers ${answer.status}, and asks for no calls until ${pauseEnd(host, pauses)}`,
      );
    if (tries === maxTries) return answer;
  }
}

/** The pauses in state.json; one that ends later than any that is kept means that the clock was set back. */
export function pausesIn({ registry_pauses: kept = [] }: Readonly<State>): Map<string, number> {
  const ends = kept.map(({ host, until }) => [host, Date.parse(until)] as const);
  return new Map(ends.filter(([, until]) => until <= Date.now() + maxPauseS * 1000));
}

/** The pauses that last, for state.json; names of hosts that contain a secret are left out. */
export function lastingPauses(
  pauses: ReadonlyMap<string, number>,
  vault: Vault,
): NonNullable<State['registry_pauses']> {
  const lasting = [...pauses].filter(([host, until]) => until > Date.now() && vault.isSecretFree(host));
  return lasting.map(([host, until]) => ({ host, until: new Date(until).toISOString() }));
}

function pauseEnd(host: string, pauses: Pauses['pauses']): string {
  return new Date(pauses.get(host) ?? 0).toISOString();
}

async function pause(ms: number, { host, deadline, signal }: Omit<Pauses, 'pauses'>): Promise<void> {
  try {
    await setTimeout(ms, null, { signal: AbortSignal.any([signal, deadline]) });
  } catch {
    throw signal.aborted ? stoppedFault() : new RegistryError(`registry ${host}: no complete answer in time`);
  }
}

interface RegistryCall {
  url: URL;
  headers: Record<string, string>;
  agents: Agents;
  /** Limits all calls together. */
  deadline: AbortSignal;
}

async function get(
  { url, headers, agents, deadline }: RegistryCall,
  { settings, version }: RegistriesOptions,
  signal: AbortSignal,
): Promise<RegistryAnswer> {
  const limit = AbortSignal.any([deadline, AbortSignal.timeout(settings.http_timeout_s * 1000)]);
  try {
    const { body, ...head } = await open({
      ...{ url, method: 'GET', body: undefined, agents },
      headers: { 'user-agent': `deployd/${version}`, 'accept-encoding': 'identity', ...headers },
      signal: AbortSignal.any([signal, limit]),
    });
    return { ...head, body: await collectBytes(body, { maxBytes: maxAnswerBytes, tooLarge }) };
  } catch (error) {
    if (signal.aborted) throw stoppedFault();
    const code = limit.aborted ? 'TIMEOUT' : (errorCodeOf(error) ?? 'UNKNOWN');
    const untrusted = untrustedOf(error);
    const reason =
      untrusted === null
        ? describeErrorCode(code)
        : `${untrusted.problem}: ${certificateCure(untrusted, systemAuthorities)}`;
    throw new RegistryError(`registry ${url.host}: ${reason}`);
  }
}

function tooLarge(): Error {
  return Object.assign(new Error('too large'), { code: 'TOO_LARGE' });
}

/**
 * A TLS context by these roots (PEM), the authorities (`*.crt`) in these directories, and the first client certificate there
 * (`*.cert`, with its `*.key`), as engines keep them for a registry. Throws `RegistryError`.
 */
function registryContext(roots: string, dirs: readonly string[]): SecureContext {
  const files = dirs.flatMap((dir) => namesIn(dir).map((name) => join(dir, name)));
  const authorities = parseAuthorities(
    [roots, ...files.filter((path) => path.endsWith('.crt')).map(readText)].join('\n'),
  );
  if (authorities === null) throw new RegistryError('no certificate authority is configured to verify registries');
  const certificate = files.find((path) => path.endsWith('.cert'));
  if (certificate === undefined) return createTlsContext(authorities);
  const key = readText(certificate.replace(/cert$/, 'key'));
  try {
    return createTlsContext(authorities, { cert: readText(certificate), key });
  } catch {
    throw new RegistryError(`${certificate} and its key cannot be used`);
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir).sort();
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw unreadable(dir, error);
  }
}

function readText(path: string): string {
  try {
    return readRegularFile(path).toString('latin1');
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): RegistryError {
  return new RegistryError(`${path} cannot be read (${errorCodeOf(error) ?? 'unknown'})`);
}

/** A registry login, used for one compose call. */
export interface RegistryLogin extends LoginScope {
  username: string;
  password: string;
}

/**
 * Runs `work` while these logins, one for each registry, are in `dir`, compose's docker configuration, which is removed
 * afterwards. Nothing is synced, because the logins are worthless after a crash. Throws `DISK_WRITE_FAILED`.
 */
export async function withLogins<T>(dir: string, logins: RegistryLogin[], work: () => Promise<T>): Promise<T> {
  const auths = Object.fromEntries(
    logins.map((login) => [
      configKeyOf(login),
      { auth: Buffer.from(`${login.username}:${login.password}`).toString('base64') },
    ]),
  );
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw diskFault('write', dir, error);
  });
  try {
    await writeWithoutSync(join(dir, 'config.json'), JSON.stringify({ auths }), 0o600);
    return await work();
  } finally {
    await removeLogins(dir);
  }
}

/** Docker's configuration cannot contain repository paths. */
function configKeyOf(login: LoginScope): string {
  const { registry } = scopeOf(login);
  return registry === 'docker.io' ? 'https://index.docker.io/v1/' : (login.host.split('/')[0] ?? registry);
}

/**
 * Removes what `withLogins` may have left. Not by `rmSync`, whose errors often lack a code. Throws `DISK_WRITE_FAILED`.
 */
export async function removeLogins(dir: string): Promise<void> {
  try {
    if (lstatSync(dir, { throwIfNoEntry: false })) await rm(dir, { recursive: true, force: true });
  } catch (error) {
    throw diskFault('remove', dir, error);
  }
}
