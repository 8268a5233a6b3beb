import { contains, overlappingRoute, parseAddress, parseRoutes, parseSubnet, subnetFrom } from './networks.rules.ts';

it.each([
  ['0.0.0.0', 4, 0n],
  ['255.255.255.255', 4, 0xffffffffn],
  ['10.99.199.249', 4, 0x0a63c7f9n],
  ['::', 6, 0n],
  ['::1', 6, 1n],
  ['1::', 6, 1n << 112n],
  ['fd12:3456::aBcD', 6, 0xfd12345600000000000000000000abcdn],
  ['1:2:3:4:5:6:7:8', 6, 0x10002000300040005000600070008n],
  ['1:2:3:4::6:7:8', 6, 0x10002000300040000000600070008n],
])('%s is the address of family %i with the number %i', (text, family, first) => {
  expect(parseAddress(text)).toEqual({ family, first, prefix: family === 4 ? 32 : 128 });
});

it.each([
  ...[
    '',
    'x',
    '1.2.3',
    '1.2.3.4.',
    '1.2.3.4.5',
    '.1.2.3.4',
    '256.1.1.1',
    '260.1.1.1',
    '300.1.1.1',
    '01.2.3.4',
    '1.2.3.4 ',
  ],
  ...[':', ':::', '1::2::3', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4::5:6:7:8', '12345::', 'g::', '::1%eth0'],
  ...['1:::2', ':1::', '::ffff:1.2.3.4', ' ::1', '::1\n'],
])('%j is not an address', (text) => {
  expect(parseAddress(text)).toBeNull();
});

it.each([
  ['10.1.2.3/8', 4, 10n << 24n, 8],
  ['10.1.2.3/32', 4, 0x0a010203n, 32],
  ['10.1.2.3/0', 4, 0n, 0],
  ['fd12::1/64', 6, 0xfd12n << 112n, 64],
  ['::1/128', 6, 1n, 128],
])('%s is the subnet of family %i from %i with the prefix %i', (text, family, ...[first, prefix]) => {
  expect(parseSubnet(text)).toEqual({ family, first, prefix });
});

it.each([
  '',
  '10.1.2.3',
  '10.1.2.3/33',
  '::/129',
  '::/1000',
  '10.1.2.3/8x',
  '10.1.2.3/',
  '/8',
  'x10.1.2.3/8',
  '10.0.0.0/8/8',
  'x/10.0.0.0/8',
  '10.1.2.3/-1',
])('%j is not a subnet', (text) => {
  expect(parseSubnet(text)).toBeNull();
});

it.each([
  ['10.0.0.0/8', '10.1.0.0/16', true],
  ['10.0.0.0/8', '10.0.0.0/8', true],
  ['10.1.0.0/16', '10.0.0.0/8', false],
  ['10.0.0.0/16', '10.0.0.0/8', false],
  ['10.0.0.0/8', '11.0.0.0/16', false],
  ['0.0.0.0/0', '255.0.0.0/8', true],
  ['0.0.0.0/0', '::/0', false],
  ['fd00::/8', 'fd12::/64', true],
])('%s contains %s: %j', (outer, inner, expected) => {
  expect(contains(parseSubnet(outer)!, parseSubnet(inner)!)).toBe(expected);
});

it('takes the subnet around an address', () => {
  expect(subnetFrom(parseAddress('192.168.7.130')!, 25)).toEqual(parseSubnet('192.168.7.128/25'));
});

const head = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n';
const line = (device: string, destination: string, mask: string, flags = '0001') =>
  `${device}\t${destination}\t00000000\t${flags}\t0\t0\t0\t${mask}\t0\t0\t0   \n`;
const table4 = [
  head,
  line('eth0', '00000000', '00000000'),
  line('eth0', '0007A8C0', '00FFFFFF'),
  line('tun0', '0000080A', '0000FEFF'),
  line('tun1', '00000000', '00000080'),
  line('tun1', '00000080', '00000080'),
  line('*', '0000640A', '0000FFFF', '0201'),
  line('docker_gwbridge', '000012AC', '0000FFFF'),
  line('br-5dd2a988a275', '0000D50A', 'C0FFFFFF'),
  line('docker0', '000011AC', '0000FFFF'),
  line('docker10', '000011AC', '0000FFFF'),
  line('podman10', '000011AC', '0000FFFF'),
  line('cni-podman0', '000011AC', '0000FFFF'),
  line('mydocker0', '00000079', '000000FF'),
  line('docker0.5', '0000007A', '000000FF'),
].join('');
const none = '0'.repeat(32);
const line6 = (destination: string, bits: string, flags = '00000001') =>
  `${destination} ${bits} ${none} 00 ${none} 00000400 00000001 00000000 ${flags}     eth0 \n`;
const table6 = [
  line6(`fd12345600000000${'0'.repeat(16)}`, '40'),
  line6(none, '00', '00000003'),
  line6(`fe${'0'.repeat(30)}`, '08'),
  line6(`fd1200000000000a${'0'.repeat(16)}`, '40', '00000201'),
  line6(`fd1200000000000b0000${'0'.repeat(11)}1`, '80'),
].join('');
const parseTables = () => parseRoutes(table4, table6);

describe('the routes of a host (spec §12.2)', () => {
  it('exclude rejected routes, default routes in effect and bridges of engines', () => {
    expect(parseTables().map(({ cidr, device }) => `${cidr} ${device}`)).toEqual([
      '192.168.7.0/24 eth0',
      '10.8.0.0/15 tun0',
      '121.0.0.0/8 mydocker0',
      '122.0.0.0/8 docker0.5',
      'fd12:3456::/64 eth0',
      'fe00::/8 eth0',
      'fd12:0:0:b:0:0:0:1/128 eth0',
    ]);
  });

  it('are missing without readable tables', () => {
    expect(parseRoutes('', '')).toEqual([]);
    expect(parseRoutes(`${head} \n`, ' \n')).toEqual([]);
  });

  it.each([
    ['192.168.7.128/25', '192.168.7.0/24'],
    ['192.168.0.0/16', '192.168.7.0/24'],
    ['10.9.200.0/24', '10.8.0.0/15'],
    ['fd12:3456::/48', 'fd12:3456::/64'],
    ['10.10.0.0/24', undefined],
    ['10.213.0.0/24', undefined],
    ['fd12:3456:0:1::/64', undefined],
  ])('%s overlaps %s', (subnet, route) => {
    expect(overlappingRoute(parseSubnet(subnet)!, parseTables())?.cidr).toBe(route);
  });
});
