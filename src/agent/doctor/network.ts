import { randomUUID } from 'node:crypto';
import { Fault } from '../../../machines/fault.ts';
import { fileFactsOf } from '../../core/accounts.ts';
import { type Check, checkClock, type Fact } from '../../core/doctor.rules.ts';
import { pastTimes } from '../../core/certificateAuthorities.ts';
import type { Settings } from '../config/configKeys.ts';
import { runHostProgram } from '../../core/accounts.ts';
import { readTextIfExists } from '../state/fileSystem.ts';
import { openCredentials } from '../token/credentials.ts';
import { createSecretstore } from '../token/secretstore.ts';
import type { TokenLookup } from '../token/token.rules.ts';
import { type Peer, proxyPorts } from '../transport/classifyError.rules.ts';
import { clockFilesOf, createHttpClient, type HttpClient } from '../transport/httpClient.ts';
import { answersThroughProxy, createTransport, openMeshStore } from '../transport/transport.ts';
import type { DoctorContext } from './host.ts';
import {
  checkPeer,
  checkProxyPorts,
  proxyUnit,
  type ProxyPort,
  checkToken,
  inapplicableForTransport,
  jwtExpiryOf,
  parseListeningPorts,
  type PeerFacts,
  skewsOf,
  type TokenFacts,
} from './network.rules.ts';

/** Checks both services, the clock, the mesh proxy and the token. */
export async function checkNetwork(context: DoctorContext): Promise<Check[]> {
  const { transport: name = 'unknown', ...known } = context.settings;
  const { tenancy_url = '', tenancy_ca, secretstore_url = '', secretstore_ca, laptop_mode: laptop } = known;
  const connection = openConnection(context);
  try {
    const [tenancy, secretstore] = await Promise.all([
      ping(connection, 'tenancy', context),
      ping(connection, 'secretstore', context),
    ]);
    return [
      checkPeer(tenancy, { peer: 'tenancy', url: tenancy_url, ca: tenancy_ca, laptop, transport: name }),
      checkPeer(secretstore, {
        peer: 'secretstore',
        url: secretstore_url,
        ca: secretstore_ca,
        laptop,
        transport: name,
      }),
      checkClock(skewsOf([tenancy, secretstore]), {
        now: new Date(),
        pastTimes: pastTimes(clockFilesOf(context.settings)),
      }),
      await checkProxy(name),
      checkToken(await tokenFacts(connection, context), context.host),
    ];
  } finally {
    connection?.close();
  }
}

/** Connection to the services; a service without a configured URL must not be called. */
interface Connection {
  http: HttpClient;
  settings: Settings;
  close: () => void;
}

/** Null without a configured transport. */
function openConnection({ settings: found, version }: DoctorContext): Connection | null {
  if (found.transport === undefined) return null;
  const settings = found as Settings;
  const store = { ...openMeshStore(settings.state_dir), save: async () => undefined };
  const transport = createTransport(settings, undefined, { store });
  return { http: createHttpClient({ settings, transport, version }), settings, close: () => transport.close() };
}

/** Sends a request without credentials; any response proves that the service is reachable. */
async function ping(
  connection: Connection | null,
  peer: Peer,
  { settings, signal }: DoctorContext,
): Promise<PeerFacts> {
  if (connection === null || settings[`${peer}_url`] === undefined) return notConfigured;
  const path = peer === 'tenancy' ? '/' : '/v1/sys/health';
  try {
    const { status, headers } = await connection.http.call({
      ...{ peer, operation: 'a plain request', method: 'GET', path, signal },
      requestId: randomUUID(),
      accepts: anyStatus,
      ignoresBody: true,
    });
    const skewS = Math.round((Date.now() - Date.parse(headers.date ?? '')) / 1000);
    return { status, skewS: Number.isFinite(skewS) ? skewS : null };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { code: error.code, line: error.message, certificate: error.certificate };
  }
}

const notConfigured = { unknown: 'the configuration does not say how it is reached' };
const anyStatus = Array.from({ length: 300 }, (_, index) => 300 + index);

async function checkProxy(transport: Settings['transport'] | 'unknown'): Promise<Check> {
  if (transport !== 'proxy') return inapplicableForTransport('mesh proxy', transport);
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readTextIfExists(`/proc/net/${name}`).catch(() => null)),
  );
  const listening = parseListeningPorts(tables.join('\n'));
  const ports = Object.values(proxyPorts).map(async (port): Promise<ProxyPort> => {
    if (!listening.includes(port)) return { port, state: 'closed' };
    return { port, state: (await answersThroughProxy(port)) ? 'answers' : 'silent' };
  });
  const { stdout } = await runHostProgram(['systemctl', 'show', '--property=LoadState,UnitFileState', proxyUnit]);
  const isEnabled = /LoadState=(?!loaded)|UnitFileState=enabled/.test(stdout);
  return checkProxyPorts(await Promise.all(ports), { isEnabled });
}

async function tokenFacts(connection: Connection | null, context: DoctorContext): Promise<TokenFacts> {
  const { inaccessible, host, settings } = context;
  const credentials = openCredentials(settings);
  const grantText = await credentials.readGrant().catch(() => null);
  const facts = {
    grant: await fileFactsOf(settings.bootstrap_file, host.agent),
    grantExpiry: grantText === null ? null : jwtExpiryOf(grantText),
    env: settings.env ?? null,
    intervalS: settings.interval_s,
    laptop: settings.laptop_mode,
  };
  if (inaccessible !== null) return { ...facts, token: { unknown: inaccessible } };
  try {
    const token = await credentials.readToken();
    return {
      ...facts,
      token: {
        known: { present: token !== null, lookup: token === null ? noToken : await lookUp(connection, context, token) },
      },
    };
  } catch (error) {
    return { ...facts, token: { unknown: error instanceof Fault ? error.message : 'cannot be read' } };
  }
}

const noToken = { unknown: 'there is no token' };

/** Looks up the token in the secretstore. */
async function lookUp(
  connection: Connection | null,
  { settings, signal, vault }: DoctorContext,
  token: string,
): Promise<Fact<TokenLookup>> {
  if (connection === null || settings.secretstore_url === undefined) return notConfigured;
  vault.setToken(token);
  try {
    const secretstore = createSecretstore({ ...connection, vault, requestId: () => randomUUID() });
    return { known: await secretstore.lookupSelf(token, signal) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { unknown: error.message };
  }
}
