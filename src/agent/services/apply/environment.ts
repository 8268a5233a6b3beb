import type { Bundle } from '../../../../machines/types.ts';

/** The variables of `.env`: the bundle's own, the secrets without registry logins, and the agent's three (spec §5). */
export function environmentOf({ sha, manifest }: Bundle, values: ReadonlyMap<string, string>): Map<string, string> {
  const logins = new Set(manifest.registries.flatMap((each) => [each.username_var, each.password_var]));
  const agentVariables: [string, string][] = [
    ['DEPLOYD_ENV', manifest.env],
    ['DEPLOYD_SHA', sha],
    ['DEPLOYD_VERSION', manifest.version],
  ];
  const secrets = [...values].filter(([name]) => !logins.has(name));
  return new Map([...Object.entries(manifest.variables), ...secrets, ...agentVariables]);
}
