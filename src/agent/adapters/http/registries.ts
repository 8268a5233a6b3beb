import { join } from 'node:path';
import { stoppedFault } from '../../../../machines/fault.ts';
import { collectBytes } from '../../../core/streams.ts';
import { describeErrorCode } from '../../../core/errors.rules.ts';
import { type Agents, closeAgents, open } from '../../../core/nodeClient.ts';
import { loginFor } from '../../../registry/imageReference.rules.ts';
import { type RegistryAccess, type RegistryAnswer, RegistryError } from '../../../registry/repository.ts';
import type { Settings } from '../../config/settings.ts';
import type { RegistryLogin } from '../compose/registryLogins.ts';
import { boundedAgents } from '../transport/agents.ts';
import type { SystemRoots } from '../transport/systemRoots.ts';
import { errorCodeOf } from './httpRequest.ts';
import { registryContext } from './registryCertificates.ts';

/** Image registries, by ordinary networking whatever the transport: as the engine reaches them. */
export interface Registries {
  /**
   * Access with these logins alone, until `close` and for no longer than a pull may last. A call throws `RegistryError`, or the fault
   * `stopped`.
   */
  open: (logins: readonly RegistryLogin[], signal: AbortSignal) => RegistryAccess & { close: () => void };
}

interface RegistriesOptions {
  settings: Settings;
  roots: Pick<SystemRoots, 'all'>;
  version: string;
  /** Where engines find the certificates of registries, each in a directory of its host and port. */
  certificateDirs?: readonly string[];
}

const engineDirs = ['/etc/docker/certs.d', '/etc/containers/certs.d'];

/** Registries take no manifest of more. */
const maxAnswerBytes = 4 * 2 ** 20;

/** Creates the access to registries; nothing is read or asked before it is used. */
export function createRegistries(options: RegistriesOptions): Registries {
  return {
    open: (logins, signal) => {
      const agents = createHostAgents(options);
      const deadline = AbortSignal.timeout(options.settings.pull_timeout_s * 1000);
      return {
        loginOf: (registry, repository) => {
          const login = loginFor(logins, { registry, repository });
          return login === null ? null : { user: login.username, password: login.password };
        },
        get: (url, headers) => get({ url, headers, agents: agents.of(url.host), deadline }, options, signal),
        close: agents.close,
      };
    },
  };
}

/** One pair of agents for each host, with its own certificates. */
function createHostAgents({ settings, roots, certificateDirs = engineDirs }: RegistriesOptions) {
  const byHost = new Map<string, Agents>();
  const connection = { address: null, connectTimeoutMs: settings.connect_timeout_s * 1000 };
  const create = (host: string): Agents => {
    const dirs = certificateDirs.map((dir) => join(dir, host));
    const agents = boundedAgents(connection, { context: registryContext(roots.all().pem, dirs) });
    byHost.set(host, agents);
    return agents;
  };
  return {
    of: (host: string) => byHost.get(host) ?? create(host),
    close: () => byHost.forEach(closeAgents),
  };
}

interface RegistryCall {
  url: URL;
  headers: Record<string, string>;
  agents: Agents;
  /** Bounds all calls together. */
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
    throw new RegistryError(`registry ${url.host}: ${describeErrorCode(code)}`);
  }
}

function tooLarge(): Error {
  return Object.assign(new Error('too large'), { code: 'TOO_LARGE' });
}
