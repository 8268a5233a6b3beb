import { power, shown, type Finding, type Judge, type Place } from './finding.ts';
import { either, keys, map, text } from './shapes.ts';
import { at, entriesOf, textOf, type Tree } from './tree.ts';

/** Addresses that have their first bits in common. */
export interface Subnet {
  family: 4 | 6;
  /** The first address as a number. */
  first: bigint;
  prefix: number;
}

const bitsOf = { 4: 32, 6: 128 } as const;

/** What a bundle's networks may be made of: private addresses, and of them no more than an engine gives by itself. */
const pools = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fd00::/8'].flatMap((pool) => subnetOf(pool) ?? []);
const widest = { 4: 16, 6: 48 } as const;

/** A subnet in the spelling that all read alike, null for anything else. */
export function subnetOf(written: string): Subnet | null {
  const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(written) ?? [];
  const found = addressOf(address);
  if (found === null || Number(bits) > bitsOf[found.family]) return null;
  return subnetFrom(found, Number(bits));
}

/** The subnet of so many bits that an address lies in. */
export function subnetFrom({ family, first }: Subnet, prefix: number): Subnet {
  const rest = BigInt(bitsOf[family] - prefix);
  return { family, first: (first >> rest) << rest, prefix };
}

/** One address as a subnet of its own, null for what is none, or is written in a way that not all read alike. */
export function addressOf(written: string): Subnet | null {
  if (/^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/.test(written)) {
    return { family: 4, first: numberOf(written.split('.').map(Number), 8n), prefix: 32 };
  }
  const groups = groupsOf(written);
  return groups && { family: 6, first: numberOf(groups, 16n), prefix: 128 };
}

/** True where the first holds every address of the second. */
export function holds(outer: Subnet, inner: Subnet): boolean {
  if (outer.family !== inner.family || outer.prefix > inner.prefix) return false;
  return subnetFrom(inner, outer.prefix).first === outer.first;
}

function groupsOf(written: string): number[] | null {
  const halves = written.split('::');
  if (halves.length > 2 || !/^[\da-f:]+$/i.test(written)) return null;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - head.length - tail.length;
  const isWhole = halves.length === 1 ? missing === 0 : missing > 0;
  const groups = [...head, ...Array<string>(Math.max(0, missing)).fill('0'), ...tail];
  return isWhole && groups.every((group) => /^[\da-f]{1,4}$/i.test(group))
    ? groups.map((one) => parseInt(one, 16))
    : null;
}

function numberOf(parts: number[], bits: bigint): bigint {
  return parts.reduce((sum, each) => (sum << bits) | BigInt(each), 0n);
}

const pool = keys({ aux_addresses: map(text), gateway: text, ip_range: text, subnet: text });

/**
 * An entry of a network's `ipam`. A bridge takes all that the host sends to its subnet: only private addresses may be one,
 * and what else is said of it lies in it.
 */
export const subnetPool: Judge = either({ map: (value, place) => [...pool(value, place), ...judgePool(value, place)] });

function judgePool(value: Tree, place: Place): Finding[] {
  const subnet = at(value, 'subnet');
  const own = subnetOf(textOf(subnet) ?? '');
  const inner = ['gateway', 'ip_range'].flatMap((key) => at(value, key) ?? []);
  const others = [...inner, ...entriesOf(at(value, 'aux_addresses')).map(([, one]) => one)].filter((one) =>
    textOf(one),
  );
  const astray = others.filter((one) => !own || !isInside(textOf(one) ?? '', own));
  return [
    ...(subnet && textOf(subnet) !== null && !isHarmless(own)
      ? power(subnet, place, `subnet ${shownText(subnet)}`)
      : []),
    ...astray.flatMap((one) => power(one, place, `${shownText(one)} is outside the subnet`)),
  ];
}

function isHarmless(subnet: Subnet | null): boolean {
  if (!subnet || subnet.prefix < widest[subnet.family]) return false;
  return pools.some((each) => holds(each, subnet));
}

function isInside(written: string, subnet: Subnet): boolean {
  const inner = written.includes('/') ? subnetOf(written) : addressOf(written);
  return inner !== null && holds(subnet, inner);
}

function shownText(tree: Tree): string {
  return shown(textOf(tree) ?? '');
}
