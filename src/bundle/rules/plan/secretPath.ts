import { refusalWith, type Refusal } from '../../../../machines/refusals.ts';
import type { Manifest } from '../../../../machines/types.ts';
import { printable } from '../../../protocol/printable.ts';

/** SECRET_PATH_REFUSED with every path outside the env's branch of the secretstore, or null (spec §9). */
export function validateSecretPaths({ env, secrets }: Manifest): Refusal | null {
  const branch = `deployd/data/${env}/see/`;
  const faults = secrets.flatMap((secret) => {
    const fault = secret.path.startsWith(branch) ? pathFault(secret.path.slice(branch.length)) : 'leads elsewhere';
    const text = `${secret.var}: ${printable(secret.path)} ${fault}`;
    return fault === null ? [] : [{ text, cure: `write a path below ${branch}` }];
  });
  return faults.length === 0 ? null : refusalWith('SECRET_PATH_REFUSED', faults);
}

/** Allows only characters that need no escaping in a URL and that no proxy or server interprets. */
function pathFault(path: string): string | null {
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'has an empty, "." or ".." part';
  return /^[A-Za-z0-9._~@+=:,/-]+$/.test(path) ? null : 'has a character other than letters, digits and ._~@+=:,-';
}
