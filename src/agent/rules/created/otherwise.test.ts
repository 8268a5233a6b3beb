import type { Creation } from './created.ts';
import { grantedOf } from './granted.ts';
import { isMadeOtherwise, uses } from './otherwise.ts';

const model = {
  name: 'p',
  volumes: { data: {}, cache: { driver_opts: { type: 'tmpfs', o: 'size=1m' } }, theirs: { external: true } },
};
const granted = grantedOf(model, '/release');
const volume = (name: string, options: Record<string, string> = {}, driver = 'local') => ({ name, driver, options });
const hide = (fact: string) => `hidden ${fact}`;

it.each([
  ['the same', volume('p_data'), false],
  ['of another driver', volume('p_data', {}, 'nfs'), true],
  ['with an option more', volume('p_data', { size: '1m' }), true],
  ['with all options', volume('p_cache', { o: 'size=1m', type: 'tmpfs' }), false],
  ['with another value', volume('p_cache', { o: 'size=2m', type: 'tmpfs' }), true],
  ['with an option less', volume('p_cache', { type: 'tmpfs' }), true],
  ['of somebody else', volume('theirs', { size: '1m' }), false],
  ['of no model', volume('p_other', { size: '1m' }), false],
])('a volume that is %s', (_title, made, otherwise) => {
  expect(isMadeOtherwise(granted, made, hide)).toBe(otherwise);
});

it('knows an option that holds a secret', () => {
  const allowance = { may: ['driver local', 'hidden option o=password'], must: [] };
  const secret = { ...granted, volumes: { p_data: allowance } };
  expect(isMadeOtherwise(secret, volume('p_data', { o: 'password' }), hide)).toBe(false);
  expect(isMadeOtherwise(secret, volume('p_data', { o: 'another' }), hide)).toBe(true);
});

it('knows the containers that use a volume or a network', () => {
  const container = { Mounts: [{ Name: 'v' }], NetworkSettings: { Networks: { n: {} } } } as unknown as Creation;
  expect(uses(container, { volumes: ['v'], networks: [] })).toBe(true);
  expect(uses(container, { volumes: ['n'], networks: ['n'] })).toBe(true);
  expect(uses(container, { volumes: ['n'], networks: ['v'] })).toBe(false);
});
