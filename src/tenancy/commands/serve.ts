import { createLog } from '../core/log.ts';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { runHostProgram } from '../../core/accounts.ts';
import { type Authorities, createTlsContext } from '../../core/certificateAuthorities.ts';
import { closeAgents, createAgents, createHttpAgent } from '../../core/connector.ts';
import { open as request } from '../../core/nodeClient.ts';
import { collectBytes } from '../../core/streams.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { parseListenAddress, publicHostOf } from '../config/loadSettings.ts';
import { httpLimits, type TlsIdentity } from '../http/httpServer.ts';
import { runBackground } from '../server/background.ts';
import { ownIdentity } from '../keys/ownAuthority.ts';
import { createSecretstoreApp } from '../secretstore/server.ts';
import { createApp, type RunningServer, startServer, tlsFilesSource, type TlsSource } from '../server/startServer.ts';
import { createTenancy, type Tenancy, type TenancyParts } from '../server/createTenancy.ts';
import { unitStateOf } from './setup.rules.ts';
import { CommandError, lockStore, openCurrentStore, type Output, presentStore, readKeyFile } from './storeAccess.ts';

/** Connections of the service that are not settings. */
interface ServeOptions {
  /** Stops the service: started requests are finished, new ones are rejected. */
  signal: AbortSignal;
  /** Receives the lines of the log. */
  write: (line: string) => void;
}

/** `deployd-tenancy serve`: accepts connections and does the background work until the signal, then exits with 0. */
export async function serve(settings: TenancySettings, options: ServeOptions): Promise<number> {
  presentStore(settings);
  const keyFile = readKeyFile(settings.key_file);
  const release = lockStore(settings);
  try {
    await using store = await openCurrentStore(settings);
    const log = createLog(settings.log.level, options.write);
    const tenancy = await createTenancy(settings, { store, keyFile, log });
    try {
      await serveUntil(options.signal, tenancy);
    } finally {
      await tenancy.close();
    }
  } finally {
    release();
  }
  return 0;
}

async function serveUntil(signal: AbortSignal, tenancy: Tenancy): Promise<void> {
  const { parts } = tenancy;
  const { log, settings, version } = parts;
  const servers = await startServers(tenancy);
  const background = new AbortController();
  const work = runBackground(parts, background.signal);
  try {
    await tellReady();
    log('info', 'serving', { listen: settings.listen, version });
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    log('info', 'stopping');
    background.abort();
    await Promise.all([...servers.map((server) => server.stop()), work]);
  }
}

/** Starts the service, and the embedded secretstore before it if it is configured. */
async function startServers({ parts, embedded }: Tenancy): Promise<RunningServer[]> {
  const { settings, log } = parts;
  const source = tlsSourceOf(parts);
  const start = (address: string, create: (tls: TlsIdentity | null) => ReturnType<typeof createApp>) =>
    startServer(create, { ...parseListenAddress(address), tls: source, log });
  const limits = httpLimits;
  const { listen, secretstore, max_requests: maxRequests } = settings;
  const createStore = (tls: TlsIdentity | null, deps: NonNullable<typeof embedded>) =>
    createSecretstoreApp({ deps, tls, limits, maxRequests, log });
  const store =
    embedded !== null && secretstore.listen !== null
      ? [await start(secretstore.listen, (tls) => createStore(tls, embedded))]
      : [];
  try {
    return [...store, await start(listen, (tls) => createApp({ parts, tls, limits }))];
  } catch (error) {
    for (const server of store) await server.stop();
    throw error;
  }
}

/** Milliseconds between two looks at the certificate in the store. */
const STORED_EVERY_MS = 60_000;

function tlsSourceOf({ settings, store, sealer, clock }: TenancyParts): TlsSource | null {
  const { certificate_file: certificate, key_file: key, own_authority: isOwn } = settings.tls;
  if (certificate !== null && key !== null) return tlsFilesSource({ certificate, key });
  if (!isOwn) return null;
  const host = publicHostOf(settings);
  return { read: () => ownIdentity({ store, sealer, host, now: clock() }), everyMs: STORED_EVERY_MS };
}

