import { compileKeys } from '../../core/config/compileKeys.ts';
import { ctlTable, policyTable, trustTable } from './configKeys.ts';

/** Validates every key of deployctl's config.yaml merged with the defaults. */
export const validateSettings = compileKeys(ctlTable);

/** Validates every key of a policy file merged with the defaults. */
export const validatePolicy = compileKeys(policyTable);

/** Validates the key of a trust file. */
export const validateTrust = compileKeys(trustTable);
