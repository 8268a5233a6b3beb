import type { ValidateFunction } from 'ajv';
import { type TSchema, Type } from 'typebox';
import { schemaCompiler } from '../compileSchema.ts';
import { type KeyTable, leafOf, sectionOf } from './keyTable.ts';

const compile = schemaCompiler({ allErrors: true, split: ['array'] });

/** Compiles the validator of a configuration merged with its defaults; `errors` lists the invalid keys. */
export function compileKeys(table: KeyTable): ValidateFunction {
  return compile(schemaOf(table, ''));
}

function schemaOf(table: KeyTable, section: string): TSchema {
  const own = table.names.filter((key) => sectionOf(key) === section);
  const leaves = own.map((key): [string, TSchema] => [leafOf(key), table.keys[key]?.schema ?? {}]);
  const nested = section === '' ? table.sections.map((inner) => [inner, schemaOf(table, inner)] as const) : [];
  return {
    ...Type.Object(Object.fromEntries([...leaves, ...nested]), { additionalProperties: false }),
    required: own.map(leafOf),
  };
}
