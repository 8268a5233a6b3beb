import { printable } from '../../../../protocol/printable.ts';
import { entriesOf, isText, valueAt, type ComposeNode } from '../document/composeNode.ts';
import { refuseWithoutValue, type Finding, type ValueLocation } from '../policy/finding.ts';
import { fileGaps } from './fileGaps.ts';
import { keptFileFindings } from './keptFiles.ts';
import { serviceGaps } from './serviceGaps.ts';
import type { SwarmGap } from './swarmGap.ts';

/** Characters of a name in DNS, by which the tasks of a service are reached. */
const maxServiceName = 63;

/** What a compose file, or compose's rendered model, asks for that a swarm cannot do; no flag lifts it. */
export function swarmFindings(root: ComposeNode, location: ValueLocation): Finding[] {
  const services = entriesOf(valueAt(root, 'services')).map(([name, service]) => ({
    service,
    name,
    at: { ...location, owner: `service ${printable(name)}` },
  }));
  return [
    ...services.flatMap(({ service, at }) => gapFindings(service, serviceGaps, at)),
    ...services.flatMap(({ service, name, at }) => nameFindings(name, service, at)),
    ...gapFindings(root, fileGaps, location),
    ...keptFileFindings(root, location),
  ];
}

function gapFindings(owner: ComposeNode, gaps: readonly SwarmGap[], location: ValueLocation): Finding[] {
  return gaps.flatMap(({ key, why, cure, find }) =>
    find(owner, location.facts)
      .filter((node) => !isText(node) || node.text !== '')
      .flatMap((node) => {
        const problem = { message: `is refused in a swarm: ${why}`, cure };
        return refuseWithoutValue(node, { ...location, keyPath: key }, problem);
      }),
  );
}

function nameFindings(name: string, service: ComposeNode, location: ValueLocation): Finding[] {
  if (`${location.facts.projectName}_${name}`.length <= maxServiceName) return [];
  const message = `is refused in a swarm: after the project's and "_" it ends beyond ${maxServiceName} characters`;
  return refuseWithoutValue(service, { ...location, keyPath: 'its name' }, { message, cure: 'give it a shorter one' });
}
