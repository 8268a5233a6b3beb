import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Login } from '../../registry/repository.ts';
import { readRegularFile } from '../../platform/regularFile.ts';

const maxBytes = 1_048_576;

/** The logins that `docker login` wrote into its own file, by the registry; those that a credential helper keeps are not found. */
export function readDockerLogins(environment: NodeJS.ProcessEnv): (registry: string) => Login | null {
  const auths = readAuths(join(environment['DOCKER_CONFIG'] ?? join(homedir(), '.docker'), 'config.json'));
  return (registry) => {
    const name = registry === 'docker.io' ? 'https://index.docker.io/v1/' : registry;
    const auth = Object.hasOwn(auths, name) ? auths[name]?.auth : undefined;
    return typeof auth === 'string' ? decoded(auth) : null;
  };
}

function readAuths(file: string): Record<string, { auth?: unknown } | undefined> {
  try {
    const { auths } = Object(JSON.parse(readRegularFile(file, maxBytes).toString('utf8'))) as { auths?: unknown };
    return Object(auths) as Record<string, { auth?: unknown }>;
  } catch {
    return {};
  }
}

function decoded(auth: string): Login | null {
  const text = Buffer.from(auth, 'base64').toString('utf8');
  const at = text.indexOf(':');
  return at < 1 ? null : { user: text.slice(0, at), password: text.slice(at + 1) };
}
