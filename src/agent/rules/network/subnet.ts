/** Addresses that have their first bits in common. */
export interface Subnet {
  family: 4 | 6;
  /** The first address as a number. */
  first: bigint;
  prefix: number;
}

const bitsOf = { 4: 32, 6: 128 } as const;

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
