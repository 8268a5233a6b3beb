import {
  forbiddenReason,
  leastRole,
  type Need,
  type Permission,
  permissionsWith,
  visibleEnvs,
} from './permission.rules.ts';

const all = (role: Permission['role']): Permission => ({ role, envs: null });
const some = (role: Permission['role']): Permission => ({ role, envs: ['eu-1'] });
const need = (role: Need['role'], env: Need['env'] = null): Need => ({ role, env });
const every = { every: true } as const;

it.each([
  [all('viewer'), need('viewer'), null],
  [all('viewer'), need('deployer'), /role deployer is needed, yours is viewer/],
  [all('viewer'), need('admin'), /role admin/],
  [all('deployer'), need('viewer'), null],
  [all('deployer'), need('deployer', 'eu-1'), null],
  [all('deployer'), need('admin'), /role admin/],
  [all('admin'), need('deployer', 'us-1'), null],
  [all('admin'), need('admin', every), null],
  [some('admin'), need('admin', 'eu-1'), null],
  [some('admin'), need('admin'), null],
  [some('admin'), need('viewer', 'us-1'), /not for the env us-1/],
  [some('admin'), need('admin', every), /limited to some envs/],
  [some('viewer'), need('admin', 'us-1'), /role admin/],
])('%j with %j', (permission, needed, reason) => {
  const forbidden = forbiddenReason([permission], needed);
  if (reason === null) expect(forbidden).toBeNull();
  else expect(forbidden).toMatch(reason);
});

describe('several permissions', () => {
  const mixed = [all('viewer'), some('admin')];

  it.each([
    [need('admin', 'eu-1'), null],
    [need('viewer', 'us-1'), null],
    [need('viewer', every), null],
    [need('deployer', 'us-1'), 'the role deployer is needed, yours is viewer'],
    [need('admin', every), 'the role admin is needed, yours is viewer'],
  ])('permit what one of them does: %j', (needed, reason) => {
    expect(forbiddenReason(mixed, needed)).toBe(reason);
  });

  it('are for the envs of all of them, with the role that holds in each', () => {
    const two = [some('admin'), { role: 'deployer', envs: ['us-1', 'eu-1'] } as const];
    expect([visibleEnvs(mixed), leastRole(mixed)]).toEqual([null, 'viewer']);
    expect([visibleEnvs(two), leastRole(two)]).toEqual([['eu-1', 'us-1'], 'deployer']);
    expect([visibleEnvs([some('admin')]), leastRole([some('admin')])]).toEqual([['eu-1'], 'admin']);
  });

  it('are those that include a role', () => {
    expect(permissionsWith(mixed, 'deployer')).toEqual([some('admin')]);
    expect(permissionsWith(mixed, 'viewer')).toEqual(mixed);
  });

  it('that are none permit nothing', () => {
    expect(forbiddenReason([], need('viewer'))).toBe('the role viewer is needed, and there is none');
    expect(visibleEnvs([])).toEqual([]);
  });
});
