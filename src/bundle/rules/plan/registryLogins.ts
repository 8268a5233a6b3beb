import { refusalWith, type Refusal } from '../../../../machines/refusals.ts';
import type { Manifest } from '../../../../machines/types.ts';
import { scopeOf } from '../../../platform/text/loginScope.ts';

/** Refuses a second login for a registry in a swarm, whose nodes pull by themselves with one. */
export function validateSwarmLogins({ registries }: Pick<Manifest, 'registries'>): Refusal | null {
  const names = registries.map((login) => scopeOf(login).registry);
  const faults = names.flatMap((name, index) =>
    names.indexOf(name) === index
      ? []
      : {
          text: `registries[${index}].host is refused in a swarm: it has one login for each registry`,
          cure: 'use one login that may read all of them',
        },
  );
  return faults.length === 0 ? null : refusalWith('COMPOSE_REFUSED', faults);
}
