import { contains, parseAddress, parseSubnet, subnetFrom } from './subnet.ts';

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
])('%j is no address', (text) => {
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
])('%j is no subnet', (text) => {
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
