import { envAndLabelPathsOf } from '../document/composeContents.ts';
import { validateDependencies } from './dependencyLimits.ts';
import type { Finding } from '../policy/finding.ts';
import { serviceLayers, effectiveValue } from '../document/serviceLayers.ts';
import { composeLimits } from './composeLimits.ts';
import { countOf, portCountOf } from './counts.ts';
import { valuesAt, entriesOf, itemsOf, type ComposeNode } from '../document/composeNode.ts';
import { exceededLimitOf, documentSizeOf, type DocumentSize } from '../document/documentSize.ts';

/** Validates the totals over all services of a bundle, with files merged and `extends` resolved (spec §12.2). */
export function validateBundleLimits(
  files: readonly { root: ComposeNode }[],
  texts?: ReadonlyMap<string, string>,
): Finding[] {
  const services = serviceLayers(files);
  const overfull = firstServiceOver(services, containerCountOf, composeLimits.containers);
  if (overfull !== null)
    return refuseService(overfull, `more than ${composeLimits.containers} containers in the bundle`);
  const portsUnder = (key: string) => (layers: readonly ComposeNode[]) =>
    valuesAt(layers, key)
      .flatMap(itemsOf)
      .reduce((sum, entry) => sum + portCountOf(entry), 0);
  const lengthsOf = (layers: readonly ComposeNode[]) =>
    layers.flatMap(envAndLabelPathsOf).reduce((sum, path) => sum + (texts?.get(path)?.length ?? 0), 0);
  const refuseIfAny = (service: string | null, message: string) =>
    service === null ? [] : refuseService(service, message);
  return [
    ...['ports', 'expose'].flatMap((key) =>
      refuseIfAny(
        firstServiceOver(services, portsUnder(key), composeLimits.ports),
        `${key}: more than ${composeLimits.ports} ports in the bundle`,
      ),
    ),
    ...refuseIfAny(
      firstServiceOver(services, lengthsOf, composeLimits.envCharacters),
      `env_file: more than ${composeLimits.envCharacters} characters of env files and label files in the bundle`,
    ),
    ...validateDependencies(services).flatMap(({ service, message }) => refuseService(service, message)),
  ];
}

const smallerBundle = 'make it smaller, or divide the bundle';

/**
 * Validates the size of all files together. The parser limits each single file, but aliases can multiply several small
 * ones.
 */
export function validateDocumentSize(files: readonly { root: ComposeNode }[]): Finding[] {
  const sections = files.flatMap(({ root }) => entriesOf(root).filter(([section]) => section !== 'services'));
  const parts = [...sections.map(([, part]) => part), ...[...serviceLayers(files).values()].flat()];
  const sum: DocumentSize = { nodes: 0, characters: 0, depth: 0 };
  for (const { nodes, characters } of parts.map(documentSizeOf)) {
    sum.nodes += nodes;
    sum.characters += characters;
  }
  const excess = exceededLimitOf(sum);
  return excess === null
    ? []
    : [{ code: 'COMPOSE_REFUSED', text: `compose files together: ${excess}`, cure: smallerBundle }];
}

/** The service at which the running sum over the services, in their order, exceeds a limit. */
function firstServiceOver(
  services: ReadonlyMap<string, readonly ComposeNode[]>,
  amountOf: (layers: readonly ComposeNode[]) => number,
  limit: number,
): string | null {
  let sum = 0;
  return [...services].find(([, layers]) => (sum += amountOf(layers)) > limit)?.[0] ?? null;
}

/**
 * At least 1, because a service without containers costs compose as much. At most the limit of one service, which is
 * validated separately.
 */
function containerCountOf(layers: readonly ComposeNode[]): number {
  const written = [effectiveValue(layers, 'scale'), effectiveValue(layers, 'deploy', 'replicas')];
  const counts = written.map((one) => Math.min(composeLimits.containersPerService, countOf(one)));
  return Math.max(1, ...counts);
}

function refuseService(service: string, message: string): Finding[] {
  return [{ code: 'COMPOSE_REFUSED', text: `service ${service}: ${message}`, cure: smallerBundle }];
}
