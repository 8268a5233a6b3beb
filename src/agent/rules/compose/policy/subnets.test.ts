import { refusalsOf, serviceWith } from '../../../../../fixtures/corpus/bundleRefusals.ts';

const codesOf = async (compose: string) => (await refusalsOf({ compose })).map(({ code }) => code);
const refusalsOfPrivileged = async (compose: string) => refusalsOf({ compose, allowPrivileged: true });
const networkWith = (config: string) => `services: {web: {image: app:1, networks: [n]}}\nnetworks: {n: {${config}}}\n`;
const subnet = (text: string) => networkWith(`ipam: {config: [{subnet: "${text}"}]}`);

describe('subnets and addresses that the host reaches elsewhere (spec §12.2)', () => {
  it.each([
    ...['0.0.0.0/0', '0.0.0.0/1', '10.0.0.0/8', '127.0.0.0/24', '169.254.0.0/24', '224.0.0.0/24', '8.8.8.0/24'],
    ...['172.16.0.0/12', '1.1.1.1/32', '::/0', 'fe80::/64', '::1/128', 'fd00::/8', '2001:db8::/64', 'ff02::/64'],
    ...['::ffff:10.0.0.0/112', '${NET:-10.1.0.0/24}', '010.1.0.0/24', '10.1.0.0', 'x'],
  ])('need a privilege: subnet %s', async (text) => {
    expect(await codesOf(subnet(text))).toEqual(['PRIVILEGED_REFUSED']);
    expect(await refusalsOfPrivileged(subnet(text))).toEqual([]);
  });

  it.each([
    networkWith('ipam: {config: [{gateway: 10.1.0.1}]}'),
    networkWith('ipam: {config: [{subnet: 10.1.0.0/24, gateway: 192.168.1.1}]}'),
    networkWith('ipam: {config: [{subnet: 10.1.0.0/24, ip_range: 10.0.0.0/8}]}'),
    networkWith('ipam: {config: [{subnet: 10.1.0.0/24, aux_addresses: {a: 10.2.0.9}}]}'),
    serviceWith('networks: {n: {link_local_ips: [169.254.169.254]}}'),
    serviceWith('network_mode: bridge'),
  ])('need a privilege: %s', async (compose) => {
    expect(await codesOf(compose)).toEqual(['PRIVILEGED_REFUSED']);
    expect(await refusalsOfPrivileged(compose)).toEqual([]);
  });

  it.each(['10.213.240.0/24', '172.28.0.0/16', '192.168.7.128/25', 'fd12:3456:789a::/64'])(
    'are allowed: subnet %s',
    async (text) => {
      expect(await codesOf(subnet(text))).toEqual([]);
    },
  );

  it.each([
    networkWith(
      'ipam: {config: [{subnet: 10.1.0.0/24, gateway: 10.1.0.1, ip_range: 10.1.0.128/25, aux_addresses: {a: 10.1.0.9}}]}',
    ),
    networkWith('ipam: {config: []}'),
    serviceWith('networks: {n: {link_local_ips: []}}'),
    serviceWith('network_mode: none'),
  ])('are allowed: %s', async (compose) => {
    expect(await codesOf(compose)).toEqual([]);
  });
});