/**
 * Notifies systemd that the service accepts connections, if systemd started it and waits for that (`Type=notify`).
 * Throws if the notification fails, because systemd would assume that the service never starts.
 */
export async function tellReady({ NOTIFY_SOCKET }: NodeJS.ProcessEnv = process.env): Promise<void> {
  if (NOTIFY_SOCKET === undefined) return;
  const { rc } = await runHostProgram(['systemd-notify', '--ready'], { NOTIFY_SOCKET });
  if (rc !== 0) throw new Error(`cannot notify systemd that the service runs: systemd-notify --ready: exit ${rc}`);
}

/** Milliseconds for the service to start; it migrates nothing then. */
export const START_MS = 60_000;
/** Milliseconds between two looks at a service that starts. */
export const POLL_MS = 250;

/** Starts the unit of the package and enables it. Throws a CommandError with the end of its log if it does not start. */
export async function startUnit(out: Output): Promise<void> {
  const unit = 'deployd-tenancy.service';
  const systemctl = async (...args: string[]) => runHostProgram(['systemctl', ...args]);
  const isActive = async () => (await systemctl('is-active', '--quiet', unit)).rc === 0;
  const isKept = (await isActive()) && (await systemctl('is-enabled', '--quiet', unit)).rc === 0;
  if (isKept) {
    out.log(`kept: ${unit} runs, and starts with the machine`);
    return;
  }
  await systemctl('reset-failed', unit);
  // A unit that waits for its next try would let a start wait too.
  for (const args of [
    ['enable', unit],
    ['restart', '--no-block', unit],
  ] as const) {
    const { rc } = await systemctl(...args);
    if (rc !== 0) throw new CommandError(`systemctl ${args.join(' ')} failed (exit ${rc}): systemctl status ${unit}`);
  }
  const end = Date.now() + START_MS;
  for (;;) {
    const { stdout } = await systemctl('show', '--property=ActiveState,SubState,NRestarts,Job', unit);
    const state = unitStateOf(stdout);
    if (state === 'active') break;
    if (state === 'failed' || Date.now() > end) {
      const { stdout: lines } = await runHostProgram(['journalctl', '--unit', unit, '--lines=5', '--output=cat']);
      throw new CommandError(`${unit} does not start; the end of its log:\n${lines.trimEnd()}`);
    }
    await setTimeout(POLL_MS);
  }
  out.log(`started: ${unit}, also when the machine starts`);
}

/** Why `/readyz` of this machine does not answer that the service is ready; null if it does. */
export async function readinessFault(settings: TenancySettings, trusted: string | null): Promise<string | null> {
  const { host, port } = parseListenAddress(settings.listen);
  const local = host === '::' || host === '0.0.0.0' ? '127.0.0.1' : host;
  const connection = { connectTimeoutMs: 5000, keepAlive: false, address: { host: local, port } };
  // The certificate that the service has itself is the only one that may answer.
  const context =
    trusted === null ? null : createTlsContext([trusted] as string[] as Authorities, { allowPartialTrustChain: true });
  const agents =
    context === null ? { http: createHttpAgent(connection), https: null } : createAgents({ context }, connection);
  try {
    const url = new URL('/readyz', context === null ? `http://${settings.listen}` : settings.public_url);
    const signal = AbortSignal.timeout(10_000);
    const { status, body } = await request({ url, method: 'GET', headers: {}, agents, signal });
    if (status === 200) return null;
    const text = (await collectBytes(body, { maxBytes: 4096, tooLarge: () => new Error('too large') })).toString();
    return `/readyz answers ${status} ${text}`;
  } catch (error) {
    return `${settings.listen} does not answer (${(error as NodeJS.ErrnoException).code ?? (error as Error).message})`;
  } finally {
    if (agents.https === null) agents.http.destroy();
    else closeAgents(agents);
  }
}
