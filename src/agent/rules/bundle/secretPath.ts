import type { Manifest, Refusal } from '../../../../machines/words.ts';
import { printable } from '../../../protocol/printable.ts';

/** SECRET_PATH_REFUSED with every path that is not below the env's own branch of the secretstore, or null (spec §9). */
export function judgeSecretPaths({ env, secrets }: Manifest): Refusal | null {
  const branch = `deployd/data/${env}/see/`;
  const faults = secrets.flatMap((secret) => {
    const fault = secret.path.startsWith(branch) ? faultOf(secret.path.slice(branch.length)) : 'leads elsewhere';
    return fault === null ? [] : [`${secret.var}: ${printable(secret.path)} ${fault}`];
  });
  if (faults.length === 0) return null;
  return { code: 'SECRET_PATH_REFUSED', detail: `${faults.join('; ')}; allowed are paths below ${branch}` };
}

/** Only characters that no URL, proxy or server reads as anything but themselves. */
function faultOf(rest: string): string | null {
  const parts = rest.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'has an empty, "." or ".." part';
  return /^[A-Za-z0-9._~@+=:,/-]+$/.test(rest) ? null : 'has a character other than letters, digits and ._~@+=:,-';
}
