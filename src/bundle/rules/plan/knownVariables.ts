import type { Sha } from '../../../../machines/types.ts';

/** What decides the values of variables that are no secrets. */
export interface VariableFacts {
  /** Null for a directory. */
  sha: Sha | null;
  version: string;
  /** The bundle's own variables. */
  variables: Readonly<Record<string, string>>;
}

/** The variables whose values are known: those of the bundle and two of the agent. */
export function knownVariables({ sha, version, variables }: VariableFacts): ReadonlyMap<string, string> {
  return new Map([
    ...Object.entries(variables),
    ['DEPLOYD_SHA', sha ?? 'of a directory'],
    ['DEPLOYD_VERSION', version],
  ]);
}

/** Inserts known variables into an image reference, but for those with an alternative or a nested default. */
export function withKnownVariables(image: string, known: ReadonlyMap<string, string>): string {
  const pattern = /\$(?<named>[A-Za-z_]\w*)|\$\{(?<braced>[A-Za-z_]\w*)(?:(?<operator>:?[-?])[^{}$]*)?\}/g;
  return image.replaceAll(pattern, (...match: unknown[]) => {
    const { named = '', braced = named, operator = '' } = match.at(-1) as Record<string, string | undefined>;
    const value = known.get(braced);
    return value === undefined || (value === '' && operator.startsWith(':')) ? String(match[0]) : value;
  });
}
