import type { TenancySettings } from '../config/settings.ts';
import { addAdministrator } from '../services/administrators.ts';
import { CommandError, type Output } from './commandError.ts';
import { withCurrentStore } from './storeAccess.ts';

/** `deployd-tenancy admin NAME`: makes an administrator of all envs, and prints the token, once. For a token that is lost. */
export async function admin(settings: TenancySettings, name: string, out: Output): Promise<number> {
  const administrator = { name, act: 'service.admin', now: Date.now() };
  const token = await withCurrentStore(settings, (store) =>
    store.transaction().execute((work) => addAdministrator(work, administrator)),
  );
  if (token === null) throw new CommandError(`there is an operator of the name ${name}: choose another`);
  out.log(token);
  return 0;
}
