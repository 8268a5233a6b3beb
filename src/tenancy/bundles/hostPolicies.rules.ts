import { formatRefusal, type Refusal, type RefusalCode } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import type { BundleContents } from '../../bundle/archive/inventory.rules.ts';
import { limitDetails } from '../../bundle/archive/archiveEntries.rules.ts';
import type { CheckInRequest, ReportedPolicy } from '../../api/checkIn.rules.ts';
import { denials, type HostPolicy, permitKeys } from '../../api/hostPolicy.rules.ts';
import { printable } from '../../core/text.rules.ts';
import type { BundleRow } from '../store/database.ts';

/** Normalizes the policy that a host reported, without the parts that this service does not know. */
export function policyOf({ permit = {}, deny = [], images }: Omit<ReportedPolicy, 'limits'>): HostPolicy {
  const permits = permitKeys.flatMap((key) => (permit[key] === undefined ? [] : [[key, permit[key].toSorted()]]));
  return {
    permit: Object.fromEntries(permits) as HostPolicy['permit'],
    deny: denials.filter((denial) => deny.includes(denial)),
    images: images === 'digest' ? 'digest' : 'any',
  };
}

/** True if the policy that a host reported denies a return to older content. */
export function deniesRollback({ policy }: Pick<CheckInRequest, 'policy'>): boolean {
  return policy?.deny?.includes('rollback') ?? false;
}

/** The sequence under which the content of a bundle was first deployed: a rollback repeats an earlier sequence's content. */
export function contentSequence({ sequence, returns_to }: Pick<BundleRow, 'sequence' | 'returns_to'>): number {
  return returns_to ?? sequence;
}

/** The settings that an administrator recorded for the hosts of an environment. */
export interface ExpectedSettings {
  threshold: number;
  /** As hosts report them: keys by fingerprint, and identities. */
  signers: readonly string[];
  /** Sha256 of the trust root for identities, as hosts report it; compared only if it was recorded. */
  root?: string | null;
  /** Compared only if it was recorded. */
  policy?: HostPolicy | undefined;
  /** Maintenance windows as text; compared only if they were recorded. */
  windows?: readonly string[] | undefined;
}

/**
 * How the settings of a host differ from the recorded ones, in one line. Null without a difference, and for parts that
 * an older agent does not report.
 */
export function settingsDifference(checkIn: CheckInRequest | null, expected: ExpectedSettings): string | null {
  const { trust, policy, windows } = checkIn ?? {};
  const differences = [
    ...(trust === undefined ? [] : trustDifferences(trust.bundles, expected)),
    ...(policy === undefined || !expected.policy ? [] : policyDifferences(policyOf(policy), policyOf(expected.policy))),
    ...(windows === undefined || !expected.windows
      ? []
      : listDifferences(windows, expected.windows, ['has the additional window', 'lacks the window'])),
  ];
  return differences.length === 0 ? null : differences.join('; ');
}

function trustDifferences(
  told: NonNullable<CheckInRequest['trust']>['bundles'],
  { threshold, signers, root = null }: ExpectedSettings,
): string[] {
  if (told === null) return ['the host requires no signatures of bundles, but its environment does'];
  return [
    ...(told.threshold === threshold ? [] : [`threshold ${told.threshold} instead of ${threshold}`]),
    ...listDifferences([...told.keys, ...told.identities], signers, ['also trusts', 'does not trust']),
    ...(root === null || told.root === root ? [] : [`trust root sha256 ${told.root ?? 'none'} instead of ${root}`]),
  ];
}

function policyDifferences(own: HostPolicy, expected: HostPolicy): string[] {
  const permits = ({ permit }: HostPolicy) =>
    permitKeys.flatMap((key) => (permit[key] ?? []).map((entry) => `${key} ${entry}`));
  return [
    ...listDifferences(permits(own), permits(expected), ['also permits', 'does not permit']),
    ...listDifferences(own.deny, expected.deny, ['also denies', 'does not deny']),
    ...(own.images === expected.images ? [] : [`images ${own.images} instead of ${expected.images}`]),
  ];
}

function listDifferences(
  own: readonly string[],
  expected: readonly string[],
  [more, less]: readonly [more: string, less: string],
): string[] {
  return [
    ...own.filter((each) => !expected.includes(each)).map((each) => `${more} ${printable(each)}`),
    ...expected.filter((each) => !own.includes(each)).map((each) => `${less} ${each}`),
  ];
}

