import type { Bundle } from '../../../../machines/words.ts';

/** What `.env` supplies: the secrets, except registry logins, and the agent's own three (spec §5). */
export function environmentOf({ sha, manifest }: Bundle, values: ReadonlyMap<string, string>): Map<string, string> {
  const logins = new Set(manifest.registries.flatMap((each) => [each.username_var, each.password_var]));
  const own: [string, string][] = [
    ['DEPLOYD_ENV', manifest.env],
    ['DEPLOYD_SHA', sha],
    ['DEPLOYD_VERSION', manifest.version],
  ];
  return new Map([...[...values].filter(([name]) => !logins.has(name)), ...own]);
}
