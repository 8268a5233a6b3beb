import { Fault, refused } from '../../../../machines/fault.ts';
import type { Bundle, ManifestSecret, Refusal } from '../../../../machines/words.ts';
import { unusable } from '../../rules/bundle/envFile.ts';
import type { Tools } from '../tools.ts';

/** Lease, login, reads (spec §11): the values go into the vault and nowhere else. Without secrets it does nothing. */
export async function readSecrets(tools: Tools, { bundle }: { bundle: Bundle }, signal: AbortSignal): Promise<void> {
  const { secretstore, tenancy, vault } = tools;
  const { secrets } = bundle.manifest;
  if (secrets.length === 0) return;
  const lease = await tenancy.lease('apply', signal);
  const login = await secretstore.login({ kind: 'lease', role: lease.role, jwt: lease.jwt }, signal);
  vault.holdLease(login.token);
  const refusals: Refusal[] = [];
  const entries = new Map<string, Entry>();
  for (const secret of secrets) {
    const known = entries.get(keyOf(secret)) ?? (await read(tools, secret, signal));
    entries.set(keyOf(secret), known);
    const refusal = 'fault' in known ? known.fault : take(tools, secret, known.data);
    if (refusal !== null) refusals.push(refusal);
  }
  if (refusals.length > 0) throw refused(byCode(refusals));
  tools.note({ word: 'secrets-read', count: secrets.length });
}

type Entry = { data: Record<string, unknown> } | { fault: Refusal };

async function read({ secretstore, vault }: Tools, secret: ManifestSecret, signal: AbortSignal): Promise<Entry> {
  try {
    return await secretstore.read(secret, vault.lease() ?? '', signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending !== 'refused') throw error;
    const code = error.code === 'SECRET_UNUSABLE' ? error.code : 'SECRET_UNAVAILABLE';
    return { fault: { code, detail: error.message.replace(`refused: ${code}: `, '') } };
  }
}

function take({ vault }: Tools, secret: ManifestSecret, entry: Record<string, unknown>): Refusal | null {
  const where = `${secret.path} field ${secret.field}`;
  if (!Object.hasOwn(entry, secret.field)) return { code: 'SECRET_UNAVAILABLE', detail: `${where} does not exist` };
  const value = entry[secret.field];
  const reason = unusable(secret.var, value);
  if (reason !== null) return { code: 'SECRET_UNUSABLE', detail: `${where}: ${reason}` };
  vault.holdValue(secret.var, value as string);
  return null;
}

/** One refusal a code, every fault in its detail. */
function byCode(refusals: Refusal[]): Refusal[] {
  return (['SECRET_UNAVAILABLE', 'SECRET_UNUSABLE'] as const).flatMap((code) => {
    const details = new Set(refusals.filter((each) => each.code === code).map(({ detail }) => detail));
    return details.size > 0 ? [{ code, detail: [...details].join('; ') }] : [];
  });
}

function keyOf({ path, version }: ManifestSecret): string {
  return `${path}@${version ?? 'latest'}`;
}
