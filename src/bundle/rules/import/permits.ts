import { permitKeys, type Permits } from '../../../protocol/hostPolicy.ts';
import { permitEntry, type Power } from '../compose/policy/power.ts';

/** The permits that grant powers, and no more, as `policy.permit` of a host has them. */
export function permitsOf(powers: readonly Power[]): Partial<Permits> {
  const byKey = permitKeys.flatMap((key) => {
    const entries = new Set(powers.filter(({ permit }) => permit === key).map(permitEntry));
    const needed = [...entries].filter((entry) => !entries.has(entry.replace(/:ro$/, '')) || !entry.endsWith(':ro'));
    return needed.length > 0 ? [[key, needed.sort()] as const] : [];
  });
  return Object.fromEntries(byKey);
}

/** The lines of config.yaml that give a host these permits; none without permits. */
export function permitLines(permits: Partial<Permits>): string[] {
  const lines = Object.entries(permits).map(([key, entries]) => `    ${key}: [${entries.map(quoted).join(', ')}]`);
  return lines.length === 0 ? [] : ['policy:', '  permit:', ...lines];
}

/** Text that YAML reads as text. */
function quoted(text: string): string {
  return /^[A-Za-z_][\w-]*$/.test(text) && !/^(true|false|yes|no|on|off|y|n|null)$/i.test(text)
    ? text
    : JSON.stringify(text);
}
