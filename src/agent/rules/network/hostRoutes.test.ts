import { parseSubnet } from './subnet.ts';
import { overlappingRoute, parseRoutes } from './hostRoutes.ts';

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
].join('');
const none = '0'.repeat(32);
const table6 = [
  `fd12345600000000${'0'.repeat(16)} 40 ${none} 00 ${none} 00000100 00000001 00000000 00000001     eth0\n`,
  `${none} 00 ${none} 00 fd000000000000000000000000000001 00000400 00000003 00000000 00000003     eth0\n`,
].join('');
const routes = parseRoutes(table4, table6);

describe('the routes of a host (spec §12.2)', () => {
  it('exclude rejected routes, default routes in effect and bridges of engines', () => {
    expect(routes.map(({ cidr, device }) => `${cidr} ${device}`)).toEqual([
      '192.168.7.0/24 eth0',
      '10.8.0.0/15 tun0',
      'fd12:3456::/64 eth0',
    ]);
  });

  it('are none without readable tables', () => {
    expect(parseRoutes('', '')).toEqual([]);
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
    expect(overlappingRoute(parseSubnet(subnet)!, routes)?.cidr).toBe(route);
  });
});
