import { _, Ajv, type ValidateFunction } from 'ajv';
import { splitSchema } from '../json.rules.ts';
import { type KeyTable, leafOf, sectionOf } from './keyTable.ts';
import { isServiceUrl } from './valueTypes.ts';

/**
 * Compiles the validator of a configuration merged with its defaults; `errors` lists the invalid keys. Called by a
 * `…Validator.ts` two directories below `src/`, which the bundler replaces by the compiled code.
 */
export function compileKeys(table: KeyTable): ValidateFunction {
  return new Ajv({
    allErrors: true,
    inlineRefs: false,
    formats: { 'service-url': isServiceUrl },
    code: { source: true, formats: _`({ 'service-url': require('../../core/config/valueTypes.ts').isServiceUrl })` },
  }).compile(splitSchema(schemaOf(table, ''), ['array']));
}

function schemaOf(table: KeyTable, section: string): object {
  const own = table.names.filter((key) => sectionOf(key) === section);
  const leaves = own.map((key): [string, object] => [leafOf(key), table.keys[key]?.schema ?? {}]);
  const nested = section === '' ? table.sections.map((inner): [string, object] => [inner, schemaOf(table, inner)]) : [];
  return {
    type: 'object',
    additionalProperties: false,
    required: own.map(leafOf),
    properties: Object.fromEntries([...leaves, ...nested]),
  };
}
