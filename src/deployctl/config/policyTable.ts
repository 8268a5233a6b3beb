import { keyTableOf } from '../../core/config/keyTable.ts';
import { policyKeys } from '../../core/config/sharedKeys.ts';

/** The keys of a policy file. */
export const policyTable = keyTableOf(policyKeys);
