import type { Bundle } from '../../../machines/words.ts';
import type { RegistryLogin } from '../../adapters/compose.ts';
import { blameEngine, composeReleaseOf } from '../release.ts';
import type { Tools } from '../tools.ts';

/** compose pull with the bundle's registry logins, which live only as long as the call (spec §5). */
export async function pull(tools: Tools, { bundle }: { bundle: Bundle }, signal: AbortSignal): Promise<void> {
  const release = await composeReleaseOf(tools, bundle.sha);
  const logins = bundle.manifest.registries.map(({ host, username_var, password_var }): RegistryLogin => {
    const { vault } = tools;
    return { host, username: vault.value(username_var) ?? '', password: vault.value(password_var) ?? '' };
  });
  for (const { username, password } of logins)
    tools.vault.guard(Buffer.from(`${username}:${password}`).toString('base64'));
  await tools.compose.pull(release, logins, signal).catch((error: unknown) => blameEngine(tools, error));
}
