import { resourceFactsOf, type CreatedContainer, type CreatedResource } from './createdContainer.ts';
import type { ProjectResources } from '../release/projectResources.ts';
import type { GrantedPrivileges } from './grantedPrivileges.ts';

/**
 * Whether a volume has another driver or other options than the model defines; compose would keep such a volume. `hide`
 * gives the form in which `GrantedPrivileges` stores a secret fact. A volume outside the model is never different.
 */
export function isVolumeDifferent(
  { volumes }: GrantedPrivileges,
  volume: CreatedResource,
  hide: (fact: string) => string,
): boolean {
  const allowed = volumes[volume.name] ?? volumes[hide(volume.name)];
  if (!allowed) return false;
  const may = new Set(allowed.may);
  const facts = resourceFactsOf(volume);
  return facts.length !== may.size || !facts.every((fact) => may.has(fact) || may.has(hide(fact)));
}

/** Whether a container mounts one of the volumes or is attached to one of the networks. */
export function usesResources(
  { Mounts, NetworkSettings }: CreatedContainer,
  { volumes, networks }: ProjectResources,
): boolean {
  const attached = Object.keys(NetworkSettings.Networks ?? {});
  return (Mounts ?? []).some(({ Name = '' }) => volumes.includes(Name)) || attached.some((n) => networks.includes(n));
}
