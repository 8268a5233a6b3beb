import { type TSchema, Type } from 'typebox';
import { compileSerializer } from '../http/validators.ts';

const compile = (schema: TSchema, httpStatus = '200') =>
  compileSerializer({ schema, method: 'GET', url: '/', httpStatus });
const named = () => Type.Object({ name: Type.String() });

it('serializes the fields of the schema, and no other', () => {
  expect(compile(named())({ name: 'one', secret: 'two' })).toBe('{"name":"one"}');
});

it('compiles equal schemas once, whichever status or route they belong to', () => {
  expect(compile(named(), '404')).toBe(compile(named()));
});

it('tells schemas apart by everything in them', () => {
  const renamed = compile(Type.Object({ label: Type.String() }));
  const nullable = compile(Type.Object({ name: Type.Union([Type.String(), Type.Null()]) }));
  expect(renamed({ name: 'one', label: 'two' })).toBe('{"label":"two"}');
  expect(nullable({ name: null })).toBe('{"name":null}');
  expect(compile(named())({ name: 'one', label: 'two' })).toBe('{"name":"one"}');
});
