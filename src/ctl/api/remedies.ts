import { refusals } from '../../../machines/refusals.ts';

/** What to do about an error, by its code. */
const remedies: Record<string, string> = {
  BACKEND_LEADS:
    '`docker node demote` its node, or add --swarm: all managers; with --force nobody acts until it is demoted',
  BACKEND_OFFLINE: 'add --force: it is given 24 h to come back and be taken down',
  BUNDLE_DAMAGED: '`deployctl push` its archive again, or a newer bundle',
  BUNDLE_ENV: 'build a bundle for this env: its manifest names another',
  BUNDLE_MISSING: '`deployctl push` its archive again, or a newer bundle',
  BUNDLE_NOT_FOUND: '`deployctl push` it first; `deployctl bundle list` shows what is there',
  CONFIRM_REQUIRED: 'add --confirm: its host is taken down, and its credentials are revoked',
  ENV_EXISTS: '`deployctl env show` tells what it is',
  ENV_IN_USE: 'retire its backends first: `deployctl backend list --env ENV`',
  ROLLOUT_ACTIVE: '`deployctl rollout show ENV` tells where it is; `deployctl rollout abort ENV` ends it',
  ROLLOUT_STATE: '`deployctl rollout show ENV` tells where it is',
  SEQUENCE_STALE: 'pack anew with `deployctl bundle pack --next`',
  TLS_UNTRUSTED: 'name the authority that the service is trusted by: --ca-file, DEPLOYCTL_CA_FILE or ca_file',
  WEBHOOK_LIMIT: '`deployctl webhook remove` one first',
  UNREACHABLE: 'is the address right, and the service up? Try again later',
};

/** The same by status, for codes that are not listed. */
const remediesByStatus: Record<number, string> = {
  401: 'the token is not valid or was revoked: `deployctl login` with another',
  403: 'another operator may: `deployctl whoami` tells your role and envs',
  413: 'leave files out; the service limits the size of a bundle',
  429: 'try again later',
  503: 'try again later',
};

/** What to do about an error; nothing where the message says all. */
export function remedyOf(code: string, status: number): { remedy?: string } {
  const remedy = remedies[code] ?? cureOf(code) ?? remediesByStatus[status];
  return remedy === undefined ? {} : { remedy };
}

/** How to get a refused bundle accepted. */
export function cureOf(code: string): string | undefined {
  return (refusals as Partial<Record<string, { cure: string }>>)[code]?.cure;
}
