import { overlappingRoute } from '../../network/hostRoutes.ts';
import { parseAddress, contains, parseSubnet, type Subnet } from '../../network/subnet.ts';
import { printable } from '../../../../protocol/printable.ts';
import { refusePrivilege, refusePrivilegeOver, type Finding, type Validator, type ValueLocation } from './finding.ts';
import { oneOfKinds, mappingOf, mapOf, text } from './validators.ts';
import { valueAt, entriesOf, textOf, type ComposeNode } from '../document/composeNode.ts';

/** Ranges that a bundle's networks may use: private addresses. A subnet is at most as large as the engine's default. */
const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fd00::/8'].flatMap(
  (pool) => parseSubnet(pool) ?? [],
);
const shortestPrefix = { 4: 16, 6: 48 } as const;

const ipamConfigKeys = mappingOf({ aux_addresses: mapOf(text), gateway: text, ip_range: text, subnet: text });

/**
 * An entry of `ipam.config`. The bridge receives everything that the host sends to the subnet, so only private
 * addresses are allowed, and gateway, ranges and auxiliary addresses must be inside the subnet.
 */
export const ipamConfig: Validator = oneOfKinds({
  map: (value, location) => [...ipamConfigKeys(value, location), ...validateIpamConfig(value, location)],
});

function validateIpamConfig(value: ComposeNode, location: ValueLocation): Finding[] {
  const subnet = valueAt(value, 'subnet');
  const parsed = parseSubnet(textOf(subnet) ?? '');
  const inner = ['gateway', 'ip_range'].flatMap((key) => valueAt(value, key) ?? []);
  const others = [...inner, ...entriesOf(valueAt(value, 'aux_addresses')).map(([, one]) => one)].filter((one) =>
    textOf(one),
  );
  const outside = others.filter((one) => !parsed || !isInside(textOf(one) ?? '', parsed));
  return [
    ...(subnet && textOf(subnet) !== null && !isPrivateSubnet(parsed)
      ? refusePrivilege(subnet, location, `subnet ${printableText(subnet)}`)
      : hostRouteFindings(subnet, parsed, location)),
    ...outside.flatMap((one) => refusePrivilege(one, location, `${printableText(one)} is outside the subnet`)),
  ];
}

/** A subnet that overlaps a route of the host would divert the host's traffic to the bridge. */
function hostRouteFindings(value: ComposeNode | undefined, subnet: Subnet | null, location: ValueLocation): Finding[] {
  const route = subnet && overlappingRoute(subnet, location.facts.routes ?? []);
  return value && route
    ? refusePrivilegeOver(value, location, `takes addresses of the host's route ${route.cidr} (${route.device})`)
    : [];
}

function isPrivateSubnet(subnet: Subnet | null): boolean {
  if (!subnet || subnet.prefix < shortestPrefix[subnet.family]) return false;
  return privateRanges.some((each) => contains(each, subnet));
}

function isInside(written: string, subnet: Subnet): boolean {
  const inner = written.includes('/') ? parseSubnet(written) : parseAddress(written);
  return inner !== null && contains(subnet, inner);
}

function printableText(node: ComposeNode): string {
  return printable(textOf(node) ?? '');
}
