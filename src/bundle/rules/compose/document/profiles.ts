import { itemsOf, textsOf, valuesAt, type ComposeNode } from './composeNode.ts';
import { serviceLayers } from './serviceLayers.ts';

/** The profiles of a service: those of its bases and of every file count, as compose adds them up. */
export function profilesOf(layers: readonly ComposeNode[]): string[] {
  return [...new Set(textsOf(valuesAt(layers, 'profiles').flatMap(itemsOf)))];
}

/** The layers of the services that run with the chosen profiles: those without a profile, and those with a chosen one. */
export function activeServiceLayers(
  files: readonly { root: ComposeNode }[],
  chosen: readonly string[],
): Map<string, ComposeNode[]> {
  const isActive = (profiles: string[]) =>
    profiles.length === 0 || profiles.some((profile) => chosen.includes(profile));
  return new Map([...serviceLayers(files)].filter(([, layers]) => isActive(profilesOf(layers))));
}
