import type { NamesOutside } from '../../../bundle/policy/policyHost.rules.ts';
import { engineNameOf, type ModelObject, objectOf, textOf } from './renderedModel.ts';

/** Engine names of networks and volumes that the project must have made itself. */
export type ContestedNames = Readonly<Record<'networks' | 'volumes', readonly string[]>>;

/**
 * The names in a rendered model that something outside the project could take before compose creates the containers, which
 * would then use it: those without the project's prefix. Not those that something outside had when the model was validated,
 * for that was permitted. Empty when the names outside are unknown.
 */
export function contestedNamesOf(root: ModelObject, outside: NamesOutside | null): ContestedNames {
  const namesOf = (kind: keyof ContestedNames) =>
    Object.entries(objectOf(root[kind]))
      .filter(([, part]) => objectOf(part)['external'] !== true)
      .map(([key, part]) => engineNameOf(root, key, part))
      .filter((name) => outside?.[kind].has(name) === false && !name.startsWith(`${textOf(root['name'])}_`));
  return { networks: namesOf('networks'), volumes: namesOf('volumes') };
}
