import { printable } from '../../../protocol/printable.ts';
import { tellChange, type ImportWork } from './importWork.ts';
import { servicePartsOf } from './services.ts';
import { removeKey, textAt, valueAt } from './yamlNodes.ts';

/** Takes out log drivers that send logs elsewhere: the engine keeps them on the host. */
export function removeLogDrivers(work: ImportWork): void {
  for (const { map, document, owner } of servicePartsOf(work.documents)) {
    const driver = textAt(valueAt(map, document, 'logging', 'driver'), document) ?? '';
    if (/^(json-file|local|journald|none)?$/.test(driver) || !removeKey(map, 'logging')) continue;
    const what = `the driver ${printable(driver)} is left out`;
    tellChange(work, { owner, key: 'logging' }, [what, 'no host permits it; the logs stay on the host']);
  }
}
