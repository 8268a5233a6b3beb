import { crossedBy } from '../network/hostRoutes.ts';
import { addressOf, holds, subnetOf, type Subnet } from '../network/subnet.ts';
import { printable } from '../../../protocol/printable.ts';
import { power, powerOver, type Finding, type Judge, type Place } from './finding.ts';
import { either, keys, map, text } from './shapes.ts';
import { at, entriesOf, textOf, type Tree } from './tree.ts';

/** What a bundle's networks may be made of: private addresses, and of them no more than an engine gives by itself. */
const pools = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fd00::/8'].flatMap((pool) => subnetOf(pool) ?? []);
const widest = { 4: 16, 6: 48 } as const;

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
      : crossing(subnet, own, place)),
    ...astray.flatMap((one) => power(one, place, `${shownText(one)} is outside the subnet`)),
  ];
}

/** What the host sends to addresses of its own it would send to the bridge. */
function crossing(value: Tree | undefined, subnet: Subnet | null, place: Place): Finding[] {
  const route = subnet && crossedBy(subnet, place.facts.routes ?? []);
  return value && route
    ? powerOver(value, place, `takes addresses of the host's route ${route.text} (${route.device})`)
    : [];
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
  return printable(textOf(tree) ?? '');
}
