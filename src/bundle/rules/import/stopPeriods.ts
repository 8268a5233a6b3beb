import { printable } from '../../../protocol/printable.ts';
import { durationSeconds, maxGracePeriod_s } from '../compose/policy/quantities.ts';
import { tellChange, type ImportWork } from './importWork.ts';
import { servicePartsOf } from './services.ts';
import { newScalar, setValue, textAt, valueAt } from './yamlNodes.ts';

/** Shortens stop grace periods to the longest that a host waits for. */
export function shortenStopPeriods(work: ImportWork): void {
  for (const { map, document, owner } of servicePartsOf(work.documents)) {
    const written = textAt(valueAt(map, document, 'stop_grace_period'), document) ?? '';
    if ((durationSeconds(written) ?? 0) <= maxGracePeriod_s) continue;
    setValue(map, 'stop_grace_period', newScalar(`${maxGracePeriod_s}s`));
    tellChange(work, { owner, key: 'stop_grace_period' }, [
      `${printable(written)} is ${maxGracePeriod_s}s now`,
      'a host waits no longer',
    ]);
  }
}
