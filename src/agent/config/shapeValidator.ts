import { _, Ajv } from 'ajv';
import { isServiceUrl } from './kinds.ts';
import { keyNames, keys, leafOf, sectionOf, sections } from './schema.ts';

/** Whether every key of a merged configuration is of its kind; its errors tell which is not. */
export const validate = new Ajv({
  allErrors: true,
  verbose: true,
  formats: { 'service-url': isServiceUrl },
  code: { source: true, formats: _`({ 'service-url': require('./kinds.ts').isServiceUrl })` },
}).compile(schemaOf(''));

function schemaOf(section: string): object {
  const own = keyNames.filter((key) => sectionOf(key) === section);
  const leaves = own.map((key): [string, object] => [leafOf(key), keys[key].schema]);
  const nested = section === '' ? sections.map((inner): [string, object] => [inner, schemaOf(inner)]) : [];
  return {
    type: 'object',
    additionalProperties: false,
    required: own.filter((key) => keys[key].default === undefined).map(leafOf),
    properties: Object.fromEntries([...leaves, ...nested]),
  };
}
