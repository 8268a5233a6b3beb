import { outerFactsOf, type Creation, type MadeVolume } from './created.ts';
import type { Owned } from '../release/owned.ts';
import type { Granted } from './granted.ts';

/**
 * Whether a volume has another driver or other options than the model says, which compose would ask about and then leave; `hide`
 * writes a fact that holds a secret as `Granted` does. One that the model does not make is none of its own.
 */
export function isMadeOtherwise({ volumes }: Granted, volume: MadeVolume, hide: (fact: string) => string): boolean {
  const allowed = volumes[volume.name] ?? volumes[hide(volume.name)];
  if (!allowed) return false;
  const may = new Set(allowed.may);
  const facts = outerFactsOf(volume);
  return facts.length !== may.size || !facts.every((fact) => may.has(fact) || may.has(hide(fact)));
}

/** Whether a container mounts one of the volumes or is attached to one of the networks. */
export function uses({ Mounts, NetworkSettings }: Creation, { volumes, networks }: Owned): boolean {
  const attached = Object.keys(NetworkSettings.Networks ?? {});
  return (Mounts ?? []).some(({ Name = '' }) => volumes.includes(Name)) || attached.some((n) => networks.includes(n));
}
