import { textIfThere } from '../../adapters/files/ifThere.ts';
import { randomUUID } from 'node:crypto';
import { Fault } from '../../../../machines/fault.ts';
import { lookAt } from '../../adapters/host/accounts.ts';
import { openCredentials } from '../../adapters/files/credentials.ts';
import { createHttp, type Http } from '../../adapters/http/http.ts';
import { createSecretstore } from '../../adapters/http/secretstore.ts';
import { createTransport } from '../../adapters/transport/transport.ts';
import type { Settings } from '../../config/settings.ts';
import type { Check } from '../../rules/doctor/doctor.ts';
import { judgePorts, listeningPorts, otherTransport } from '../../rules/doctor/mesh.ts';
import { judgeClock, judgePeer, type PeerFacts } from '../../rules/doctor/network.ts';
import { expiryOf, judgeToken, type TokenFacts } from '../../rules/doctor/token.ts';
import type { Known } from '../../rules/plan/plan.ts';
import type { Lookup } from '../../rules/errors/secretstoreErrors.ts';
import type { Peer } from '../../rules/errors/classifyError.ts';
import type { Site } from './site.ts';

/** Both services, the clock, the proxy that may lie between, and the token as the secretstore sees it. */
export async function examineNetwork(site: Site): Promise<Check[]> {
  const { transport: name = 'unknown', ...known } = site.settings;
  const { tenancy_url = '', tenancy_ca, secretstore_url = '', secretstore_ca, laptop_mode: laptop } = known;
  const line = openLine(site);
  try {
    const [tenancy, secretstore] = await Promise.all([ping(line, 'tenancy', site), ping(line, 'secretstore', site)]);
    return [
      judgePeer(tenancy, { peer: 'tenancy', url: tenancy_url, ca: tenancy_ca, laptop }),
      judgePeer(secretstore, { peer: 'secretstore', url: secretstore_url, ca: secretstore_ca, laptop }),
      judgeClock([tenancy, secretstore]),
      await examineProxy(name),
      judgeToken(await tokenFacts(line, site), site.host),
    ];
  } finally {
    line?.close();
  }
}

/** The way to the services; a call to one whose address is not known must not be made. */
interface Line {
  http: Http;
  settings: Settings;
  close: () => void;
}

/** Null where the configuration does not say which way. */
function openLine({ settings: found, version }: Site): Line | null {
  if (found.transport === undefined) return null;
  const settings = found as Settings;
  const transport = createTransport(settings);
  return { http: createHttp({ settings, transport, version }), settings, close: () => transport.close() };
}

/** Asks for nothing, without a credential: that there is an answer is enough. */
async function ping(line: Line | null, peer: Peer, { settings, signal }: Site): Promise<PeerFacts> {
  if (line === null || settings[`${peer}_url`] === undefined) return untold;
  const path = peer === 'tenancy' ? '/' : '/v1/sys/health';
  try {
    const { status, headers } = await line.http.call({
      ...{ peer, what: 'a plain request', method: 'GET', path, signal },
      requestId: randomUUID(),
      accepts: anyStatus,
      ignoresBody: true,
    });
    const skewS = Math.round((Date.now() - Date.parse(headers.date ?? '')) / 1000);
    return { status, skewS: Number.isFinite(skewS) ? skewS : null };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { code: error.code, line: error.message };
  }
}

const untold = { unknown: 'the configuration does not say how it is reached' };
const anyStatus = Array.from({ length: 300 }, (_, index) => 300 + index);

async function examineProxy(transport: Settings['transport'] | 'unknown'): Promise<Check> {
  if (transport !== 'proxy') return otherTransport('mesh proxy', transport);
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => textIfThere(`/proc/net/${name}`).catch(() => null)));
  return judgePorts({ is: listeningPorts(tables.join('\n')) }, [18443, 18200]);
}

async function tokenFacts(line: Line | null, site: Site): Promise<TokenFacts> {
  const { hidden, host, settings } = site;
  const credentials = openCredentials(settings);
  const grantText = await credentials.readGrant().catch(() => null);
  const facts = {
    grant: await lookAt(settings.bootstrap_file, host.agent),
    grantExpires: grantText === null ? null : expiryOf(grantText),
    env: settings.env ?? null,
    intervalS: settings.interval_s,
  };
  if (hidden !== null) return { ...facts, token: { unknown: hidden } };
  try {
    const token = await credentials.readToken();
    return {
      ...facts,
      token: { is: { present: token !== null, seen: token === null ? absent : await lookUp(line, site, token) } },
    };
  } catch (error) {
    return { ...facts, token: { unknown: error instanceof Fault ? error.message : 'cannot be read' } };
  }
}

const absent = { unknown: 'there is no token' };

/** Of the secretstore: whether the token lives, and how long. */
async function lookUp(line: Line | null, { settings, signal, vault }: Site, token: string): Promise<Known<Lookup>> {
  if (line === null || settings.secretstore_url === undefined) return untold;
  vault.holdToken(token);
  try {
    const secretstore = createSecretstore({ ...line, vault, requestId: () => randomUUID() });
    return { is: await secretstore.lookupSelf(token, signal) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { unknown: error.message };
  }
}
