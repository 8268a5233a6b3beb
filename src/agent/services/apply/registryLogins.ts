import type { Bundle } from '../../../../machines/types.ts';
import type { RegistryLogin } from '../../adapters/compose/registryLogins.ts';
import type { Dependencies } from '../dependencies.ts';

/** The registry logins of a bundle, with the values of its secrets; also as they are sent, they are redacted. */
export function registryLoginsOf(
  { vault }: Dependencies,
  { manifest }: { manifest: Pick<Bundle['manifest'], 'registries'> },
): RegistryLogin[] {
  return manifest.registries.map(({ host, username_var, password_var }) => {
    const login = { host, username: vault.value(username_var) ?? '', password: vault.value(password_var) ?? '' };
    vault.registerForRedaction(Buffer.from(`${login.username}:${login.password}`).toString('base64'));
    return login;
  });
}
