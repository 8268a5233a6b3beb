import { _, Ajv } from 'ajv';
import { isServiceUrl } from './valueTypes.ts';
import { configKeyNames, configKeys, leafOf, sectionOf, configSections } from './configKeys.ts';

/** Validates every key of a configuration merged with the defaults; `errors` lists the invalid ones. */
export const validate = new Ajv({
  allErrors: true,
  verbose: true,
  formats: { 'service-url': isServiceUrl },
  code: { source: true, formats: _`({ 'service-url': require('./valueTypes.ts').isServiceUrl })` },
}).compile(schemaOf(''));

function schemaOf(section: string): object {
  const own = configKeyNames.filter((key) => sectionOf(key) === section);
  const leaves = own.map((key): [string, object] => [leafOf(key), configKeys[key].schema]);
  const nested = section === '' ? configSections.map((inner): [string, object] => [inner, schemaOf(inner)]) : [];
  return {
    type: 'object',
    additionalProperties: false,
    required: own.map(leafOf),
    properties: Object.fromEntries([...leaves, ...nested]),
  };
}
