import { lstatSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type LoginScope, scopeOf } from '../../../registry/imageReference.rules.ts';
import { diskFault } from '../../../core/errors.rules.ts';
import { writeWithoutSync } from '../files/durableFiles.ts';

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

/** Docker's configuration knows no paths. */
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
