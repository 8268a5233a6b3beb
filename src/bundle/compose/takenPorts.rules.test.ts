import { isTakenFor, parseListeners } from './networks.rules.ts';

const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const row = (local: string, state: string) =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 0 0 1 1\n`;
const user = 'a program on this host';

it.each<[string, 'tcp' | 'udp', string, { address: string; port: number }[]]>([
  ['a listener', 'tcp', row('0100007F:1538', '0A'), [{ address: '127.0.0.1', port: 5432 }]],
  ['a listener on every address', 'tcp', row('00000000:0050', '0A'), [{ address: '0.0.0.0', port: 80 }]],
  ['a connection', 'tcp', row('0100007F:1538', '01'), []],
  [
    'a listener of IPv6',
    'tcp',
    row(`${'0'.repeat(24)}01000000:0050`, '0A'),
    [{ address: '0:0:0:0:0:0:0:1', port: 80 }],
  ],
  ['a listener on every address of IPv6', 'tcp', row(`${'0'.repeat(32)}:0050`, '0A'), [{ address: '::', port: 80 }]],
  [
    'a mapped address',
    'tcp',
    row(`${'0'.repeat(16)}FFFF00000100007F:0050`, '0A'),
    [{ address: '127.0.0.1', port: 80 }],
  ],
  ['a UDP socket without a peer', 'udp', row('3500007F:0035', '07'), [{ address: '127.0.0.53', port: 53 }]],
  ['a UDP socket with a peer', 'udp', row('3500007F:0035', '01'), []],
  ['a UDP socket on a port that the kernel chose', 'udp', row('00000000:8000', '07'), []],
  ['a line of something else', 'tcp', 'x\n', []],
])('reads a table of sockets: %s', (_title, protocol, table, expected) => {
  expect(parseListeners(head + table, protocol)).toEqual(expected.map((each) => ({ protocol, ...each, user })));
});

it.each([
  ['', '0.0.0.0', true],
  ['', '127.0.0.1', true],
  ['', '::', true],
  ['', '0:0:0:0:0:0:0:1', false],
  ['0.0.0.0', '127.0.0.1', true],
  ['0.0.0.0', '::', true],
  ['127.0.0.1', '127.0.0.1', true],
  ['127.0.0.1', '0.0.0.0', true],
  ['127.0.0.1', '127.0.0.2', false],
  ['127.0.0.1', '::', false],
  ['::1', '::', true],
  ['::1', '0.0.0.0', false],
])('binding %j while another socket is on %j fails: %j', (wanted, taken, expected) => {
  expect(isTakenFor(wanted, taken)).toBe(expected);
});
