import { resultOf } from '../../../fixtures/world/import/importing.ts';

const resultFor = (section: string, part: object) =>
  resultOf({ 'compose.yaml': `services: {a: {image: x}}\n${section}: {n: ${JSON.stringify(part)}}\n` });

it.each<[string, string, object, string]>([
  ['a share', 'volumes', { driver_opts: { type: 'cifs', o: 'password=hunter2', device: '//h/x' } }, 'shop_n'],
  [
    'a share with variables',
    'volumes',
    { driver_opts: { type: 'cifs', o: 'username=${U}', device: '//h/x' } },
    'shop_n',
  ],
  ['a volume of a plugin', 'volumes', { driver: 'rclone', name: 'own' }, 'own'],
  ['a network on a device of the host', 'networks', { driver: 'macvlan', driver_opts: { parent: 'eth0' } }, 'shop_n'],
  ['a network of public addresses', 'networks', { ipam: { config: [{ subnet: '172.50.0.0/16' }] } }, 'shop_n'],
])('%s comes from outside the project, under the name that compose gave it', (_title, section, part, name) => {
  const { top, changes, undecided } = resultFor(section, part);
  expect(top).toEqual({ [section]: { n: { name, external: true } } });
  const told = `is the ${section.slice(0, -1)} with the name ${name} from outside the project now`;
  expect(changes).toEqual([expect.stringContaining(told)]);
  expect(undecided).toEqual([]);
});

it.each<[string, object]>([
  ['volumes', { driver: 'local' }],
  ['volumes', { driver_opts: { type: 'none', o: 'bind', device: '/srv/x' } }],
  ['volumes', { driver_opts: { type: 'tmpfs', device: 'tmpfs', o: 'size=1m' } }],
  ['volumes', { external: true, name: 'media' }],
  ['networks', { driver: 'bridge', ipam: { config: [{ subnet: '10.9.0.0/24' }] } }],
])('%s: {n: %j} stays', (section, part) => {
  const { top, changes } = resultFor(section, part);
  expect(top).toEqual({ [section]: { n: part } });
  expect(changes).toEqual([]);
});

it('takes the name of a directory as compose does', () => {
  const compose = 'services: {a: {image: x}}\nvolumes: {n: {driver: nfs}}\n';
  const { top } = resultOf({ 'compose.yaml': compose }, { name: '_My.Shop-2' });
  expect(top).toEqual({ volumes: { n: { name: 'myshop-2_n', external: true } } });
});
