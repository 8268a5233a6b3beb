import { printable } from '../../core/text.rules.ts';
import { type ComposeNode, textOf } from '../compose/composeNode.rules.ts';
import { effectiveValue, type MergedFiles } from '../compose/services.rules.ts';
import {
  type Finding,
  type PolicyFacts,
  refuse,
  refuseUnpermitted,
  refusePrivilege,
  type Validator,
} from './finding.rules.ts';
import { countOf } from './limits.rules.ts';
import { textValidator } from './validators.rules.ts';

/** The names that engines accept. */
const engineName = /^[a-zA-Z0-9][\w.-]+$/;

/** Names that compose gives to a container while it replaces it; the agent removes such leftovers. */
const replacementName = /^[0-9a-f]{12}_/;

/**
 * `container_name`: a name that a container outside the project has is refused. One with a variable is validated in the
 * rendered model; the engine itself creates no second container of a name.
 */
export const containerName: Validator = textValidator((name, value, location) => {
  if (name.includes('$')) return [];
  if (!engineName.test(name) || replacementName.test(name))
    return refuse(value, location, {
      message: `${printable(name)} is not a name of a container`,
      cure: 'use letters, digits, ".", "_" and "-", and a letter or digit first',
    });
  return location.facts.outside?.containers.has(name) === true
    ? refuse(value, location, {
        message: `${printable(name)} is the name of a container outside the project`,
        cure: 'give it another name, or leave the key out',
      })
    : [];
});

/** Networks that engines have, and ids, by which compose would find any network. */
const foreignNetwork = /^(bridge|default|docker_gwbridge|host|ingress|none|podman|[0-9a-f]{12,})$/;

/**
 * `name` of a network or volume of the project. Prefixed by the project's name it can be no other project's, because no
 * env contains `_`; another name is a privilege if something outside the project has it, since compose would use that.
 */
export function ownName(permit: 'networks' | 'volumes'): Validator {
  return textValidator((name, value, location) => {
    const { projectName, outside } = location.facts;
    const isPlain = engineName.test(name) && !(permit === 'networks' && foreignNetwork.test(name));
    if (isPlain && name.startsWith(`${projectName}_`)) return [];
    if (!isPlain || /^deployd-/.test(name)) return refusePrivilege(value, location, printable(name));
    return outside?.[permit].has(name) === true
      ? refuseUnpermitted(value, location, {
          ...{ permit, entry: name },
          message: `${printable(name)} is one outside the project`,
        })
      : [];
  });
}

/** Services whose `container_name` several containers would need, of the merged files or of the rendered model. */
export function validateContainerNames({ services }: MergedFiles): Finding[] {
  const users = new Map<string, string>();
  return [...services].flatMap(([service, layers]) => {
    const name = textOf(effectiveValue(layers, 'container_name'));
    if (name === null) return [];
    const other = users.get(name);
    users.set(name, service);
    const counts = [effectiveValue(layers, 'scale'), effectiveValue(layers, 'deploy', 'replicas')].map(countOf);
    if (Math.max(...counts) > 1) return refuseName(service, 'and several containers', 'leave the key out');
    return other === undefined
      ? []
      : refuseName(service, `is also used by service ${printable(other)}`, 'give each service its own name');
  });
}

/**
 * Services whose first container would get the name of one outside the project: the names of two projects can
 * run into each other, `deployd-a` with a service `b-web` and `deployd-a-b` with a service `web` (spec §22.6).
 */
export function validateComposedNames(
  services: ReadonlyMap<string, readonly ComposeNode[]>,
  { projectName, outside }: Pick<PolicyFacts, 'projectName' | 'outside'>,
): Finding[] {
  return [...services].flatMap(([service, layers]) => {
    const isNamed = textOf(effectiveValue(layers, 'container_name')) !== null;
    const name = `${projectName}-${service}-1`;
    if (isNamed || outside?.containers.has(name) !== true) return [];
    const message = `is not a name here: ${printable(name)} is a container outside the project`;
    const text = `service ${printable(service)} ${message}`;
    return [{ code: 'COMPOSE_REFUSED', text, cure: 'give it another name, or a container_name' }];
  });
}

function refuseName(service: string, message: string, cure: string): Finding[] {
  return [{ code: 'COMPOSE_REFUSED', text: `service ${printable(service)}: container_name ${message}`, cure }];
}
