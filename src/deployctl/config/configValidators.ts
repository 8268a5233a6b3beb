import { compileConfig } from '../../core/compileSchema.ts';
import { schemaOf } from '../../core/config/keyTable.ts';
import { ctlTable, policyTable, trustTable } from './configKeys.ts';

/** Validates every key of deployctl's config.yaml merged with the defaults. */
export const validateSettings = compileConfig(schemaOf(ctlTable));

/** Validates every key of a policy file merged with the defaults. */
export const validatePolicy = compileConfig(schemaOf(policyTable));

/** Validates the key of a trust file. */
export const validateTrust = compileConfig(schemaOf(trustTable));
