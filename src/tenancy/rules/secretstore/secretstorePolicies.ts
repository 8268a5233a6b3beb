import { secretsMount } from '../../credentials/secretstoreRoles.ts';

const note = '# Written by `deployd-tenancy secretstore apply`.';

/**
 * The policy of hosts: each may read the secrets of its own env, which its JWT has put into the metadata of its alias at
 * the mount of that accessor.
 */
export function agentPolicy(accessor: string): string {
  const env = `{{identity.entity.aliases.${accessor}.metadata.env}}`;
  return policyOf({ [`${secretsMount}/data/${env}/see/*`]: ['read'] });
}

/** The policy of this service: it writes and destroys secrets, reads none, and looks up and revokes tokens. */
export const servicePolicy = policyOf({
  [`${secretsMount}/data/+/see/*`]: ['create', 'update'],
  [`${secretsMount}/metadata/+/see/*`]: ['read', 'list', 'delete'],
  'auth/token/lookup': ['update'],
  'auth/token/revoke-accessor': ['update'],
});

function policyOf(capabilities: Record<string, string[]>): string {
  const rules = Object.entries(capabilities).map(
    ([path, allowed]) => `path "${path}" {\n  capabilities = ${JSON.stringify(allowed).replaceAll(',', ', ')}\n}\n`,
  );
  return [`${note}\n`, ...rules].join('\n');
}
