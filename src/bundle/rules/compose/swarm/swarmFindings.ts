import { printable } from '../../../../protocol/printable.ts';
import { entriesOf, valueAt, type ComposeNode } from '../document/composeNode.ts';
import { refuseWithoutValue, type Finding, type ValueLocation } from '../policy/finding.ts';
import { fileGaps } from './fileGaps.ts';
import { keptFileFindings } from './keptFiles.ts';
import { serviceGaps } from './serviceGaps.ts';
import { gapFindings } from '../effect/keyGap.ts';

/** Characters of a name in DNS, by which the tasks of a service are reached. */
const maxServiceName = 63;

const where = ' in a swarm';

/** What a compose file, or compose's rendered model, asks for that a swarm cannot do; no flag lifts it. */
export function swarmFindings(root: ComposeNode, location: ValueLocation): Finding[] {
  const services = entriesOf(valueAt(root, 'services')).map(([name, service]) => ({
    service,
    name,
    at: { ...location, owner: `service ${printable(name)}` },
  }));
  return [
    ...services.flatMap(({ service, at }) => gapFindings(service, { gaps: serviceGaps, where }, at)),
    ...services.flatMap(({ service, name, at }) => nameFindings(name, service, at)),
    ...gapFindings(root, { gaps: fileGaps, where }, location),
    ...keptFileFindings(root, location),
  ];
}

function nameFindings(name: string, service: ComposeNode, location: ValueLocation): Finding[] {
  if (`${location.facts.projectName}_${name}`.length <= maxServiceName) return [];
  const message = `is refused in a swarm: after the project's and "_" it ends beyond ${maxServiceName} characters`;
  return refuseWithoutValue(service, { ...location, keyPath: 'its name' }, { message, cure: 'give it a shorter one' });
}
