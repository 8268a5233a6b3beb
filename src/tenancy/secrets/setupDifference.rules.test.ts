import { differenceOf, formatDifference, type SetupObject } from './setup.rules.ts';

const object: SetupObject = { name: 'role x', path: 'auth/x', fields: { list: ['a'], ttl: 3600 } };

describe('a difference', () => {
  it('is none for an object as desired, whatever else it has', () => {
    expect(differenceOf(object, { list: ['a'], ttl: 3600, bound_cidrs: ['10.0.0.0/8'] })).toBeNull();
  });

  it('is a missing object', () => {
    const difference = differenceOf(object, null);
    expect(difference).toEqual({ name: 'role x', kind: 'missing' });
    expect(formatDifference(difference!)).toEqual(['+ role x']);
  });

  it('is each field that differs', () => {
    const difference = differenceOf(object, { list: ['a', 'b'] });
    expect(difference).toMatchObject({ name: 'role x', kind: 'different' });
    expect(formatDifference(difference!)).toEqual(['~ role x', '    list: ["a","b"] → ["a"]', '    ttl: null → 3600']);
  });
});
