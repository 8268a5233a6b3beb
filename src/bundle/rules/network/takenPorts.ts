import { formatAddress, type Subnet } from './subnet.ts';

/** A port of this host that is in use. */
export interface TakenPort {
  protocol: string;
  /** `0.0.0.0` or `::` for every address. */
  address: string;
  port: number;
  /** Who uses it: `container db`, `a program on this host`. */
  user: string;
}

const listening = '0A';
/** State of a UDP socket without a peer. */
const unconnected = '07';
/** From here on the kernel gives ports to sockets that ask for none, so that their use may end at any time. */
const firstEphemeralPort = 32_768;

/** The sockets that listen, in a table such as `/proc/net/tcp6`; of UDP those below the ports that the kernel hands out. */
export function parseListeners(table: string, protocol: 'tcp' | 'udp'): TakenPort[] {
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/);
    const [, hex = '', portHex = ''] = /^([\dA-F]{8}|[\dA-F]{32}):([\dA-F]{4})$/.exec(local) ?? [];
    const port = parseInt(portHex, 16);
    const isListening = protocol === 'tcp' ? state === listening : state === unconnected && port < firstEphemeralPort;
    return isListening && port > 0 ? [{ protocol, address: addressOf(hex), port, user: 'a program on this host' }] : [];
  });
}

/** The kernel writes each four bytes of an address in the order of the machine, which is little endian on all that we support. */
function addressOf(hex: string): string {
  const bytes = [...hex.matchAll(/../g)].map(([byte]) => byte);
  const words = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.slice(4 * at, 4 * at + 4).toReversed());
  const ordered = words.flat().join('');
  const mapped = /^0{20}ffff(.{8})$/i.exec(ordered)?.[1];
  const first = BigInt(`0x${mapped ?? ordered}`);
  const family: Subnet['family'] = mapped !== undefined || ordered.length === 8 ? 4 : 6;
  if (family === 6 && first === 0n) return '::';
  return formatAddress({ family, first, prefix: family === 4 ? 32 : 128 });
}

/**
 * Whether the engine cannot bind an address ('' for every address) while another socket has the same port. A socket on `::` is
 * taken for one that accepts IPv4 too, which it is by default, but where a single address is asked for.
 */
export function isTakenFor(wanted: string, taken: string): boolean {
  const [isWanted6, isTaken6] = [wanted.includes(':'), taken.includes(':')];
  const isAny = taken === '' || taken === '0.0.0.0' || taken === '::';
  if (wanted === '') return !isTaken6 || isAny;
  if (wanted === '0.0.0.0') return !isTaken6 || isAny;
  if (isWanted6) return taken === wanted || (isTaken6 && (isAny || wanted === '::'));
  return taken === wanted || taken === '0.0.0.0' || taken === '';
}
