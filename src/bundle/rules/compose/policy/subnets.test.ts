import { refusalsOf, serviceWith } from '../../../../../fixtures/corpus/bundleRefusals.ts';
import { isPrivateSubnet } from './subnets.ts';

const findingsOf = async (compose: string) =>
  (await refusalsOf({ compose, secrets: ['V'] })).map(({ code, detail }) => `${code}: ${detail}`);
const needsPrivilege = (...findings: string[]) => [
  `PRIVILEGED_REFUSED: ${findings.map((finding) => `${finding} (compose.yaml:2)`).join('; ')}`,
];
const refusalsOfPrivileged = async (compose: string) => refusalsOf({ compose, secrets: ['V'], allowPrivileged: true });
const networkWith = (config: string) => `services: {web: {image: app:1, networks: [n]}}\nnetworks: {n: {${config}}}\n`;
const subnet = (text: string) => networkWith(`ipam: {config: [{subnet: "${text}"}]}`);

describe('subnets and addresses that the host reaches elsewhere (spec §12.2)', () => {
  it.each([
    ...['0.0.0.0/0', '0.0.0.0/1', '10.0.0.0/8', '127.0.0.0/24', '169.254.0.0/24', '224.0.0.0/24', '8.8.8.0/24'],
    ...['172.16.0.0/12', '1.1.1.1/32', '::/0', 'fe80::/64', '::1/128', 'fd00::/8', '2001:db8::/64', 'ff02::/64'],
    ...['::ffff:10.0.0.0/112', '${NET:-10.1.0.0/24}', '010.1.0.0/24', '10.1.0.0', 'x'],
  ])('need a privilege: subnet %s', async (text) => {
    expect(isPrivateSubnet(text)).toBe(false);
    expect(await findingsOf(subnet(text))).toEqual(needsPrivilege(`network n: ipam.config subnet ${text}`));
    expect(await refusalsOfPrivileged(subnet(text))).toMatchObject([]);
  });

  it.each([
    ['gateway: 10.1.0.1', '10.1.0.1'],
    ['subnet: 10.1.0.0/24, gateway: 192.168.1.1', '192.168.1.1'],
    ['subnet: 10.1.0.0/24, gateway: x', 'x'],
    ['subnet: 10.1.0.0/24, gateway: "${V}"', '${V}'],
    ['subnet: 10.1.0.0/24, ip_range: 10.0.0.0/8', '10.0.0.0/8'],
    [
      'subnet: 10.1.0.0/24, ip_range: 10.1.1.0/25, aux_addresses: {a: 10.2.0.9, b: 10.1.0.9}',
      '10.1.1.0/25',
      '10.2.0.9',
    ],
  ])('need a privilege: {%s}', async (config, ...outside) => {
    const compose = networkWith(`ipam: {config: [{${config}}]}`);
    const findings = outside.map((each) => `network n: ipam.config ${each} is outside the subnet`);
    expect(await findingsOf(compose)).toEqual(needsPrivilege(...findings));
    expect(await refusalsOfPrivileged(compose)).toMatchObject([]);
  });

  it.each(['10.213.240.0/24', '172.28.0.0/16', '192.168.7.128/25', 'fd12:3456:789a::/48', 'fd12:3456:789a::/64'])(
    'are allowed: subnet %s',
    async (text) => {
      expect(isPrivateSubnet(text)).toBe(true);
      expect(await findingsOf(subnet(text))).toEqual([]);
    },
  );

  it.each([
    ['[]', 'ipam.config must be a mapping'],
    ['{subnet: ~, gateway: ~}', 'ipam.config.gateway must be text'],
    ['{subnet: [a], gateway: [b]}', 'ipam.config.gateway must be text'],
    ['{a: b}', 'ipam.config.a is not a known key'],
  ])('are refused: %s', async (config, finding) => {
    const [first] = await findingsOf(networkWith(`ipam: {config: [${config}]}`));
    expect(first).toContain(`network n: ${finding} (compose.yaml:2)`);
  });

  it.each([
    networkWith(
      'ipam: {config: [{subnet: 10.1.0.0/24, gateway: 10.1.0.1, ip_range: 10.1.0.128/25, aux_addresses: {a: 10.1.0.9}}]}',
    ),
    networkWith('ipam: {config: []}'),
    networkWith('ipam: {config: [{subnet: 10.1.0.0/24, gateway: ""}, {aux_addresses: {}}]}'),
    serviceWith('networks: {n: {link_local_ips: []}}'),
    serviceWith('network_mode: none'),
  ])('are allowed: %s', async (compose) => {
    expect(await findingsOf(compose)).toEqual([]);
  });
});
