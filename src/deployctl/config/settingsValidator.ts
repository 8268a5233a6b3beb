import { compileKeys } from '../../core/config/compileKeys.ts';
import { ctlKeys } from './settings.ts';

/** Validates every key of deployctl's config.yaml merged with the defaults. */
export const validate = compileKeys(ctlKeys);
