import { refusalsOf, serviceWith } from '../../../../fixtures/corpus/judged.ts';

const codesOf = async (compose: string) => (await refusalsOf({ compose })).map(({ code }) => code);
const lifted = async (compose: string) => refusalsOf({ compose, allowPrivileged: true });
const networkWith = (config: string) => `services: {web: {image: app:1, networks: [n]}}\nnetworks: {n: {${config}}}\n`;
const subnet = (text: string) => networkWith(`ipam: {config: [{subnet: "${text}"}]}`);

describe('power over the host’s network and its neighbours (spec §12.2)', () => {
  it.each([
    ...['0.0.0.0/0', '0.0.0.0/1', '10.0.0.0/8', '127.0.0.0/24', '169.254.0.0/24', '224.0.0.0/24', '8.8.8.0/24'],
    ...['172.16.0.0/12', '1.1.1.1/32', '::/0', 'fe80::/64', '::1/128', 'fd00::/8', '2001:db8::/64', 'ff02::/64'],
    ...['::ffff:10.0.0.0/112', '${NET:-10.1.0.0/24}', '010.1.0.0/24', '10.1.0.0', 'x'],
  ])('a subnet of %s', async (text) => {
    expect(await codesOf(subnet(text))).toEqual(['PRIVILEGED_REFUSED']);
    expect(await lifted(subnet(text))).toEqual([]);
  });

  it.each([
    networkWith('ipam: {config: [{gateway: 10.1.0.1}]}'),
    networkWith('ipam: {config: [{subnet: 10.1.0.0/24, gateway: 192.168.1.1}]}'),
    networkWith('ipam: {config: [{subnet: 10.1.0.0/24, ip_range: 10.0.0.0/8}]}'),
    networkWith('ipam: {config: [{subnet: 10.1.0.0/24, aux_addresses: {a: 10.2.0.9}}]}'),
    serviceWith('networks: {n: {link_local_ips: [169.254.169.254]}}'),
    serviceWith('network_mode: bridge'),
  ])('%s', async (compose) => {
    expect(await codesOf(compose)).toEqual(['PRIVILEGED_REFUSED']);
    expect(await lifted(compose)).toEqual([]);
  });

  it.each(['10.213.240.0/24', '172.28.0.0/16', '192.168.7.128/25', 'fd12:3456:789a::/64'])(
    '%s may be',
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
  ])('%s may be', async (compose) => {
    expect(await codesOf(compose)).toEqual([]);
  });
});

describe('a group of the host as that of the user (spec §12.2)', () => {
  it.each(['1000:docker', '0:999', ':998', 'app:"999"', '1000:+999', '1000:0999', '${X:-1000}', '1000:${G:-1000}'])(
    'user: %s',
    async (user) => {
      const compose = serviceWith(`user: '${user}'`);
      expect(await codesOf(compose)).toEqual(['PRIVILEGED_REFUSED']);
      expect(await lifted(compose)).toEqual([]);
      expect(await codesOf(serviceWith(`post_start: [{command: a, user: '${user}'}]`))).toEqual(['PRIVILEGED_REFUSED']);
    },
  );

  it.each(['root', '0', '0:0', 'root:root', '1000', '999', '1000:1000', 'app:app', 'nobody:nogroup'])(
    'user: "%s" may be',
    async (user) => {
      expect(await codesOf(serviceWith(`user: "${user}"`))).toEqual([]);
    },
  );
});
