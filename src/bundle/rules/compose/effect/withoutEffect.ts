import { printable } from '../../../../protocol/printable.ts';
import { entriesOf, valueAt, type ComposeNode } from '../document/composeNode.ts';
import type { Finding, ValueLocation } from '../policy/finding.ts';
import { composeFileGaps, composeGaps } from './composeGaps.ts';
import { contentAccessFindings } from './contentAccess.ts';
import { gapFindings } from './keyGap.ts';

/**
 * What a compose file, or compose's rendered model, asks for that would have no effect on a host with compose; no flag lifts it.
 * Content that is applied already may keep it.
 */
export function findingsWithoutEffect(root: ComposeNode, location: ValueLocation): Finding[] {
  const ofServices = entriesOf(valueAt(root, 'services')).flatMap(([name, service]) => {
    const at = { ...location, owner: `service ${printable(name)}` };
    return [...gapFindings(service, { gaps: composeGaps, where }, at), ...contentAccessFindings(service, at)];
  });
  const all = [...ofServices, ...gapFindings(root, { gaps: composeFileGaps, where }, location)];
  return all.map((finding) => ({ ...finding, whenApplied: [] }));
}

const where = ' on a host with compose';
