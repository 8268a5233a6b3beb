import { compileKeys } from '../../core/config/compileKeys.ts';
import { trustTable } from './trustTable.ts';

/** Validates the key of a trust file. */
export const validate = compileKeys(trustTable);
