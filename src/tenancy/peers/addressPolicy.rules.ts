import { BlockList, isIP, isIPv6 } from 'node:net';

/** Rules for the addresses of webhooks. */
export interface AddressPolicy {
  /** Whether loopback, private and shared addresses are allowed. */
  allowsPrivate: boolean;
  /** Allows only loopback, because nothing encrypts the call. */
  loopbackOnly: boolean;
}

/** Whether a webhook may be sent to a resolved address. */
export function isAllowedAddress(address: string, { allowsPrivate, loopbackOnly }: AddressPolicy): boolean {
  const isIn = (list: BlockList) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  if (isIn(never) || (loopbackOnly && !isIn(loopback))) return false;
  return allowsPrivate || !(isIn(loopback) || isIn(internal));
}

/** The rules for a URL: without TLS, only loopback. */
export function policyFor({ protocol }: URL, allowsPrivate: boolean): AddressPolicy {
  return { allowsPrivate, loopbackOnly: protocol !== 'https:' };
}

/** False for a URL that contains a forbidden address instead of a name. */
export function isAllowedHost({ hostname }: URL, policy: AddressPolicy): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 || isAllowedAddress(host, policy);
}

const loopback = blockList('127.0.0.0/8', '::1/128');

/**
 * Private, shared, unique local and test networks, and IPv6 ranges that embed IPv4 addresses, which lead to any of
 * these.
 */
const internal = blockList(
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '198.18.0.0/15',
  'fc00::/7',
  '64:ff9b::/96',
  '::ffff:0:0:0/96',
  '::/96',
);

/**
 * Addresses of cloud metadata, link-local or not; this host, multicast and reserved ranges; and tunnels that hide an
 * address.
 */
const never = blockList(
  '0.0.0.0/8',
  '169.254.0.0/16',
  '64:ff9b::169.254.0.0/112',
  '100.100.100.200/32',
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
  '192.0.0.0/24',
  '224.0.0.0/3',
  '::/128',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  '64:ff9b:1::/48',
  '2001::/32',
  '2002::/16',
);

function blockList(...networks: string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list;
}
