import { Type } from 'typebox';
import { compileConfig } from '../compileSchema.ts';
import { type ConfigKey, keyTableOf, required, schemaOf } from './keyTable.ts';

const letters = Type.Array(Type.String({ pattern: '^[a-z]$' }));
const keyOf = (schema: ConfigKey['schema']) => required({ schema, allowed: '' }, '');
const validate = compileConfig(
  schemaOf(
    keyTableOf({
      first: keyOf(letters),
      second: keyOf(letters),
      'section.part': keyOf(Type.Object({ third: letters })),
      choice: keyOf(Type.Union([Type.Boolean(), Type.Null()])),
    }),
  ),
);

it('validates equal lists by one function, separate from the function of the keys', () => {
  const list = { $ref: '#/$defs/0' };
  const section = { properties: { part: { type: 'object', properties: { third: list } } } };
  expect(validate.schema).toMatchObject({
    properties: { first: list, second: list, section, choice: { type: 'boolean', nullable: true } },
    $defs: { 0: letters },
  });
  expect(validate.source?.validateCode).not.toContain('must match pattern');
});

it('names each invalid key and element', () => {
  const valid = { first: ['a'], second: [], section: { part: { third: ['b'] } }, choice: null };
  expect([validate(valid), validate.errors]).toEqual([true, null]);
  expect(validate({ first: ['a', 'A'], second: 'b', section: { part: { third: [1] } }, choice: 'b' })).toBe(false);
  const paths = validate.errors?.map(({ instancePath }) => instancePath);
  expect(paths).toEqual(['/first/1', '/second', '/choice', '/section/part/third/0']);
});
