import type { ReportOutcome } from '../../../../machines/endings.ts';
import type { Report } from '../../../protocol/report.ts';
import type { EventType } from '../../../protocol/webhooks.ts';

/** The trouble that a report tells: the same one for each report of the same outcome with the same desired bundle; null for none. */
export function troubleOf({ outcome, desired_sha }: Pick<Report, 'outcome' | 'desired_sha'>): string | null {
  return outcome in troubles ? `${outcome} ${desired_sha ?? 'none'}` : null;
}

/** The outcome of the report that told of a trouble. */
export function outcomeOfTrouble(trouble: string): string {
  return trouble.split(' ', 1)[0] ?? trouble;
}

/** The event of a report that has changed the trouble of its backend; null for one of a host that is taken down. */
export function eventOfReport(outcome: ReportOutcome): EventType | null {
  if (outcome === 'down') return null;
  return troubles[outcome] ?? 'backend.recovered';
}

const troubles: Partial<Record<ReportOutcome, EventType>> = {
  refused: 'backend.refused',
  failed: 'backend.failed',
  unhealthy: 'backend.unhealthy',
};
