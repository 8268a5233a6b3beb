import { forbiddenReason, type Need, type Permission } from './permission.ts';

const all = (role: Permission['role']): Permission => ({ role, envs: null });
const some = (role: Permission['role']): Permission => ({ role, envs: ['eu-1'] });
const need = (role: Need['role'], env: Need['env'] = null): Need => ({ role, env });
const every = { every: true } as const;

it.each([
  [all('viewer'), need('viewer'), null],
  [all('viewer'), need('deployer'), /role deployer is needed, the token has viewer/],
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
  const forbidden = forbiddenReason(permission, needed);
  if (reason === null) expect(forbidden).toBeNull();
  else expect(forbidden).toMatch(reason);
});
