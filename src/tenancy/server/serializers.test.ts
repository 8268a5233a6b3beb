import { type TSchema, Type } from 'typebox';
import { compileSerializer } from '../http/validators.ts';

const compile = (schema: TSchema, httpStatus = '200') =>
  compileSerializer({ schema, method: 'GET', url: '/', httpStatus });
const named = () => Type.Object({ name: Type.String() });

it('serializes only the fields of the schema', () => {
  expect(compile(named())({ name: 'one', secret: 'two' })).toBe('{"name":"one"}');
});

it('compiles equal schemas once, regardless of status and route', () => {
  expect(compile(named(), '404')).toBe(compile(named()));
});

it('distinguishes schemas by every part', () => {
  const renamed = compile(Type.Object({ label: Type.String() }));
  const nullable = compile(Type.Object({ name: Type.Union([Type.String(), Type.Null()]) }));
  expect(renamed({ name: 'one', label: 'two' })).toBe('{"label":"two"}');
  expect(nullable({ name: null })).toBe('{"name":null}');
  expect(compile(named())({ name: 'one', label: 'two' })).toBe('{"name":"one"}');
});
