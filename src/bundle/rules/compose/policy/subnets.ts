import { overlappingRoute } from '../../network/hostRoutes.ts';
import { parseAddress, contains, parseSubnet, type Subnet } from '../../network/subnet.ts';
import { printable } from '../../../../protocol/printable.ts';
import { refusePrivilege, refusePrivilegeOver, type Finding, type Validator, type ValueLocation } from './finding.ts';
import { oneOfKinds, mappingOf, mapOf, text } from './validators.ts';
import { valueAt, entriesOf, isText, type ComposeNode, type Scalar } from '../document/composeNode.ts';

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
  const written = valueAt(value, 'subnet');
  const subnet = isText(written) ? parseSubnet(written.text) : null;
  const auxiliary = entriesOf(valueAt(value, 'aux_addresses')).map(([, one]) => one);
  const inner = [valueAt(value, 'gateway'), valueAt(value, 'ip_range'), ...auxiliary].filter(isText);
  const outside = inner.filter(({ text }) => text !== '' && !(subnet && isInside(text, subnet)));
  return [
    ...(isText(written) ? validateSubnet(written, subnet, location) : []),
    ...outside.flatMap((one) => refusePrivilege(one, location, `${printable(one.text)} is outside the subnet`)),
  ];
}

/** A subnet that overlaps a route of the host would divert the host's traffic to the bridge. */
function validateSubnet(written: Scalar, subnet: Subnet | null, location: ValueLocation): Finding[] {
  if (!subnet || !isPrivate(subnet)) return refusePrivilege(written, location, `subnet ${printable(written.text)}`);
  const route = overlappingRoute(subnet, location.facts.routes ?? []);
  return route
    ? refusePrivilegeOver(written, location, `takes addresses of the host's route ${route.cidr} (${route.device})`)
    : [];
}

/** Whether a text is a subnet that a bundle's networks may have. */
export function isPrivateSubnet(text: string): boolean {
  const subnet = parseSubnet(text);
  return subnet !== null && isPrivate(subnet);
}

function isPrivate(subnet: Subnet): boolean {
  return subnet.prefix >= shortestPrefix[subnet.family] && privateRanges.some((each) => contains(each, subnet));
}

function isInside(written: string, subnet: Subnet): boolean {
  const inner = written.includes('/') ? parseSubnet(written) : parseAddress(written);
  return inner !== null && contains(subnet, inner);
}
