import type { CreatedContainer } from './createdContainer.ts';
import { grantedPrivilegesOf } from './grantedPrivileges.ts';
import { isVolumeDifferent, usesResources } from './volumeDifference.ts';

const model = {
  name: 'p',
  volumes: { data: {}, cache: { driver_opts: { type: 'tmpfs', o: 'size=1m' } }, theirs: { external: true } },
};
const granted = grantedPrivilegesOf(model, '/release');
const volume = (name: string, options: Record<string, string> = {}, driver = 'local') => ({
  name,
  driver,
  options,
  isOwn: false,
});
const hide = (fact: string) => `hidden ${fact}`;

it.each([
  ['equal', volume('p_data'), false],
  ['of another driver', volume('p_data', {}, 'nfs'), true],
  ['with an extra option', volume('p_data', { size: '1m' }), true],
  ['with all options', volume('p_cache', { o: 'size=1m', type: 'tmpfs' }), false],
  ['with another value', volume('p_cache', { o: 'size=2m', type: 'tmpfs' }), true],
  ['without one of the options', volume('p_cache', { type: 'tmpfs' }), true],
  ['external', volume('theirs', { size: '1m' }), false],
  ['outside the model', volume('p_other', { size: '1m' }), false],
])('compares a volume %s', (_title, created, isDifferent) => {
  expect(isVolumeDifferent(granted, created, hide)).toBe(isDifferent);
});

it('recognizes an option that holds a secret', () => {
  const allowance = { may: ['driver local', 'hidden option o=password'], must: [] };
  const secret = { ...granted, volumes: { p_data: allowance } };
  expect(isVolumeDifferent(secret, volume('p_data', { o: 'password' }), hide)).toBe(false);
  expect(isVolumeDifferent(secret, volume('p_data', { o: 'another' }), hide)).toBe(true);
});

it.each([
  [['v'], [], true],
  [[], ['n'], true],
  [['n'], ['v'], false],
])('finds a container that uses one of the volumes %j or of the networks %j: %j', (volumes, ...[networks, uses]) => {
  const container = {
    Mounts: [{ Name: 'v' }, { Name: 'w' }],
    NetworkSettings: { Networks: { n: {}, m: {} } },
  } as unknown as CreatedContainer;
  expect(usesResources(container, { volumes, networks })).toBe(uses);
  const bare = { ...container, Mounts: null, NetworkSettings: { Networks: null } };
  expect(usesResources(bare, { volumes, networks })).toBe(false);
});
