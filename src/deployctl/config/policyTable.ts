import { keyTableOf } from '../../config/keyTable.ts';
import { policyKeys } from '../../config/policyKeys.ts';

/** The keys of a policy file. */
export const policyTable = keyTableOf(policyKeys);