/** The refusals that hold for all hosts: the faults of `first` that are in all `others` too. */
export function commonRefusals(first: Refusal[], others: Refusal[][]): Refusal[] {
  const isCommon = others.map((refusals) => new Set(refusals.flatMap(faultsOf)));
  return first.flatMap((refusal) => withFaults(refusal, (fault) => isCommon.every((known) => known.has(fault))));
}

/** The refusals by hosts with this policy, without the refusals that hold for all hosts. */
export function policyWarnings(
  policy: HostPolicy,
  refusals: Refusal[],
  { manifest, common }: { manifest: Manifest; common: Refusal[] },
): HostWarning[] {
  const known = new Set(common.flatMap(faultsOf));
  const own = refusals.flatMap((refusal) => withFaults(refusal, (fault) => !known.has(fault)));
  const warnings = own.map((refusal) => ({ code: refusal.code, detail: formatRefusal(refusal) }));
  const isRollbackDenied = manifest.agent.allow_rollback && policy.deny.includes('rollback');
  return isRollbackDenied ? [...warnings, rollbackWarning] : warnings;
}

const rollbackWarning: HostWarning = {
  code: 'ROLLBACK_REFUSED',
  detail: 'agent.allow_rollback does not count (policy.deny: rollback), so a way back is',
};

/** Returns each fault with its code as one text. */
function faultsOf(refusal: Refusal): string[] {
  return textsOf(refusal).map((text) => `${refusal.code} ${text}`);
}

function textsOf({ detail, faults }: Refusal): string[] {
  return faults?.map(({ text }) => text) ?? [detail];
}

/** Returns the refusal with only the selected faults; nothing if none is selected. */
function withFaults(refusal: Refusal, isKept: (fault: string) => boolean): Refusal[] {
  const kept = textsOf(refusal).filter((text) => isKept(`${refusal.code} ${text}`));
  if (kept.length === 0) return [];
  const faults = refusal.faults?.filter(({ text }) => kept.includes(text));
  return [{ code: refusal.code, detail: kept.join('; '), ...(faults && { faults }) }];
}

/**
 * The sizes that hosts compare with their limits: bytes of the archive and of its files, and the number of files and
 * directories.
 */
export type BundleSize = ReportedPolicy['limits'];

/** A reason why a host would refuse a bundle. */
interface HostWarning {
  code: RefusalCode;
  detail: string;
}

/** A host that would refuse a bundle. */
export interface RefusingHost extends HostWarning {
  /** Id of its backend. */
  id: string;
  /** The name that the host reported. */
  name: string;
}

/** The size of a bundle, from its archive and its content. */
export function bundleSizeOf({ files, directories }: BundleContents, archiveBytes: number): BundleSize {
  return {
    bundle_bytes: archiveBytes,
    unpacked_bytes: files.reduce((sum, { size }) => sum + size, 0),
    bundle_entries: files.length + directories.length,
  };
}

/** The reason why a host with these limits would refuse a bundle, in its agent's words; null if it would not. */
export function exceededLimit(size: BundleSize, { limits }: ReportedPolicy): string | null {
  if (size.bundle_bytes > limits.bundle_bytes) return limitDetails.bundle_bytes(limits.bundle_bytes, size.bundle_bytes);
  for (const name of ['bundle_entries', 'unpacked_bytes'] as const) {
    if (size[name] > limits[name]) return limitDetails[name](limits[name]);
  }
  return null;
}

/** Formats one warning for each distinct refusal, with the affected hosts. */
export function formatHostWarnings(hosts: RefusingHost[]): string[] {
  const byRefusal = Map.groupBy(hosts, ({ code, detail }) => `${code}: ${detail}`);
  return [...byRefusal].map(([refusal, refusing]) => `${refusal}: refused by ${formatNames(refusing)}`);
}

/** Largest number of hosts that a warning names; it counts the rest. */
const maxNamed = 10;

function formatNames(hosts: RefusingHost[]): string {
  const names = hosts.slice(0, maxNamed).map(({ name, id }) => `${printable(name)} (${id})`);
  const others = hosts.length - names.length;
  return [...names, ...(others > 0 ? [`and ${others} more`] : [])].join(', ');
}
