import { _, Ajv, type ValidateFunction } from 'ajv';
import { leafOf, sectionOf, type KeyTable } from './keyTable.ts';
import { isServiceUrl } from './valueTypes.ts';

/**
 * Compiles the validator of a configuration merged with its defaults; `errors` lists the invalid keys. Called by a
 * `…Validator.ts` two directories below `src/`, which the bundler replaces by the compiled code.
 */
export function compileKeys(table: KeyTable): ValidateFunction {
  const lists = new Map<string, object>();
  const schema = shareLists(schemaOf(table, ''), lists);
  const definitions = [...lists.values()].map((list, index): [string, object] => [String(index), list]);
  return new Ajv({
    allErrors: true,
    inlineRefs: false,
    formats: { 'service-url': isServiceUrl },
    code: { source: true, formats: _`({ 'service-url': require('../../config/valueTypes.ts').isServiceUrl })` },
  }).compile({ ...(schema as object), $defs: Object.fromEntries(definitions) });
}

/**
 * The schema with a reference in the place of each list. A list is a function of the compiled code then, and V8 compiles a
 * function when it is first called: lists within what a configuration leaves out cost a tick nothing, and equal ones cost once.
 */
function shareLists(schema: unknown, lists: Map<string, object>): unknown {
  if (Array.isArray(schema)) return schema.map((each) => shareLists(each, lists));
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).map(([name, part]): [string, unknown] => [name, shareLists(part, lists)]);
  const shared = Object.fromEntries(parts) as Record<string, unknown>;
  if (shared['type'] !== 'array') return shared;
  const text = JSON.stringify(shared);
  lists.set(text, shared);
  return { $ref: `#/$defs/${[...lists.keys()].indexOf(text)}` };
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
