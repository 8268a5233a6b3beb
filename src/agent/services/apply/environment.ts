import type { Bundle } from '../../../../machines/types.ts';

/** The variables of `.env`: the secrets without registry logins, and the agent's own three (spec §5). */
export function environmentOf({ sha, manifest }: Bundle, values: ReadonlyMap<string, string>): Map<string, string> {
  const logins = new Set(manifest.registries.flatMap((each) => [each.username_var, each.password_var]));
  const agentVariables: [string, string][] = [
    ['DEPLOYD_ENV', manifest.env],
    ['DEPLOYD_SHA', sha],
    ['DEPLOYD_VERSION', manifest.version],
  ];
  return new Map([...[...values].filter(([name]) => !logins.has(name)), ...agentVariables]);
}
