import type { RefusalCode } from '../../../machines/refusals.ts';
import { limitDetails } from '../../bundle/rules/archive/limitDetails.ts';
import type { BundleContents } from '../../bundle/rules/archive/inventory.ts';
import type { ReportedPolicy } from '../../protocol/checkIn.ts';
import { printable } from '../../protocol/printable.ts';

/** What hosts compare with their limits: bytes of the archive and of its files, number of files and directories. */
export type BundleSize = ReportedPolicy['limits'];

/** What a host would refuse. */
export interface HostWarning {
  code: RefusalCode;
  detail: string;
}

/** A host that would refuse a bundle. */
export interface RefusingHost extends HostWarning {
  /** Id of its backend. */
  id: string;
  /** As it calls itself. */
  name: string;
}

/** The size of a bundle by its archive and content. */
export function bundleSizeOf({ files, directories }: BundleContents, archiveBytes: number): BundleSize {
  return {
    bundle_bytes: archiveBytes,
    unpacked_bytes: files.reduce((sum, { size }) => sum + size, 0),
    bundle_entries: files.length + directories.length,
  };
}

/** Why a host with these limits would refuse a bundle, in the words of its agent; null if it would not. */
export function exceededLimit(size: BundleSize, { limits }: ReportedPolicy): string | null {
  if (size.bundle_bytes > limits.bundle_bytes) return limitDetails.bundle_bytes(limits.bundle_bytes, size.bundle_bytes);
  for (const name of ['bundle_entries', 'unpacked_bytes'] as const) {
    if (size[name] > limits[name]) return limitDetails[name](limits[name]);
  }
  return null;
}

/** One warning for each refusal, with the hosts that it is told of. */
export function formatHostWarnings(hosts: RefusingHost[]): string[] {
  const byRefusal = Map.groupBy(hosts, ({ code, detail }) => `${code}: ${detail}`);
  return [...byRefusal].map(([refusal, refusing]) => `${refusal}: refused by ${formatNames(refusing)}`);
}

/** Hosts that a warning names; it counts the others. */
const maxNamed = 10;

function formatNames(hosts: RefusingHost[]): string {
  const names = hosts.slice(0, maxNamed).map(({ name, id }) => `${printable(name)} (${id})`);
  const others = hosts.length - names.length;
  return [...names, ...(others > 0 ? [`and ${others} more`] : [])].join(', ');
}
