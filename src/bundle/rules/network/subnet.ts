/** A CIDR subnet. */
export interface Subnet {
  family: 4 | 6;
  /** Its first address as a number. */
  first: bigint;
  prefix: number;
}

const addressBits = { 4: 32, 6: 128 } as const;

/** Parses CIDR notation in the form that all tools parse alike; null for any other text. */
export function parseSubnet(text: string): Subnet | null {
  const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const found = parseAddress(address);
  if (found === null || Number(bits) > addressBits[found.family]) return null;
  return subnetFrom(found, Number(bits));
}

/** The subnet with this prefix length that contains the address. */
export function subnetFrom({ family, first }: Subnet, prefix: number): Subnet {
  const hostBits = BigInt(addressBits[family] - prefix);
  return { family, first: (first >> hostBits) << hostBits, prefix };
}

/** Parses an address as a subnet of one address; null for any text that not all tools parse alike. */
export function parseAddress(text: string): Subnet | null {
  if (/^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/.test(text)) {
    return { family: 4, first: toBigInt(text.split('.').map(Number), 8n), prefix: 32 };
  }
  const groups = parseIpv6Groups(text);
  return groups && { family: 6, first: toBigInt(groups, 16n), prefix: 128 };
}

/** True when `outer` contains every address of `inner`. */
export function contains(outer: Subnet, inner: Subnet): boolean {
  if (outer.family !== inner.family || outer.prefix > inner.prefix) return false;
  return subnetFrom(inner, outer.prefix).first === outer.first;
}

/** The first address as text, without abbreviations. */
export function formatAddress({ family, first }: Subnet): string {
  const groupBits = family === 4 ? 8n : 16n;
  const count = family === 4 ? 4 : 8;
  const mask = (1n << groupBits) - 1n;
  const groups = Array.from({ length: count }, (_, index) => (first >> (groupBits * BigInt(count - 1 - index))) & mask);
  return family === 4 ? groups.join('.') : groups.map((group) => group.toString(16)).join(':');
}

function parseIpv6Groups(text: string): number[] | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - head.length - tail.length;
  const isWhole = halves.length === 1 ? missing === 0 : missing > 0;
  const groups = [...head, ...Array<string>(Math.max(0, missing)).fill('0'), ...tail];
  return isWhole && groups.every((group) => /^[\da-f]{1,4}$/i.test(group))
    ? groups.map((group) => parseInt(group, 16))
    : null;
}

function toBigInt(parts: number[], bits: bigint): bigint {
  return parts.reduce((sum, part) => (sum << bits) | BigInt(part), 0n);
}
