import { formatRefusal, type Refusal } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import type { ReportedPolicy } from '../../protocol/checkIn.ts';
import { denials, permitKeys, type HostPolicy } from '../../protocol/hostPolicy.ts';
import type { HostWarning } from './hostWarnings.ts';

/** The policy that a host told, without what this service does not know of it, always written alike. */
export function policyOf({ permit = {}, deny = [], images }: Omit<ReportedPolicy, 'limits'>): HostPolicy {
  const permits = permitKeys.flatMap((key) => (permit[key] === undefined ? [] : [[key, permit[key].toSorted()]]));
  return {
    permit: Object.fromEntries(permits) as HostPolicy['permit'],
    deny: denials.filter((denial) => deny.includes(denial)),
    images: images === 'digest' ? 'digest' : 'any',
  };
}

/** The refusals that no host lifts: of `first` those faults that all others have too. */
export function commonRefusals(first: Refusal[], others: Refusal[][]): Refusal[] {
  const isCommon = others.map((refusals) => new Set(refusals.flatMap(faultsOf)));
  return first.flatMap((refusal) => withFaults(refusal, (fault) => isCommon.every((known) => known.has(fault))));
}

/** What hosts of a policy would refuse besides the refusals that no host lifts. */
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

/** Each fault with its code, as one text. */
function faultsOf(refusal: Refusal): string[] {
  return textsOf(refusal).map((text) => `${refusal.code} ${text}`);
}

function textsOf({ detail, faults }: Refusal): string[] {
  return faults?.map(({ text }) => text) ?? [detail];
}

/** The refusal with some of its faults; none without any. */
function withFaults(refusal: Refusal, isKept: (fault: string) => boolean): Refusal[] {
  const kept = textsOf(refusal).filter((text) => isKept(`${refusal.code} ${text}`));
  if (kept.length === 0) return [];
  const faults = refusal.faults?.filter(({ text }) => kept.includes(text));
  return [{ code: refusal.code, detail: kept.join('; '), ...(faults && { faults }) }];
}
