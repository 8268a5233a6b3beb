import { compileKeys } from './compileKeys.ts';
import { type ConfigKey, keyTableOf, required } from './keyTable.ts';

const letters = { type: 'array', items: { type: 'string', pattern: '^[a-z]$' } };
const keyOf = (schema: ConfigKey['schema']) => required({ schema, allowed: '' }, '');
const validate = compileKeys(
  keyTableOf({
    first: keyOf(letters),
    second: keyOf(letters),
    'section.part': keyOf({ type: 'object', properties: { third: letters } }),
    choice: keyOf({ type: 'string', nullable: true, enum: [null, 'a'] }),
  }),
);

it('validates equal lists by one function, apart from that of the keys', () => {
  const list = { $ref: '#/$defs/0' };
  const section = { properties: { part: { type: 'object', properties: { third: list } } } };
  expect(validate.schema).toMatchObject({
    properties: { first: list, second: list, section, choice: { enum: [null, 'a'] } },
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
