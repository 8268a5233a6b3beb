import { groupsOf, knownGroups, nameOf, permissionsOfGroups } from './person.rules.ts';

const roles = [
  { group: 'platform', role: 'admin' },
  { group: 'shop', role: 'deployer', envs: ['eu-1'] },
  { group: 'shop', role: 'viewer' },
] as const;

describe('the groups of a person', () => {
  it.each([
    ['none without the claim', {}, []],
    ['as the claim lists them', { groups: ['shop', 'other'] }, ['shop', 'other']],
    ['unknown for one text', { groups: 'shop' }, null],
    ['unknown for a list with another type', { groups: ['shop', 1] }, null],
    ['unknown for a mapping', { groups: { shop: true } }, null],
  ])('are %s', (_title, claims, groups) => {
    expect(groupsOf(claims, 'groups')).toEqual(groups);
  });

  it('count where they have a role, each once', () => {
    expect(knownGroups(['other', 'shop', 'shop'], roles)).toEqual(['shop']);
    expect(knownGroups(['Shop', 'platform '], roles)).toEqual([]);
  });

  it('permit what any of them permits', () => {
    expect(permissionsOfGroups(['shop'], roles)).toEqual([
      { role: 'deployer', envs: ['eu-1'] },
      { role: 'viewer', envs: null },
    ]);
    expect(permissionsOfGroups(['other'], roles)).toEqual([]);
  });
});

describe('the name of a person', () => {
  it.each([
    ['the claim', { sub: '7', name: 'Ann Lee' }, 'name', 'Ann Lee'],
    ['a verified address', { sub: '7', email: 'ann@shop.example', email_verified: true }, 'email', 'ann@shop.example'],
    ['an address of which nothing is told', { sub: '7', email: 'ann@shop.example' }, 'email', 'ann@shop.example'],
    ['not an address that is called unverified', { sub: '7', email: 'a@b.c', email_verified: 'false' }, 'email', '7'],
    ['not an unverified address', { sub: '7', email: 'ann@shop.example', email_verified: false }, 'email', '7'],
    ['another claim, whatever is told of the address', { sub: '7', name: 'Ann', email_verified: false }, 'name', 'Ann'],
    ['one of one character', { sub: '7', name: 'A' }, 'name', 'A'],
    ['not a claim of another type', { sub: '7', name: ['Ann'] }, 'name', '7'],
    ['not one with a control character', { sub: '7', name: 'Ann\nadmin' }, 'name', '7'],
    ['not one that turns its letters around', { sub: '7', name: 'Ann\u202eeeL' }, 'name', '7'],
    ['not one with a space at its end', { sub: '7', name: 'Ann ' }, 'name', '7'],
    ['not an empty one', { sub: '7', name: '' }, 'name', '7'],
    ['one of 128 characters', { sub: '7', name: 'a'.repeat(128) }, 'name', 'a'.repeat(128)],
    ['not a longer one', { sub: '7', name: 'a'.repeat(129) }, 'name', '7'],
  ])('is %s', (_title, claims, claim, name) => {
    expect(nameOf(claims, claim)).toBe(name);
  });
});
