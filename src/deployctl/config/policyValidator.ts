import { compileKeys } from '../../core/config/compileKeys.ts';
import { policyTable } from './policyTable.ts';

/** Validates every key of a policy file merged with the defaults. */
export const validate = compileKeys(policyTable);
