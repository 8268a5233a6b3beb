import type { Migration } from 'kysely/migration';
import { createFleet } from './migrations/0001-fleet.ts';
import { createSigningKeys } from './migrations/0002-signing-keys.ts';
import { createBundles } from './migrations/0003-bundles.ts';
import { createOperators } from './migrations/0004-operators.ts';
import { addBundleVariables } from './migrations/0005-bundle-variables.ts';
import { createSignatures } from './migrations/0006-signatures.ts';
import { addBundleProfiles } from './migrations/0007-bundle-profiles.ts';
import { createRollouts } from './migrations/0008-rollouts.ts';
import { createPeople } from './migrations/0009-people.ts';
import { createWebhooks } from './migrations/0010-webhooks.ts';
import { createFleetLists } from './migrations/0011-fleet-lists.ts';
import { addRolloutGates } from './migrations/0012-rollout-gates.ts';
import { addEmergencies } from './migrations/0013-emergencies.ts';
import { addListFilters } from './migrations/0014-list-filters.ts';
import { addSwarms } from './migrations/0015-swarms.ts';

/** Changes of the tables by name, oldest first; a released one is never edited. */
export const migrations: Record<string, Migration> = {
  '0001-fleet': { up: createFleet },
  '0002-signing-keys': { up: createSigningKeys },
  '0003-bundles': { up: createBundles },
  '0004-operators': { up: createOperators },
  '0005-bundle-variables': { up: addBundleVariables },
  '0006-signatures': { up: createSignatures },
  '0007-bundle-profiles': { up: addBundleProfiles },
  '0008-rollouts': { up: createRollouts },
  '0009-people': { up: createPeople },
  '0010-webhooks': { up: createWebhooks },
  '0011-fleet-lists': { up: createFleetLists },
  '0012-rollout-gates': { up: addRolloutGates },
  '0013-emergencies': { up: addEmergencies },
  '0014-list-filters': { up: addListFilters },
  '0015-swarms': { up: addSwarms },
};
