import { compileKeys } from '../../core/config/compileKeys.ts';
import { configTable } from './configKeys.ts';

/** Validates every key of a configuration merged with the defaults; `errors` lists the invalid ones. */
export const validate = compileKeys(configTable);
