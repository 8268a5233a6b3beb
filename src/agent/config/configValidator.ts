import { compileConfig } from '../../core/compileSchema.ts';
import { schemaOf } from '../../core/config/keyTable.ts';
import { configTable } from './configKeys.ts';

/** Validates every key of a configuration merged with the defaults; `errors` lists the invalid ones. */
export const validate = compileConfig(schemaOf(configTable));
