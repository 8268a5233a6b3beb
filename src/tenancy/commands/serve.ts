import { createLog } from '../core/log.ts';
import { once } from 'node:events';
import { runHostProgram } from '../../core/accounts.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { parseListenAddress, publicHostOf } from '../config/loadSettings.ts';
import { httpLimits, type TlsIdentity } from '../http/httpServer.ts';
import { runBackground } from '../server/background.ts';
import { ownIdentity } from '../keys/ownAuthority.ts';
import { createSecretstoreApp } from '../secretstore/server.ts';
import { createApp, type RunningServer, startServer, tlsFilesSource, type TlsSource } from '../server/startServer.ts';
import { createTenancy, type Tenancy, type TenancyParts } from '../server/createTenancy.ts';
import { lockStore, openCurrentStore, presentStore, readKeyFile } from './storeAccess.ts';

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
