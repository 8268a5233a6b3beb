import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { collectBytes } from '../../platform/collectBytes.ts';
import type { RegistryAccess } from '../../registry/repository.ts';
import { RegistryError } from '../../registry/registryError.ts';
import { contextOf } from '../config/connection.ts';
import { readDockerLogins } from '../input/dockerLogins.ts';
import { download, type Agents } from './gotClient.ts';

/** Access to image registries by the system's authorities and the logins of `docker login`. */
export function openRegistries(environment: NodeJS.ProcessEnv): RegistryAccess & { close: () => void } {
  const agents: Agents = {
    http: new HttpAgent({ keepAlive: true }),
    https: new HttpsAgent({ keepAlive: true, secureContext: contextOf(null), rejectUnauthorized: true }),
  };
  return {
    loginOf: readDockerLogins(environment),
    get: async (url, headers) => {
      let body: Buffer = Buffer.alloc(0);
      try {
        const answer = await download({ url, method: 'GET', headers, body: undefined, agents }, async (bytes) => {
          body = await collectBytes(bytes, limit);
        });
        return answer.status === 200 ? { ...answer, body } : answer;
      } catch (error) {
        // got's errors hold the login
        const { code = 'no answer' } = error as NodeJS.ErrnoException;
        throw new RegistryError(`${url.host} cannot be reached (${code})`);
      }
    },
    close: () => Object.values(agents).forEach((agent: HttpAgent) => agent.destroy()),
  };
}

/** A manifest is some kilobytes; registries take none of more than 4 MiB. */
const limit = { maxBytes: 4 * 2 ** 20, tooLarge: () => Object.assign(new Error('too large'), { code: 'TOO_LARGE' }) };
