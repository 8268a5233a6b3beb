import { readPaths } from './contents.ts';
import { judgeDependencies } from './dependencies.ts';
import type { Finding } from './finding.ts';
import { layersOf, lastOf } from './layers.ts';
import { limits } from './limits.ts';
import { portsOf } from './ports.ts';
import { countOf } from './quantities.ts';
import { at, entriesOf, itemsOf, textOf, type Tree } from './tree.ts';
import { excessOf, weightOf, type Weight } from './weight.ts';

/** What all services of a bundle ask for together, files merged and bases included (spec §12.2). */
export function judgeBounds(files: readonly { root: Tree }[], texts?: ReadonlyMap<string, string>): Finding[] {
  const services = layersOf(files);
  const crowded = beyond(services, containersOf, limits.containers);
  if (crowded !== null) return refused(crowded, `more than ${limits.containers} containers in the bundle`);
  const portsUnder = (key: string) => (layers: readonly Tree[]) =>
    layers.flatMap((layer) => itemsOf(at(layer, key))).reduce((sum, entry) => sum + portsOf(entry), 0);
  const lengthsOf = (layers: readonly Tree[]) =>
    layers.flatMap(readPaths).reduce((sum, path) => sum + (texts?.get(path)?.length ?? 0), 0);
  const told = (service: string | null, what: string) => (service === null ? [] : refused(service, what));
  return [
    ...['ports', 'expose'].flatMap((key) =>
      told(beyond(services, portsUnder(key), limits.ports), `${key}: more than ${limits.ports} ports in the bundle`),
    ),
    ...told(
      beyond(services, lengthsOf, limits.envCharacters),
      `env_file: more than ${limits.envCharacters} characters of env files and label files in the bundle`,
    ),
    ...judgeDependencies(services).flatMap(({ service, what }) => refused(service, what)),
  ];
}

/** Each file is held to the same when it is parsed; copies make much of several small ones. */
export function judgeWeight(files: readonly { root: Tree }[]): Finding[] {
  const others = files.flatMap(({ root }) => entriesOf(root).filter(([section]) => section !== 'services'));
  const parts = [...others.map(([, part]) => part), ...[...layersOf(files).values()].flat()];
  const sum: Weight = { nodes: 0, characters: 0, depth: 0 };
  for (const { nodes, characters } of parts.map(weightOf)) {
    sum.nodes += nodes;
    sum.characters += characters;
  }
  const excess = excessOf(sum);
  return excess === null ? [] : [{ code: 'COMPOSE_REFUSED', text: `compose files together: ${excess}` }];
}

/** The service at which a sum over the services, in their order, goes beyond a bound. */
function beyond(
  services: ReadonlyMap<string, readonly Tree[]>,
  amountOf: (layers: readonly Tree[]) => number,
  bound: number,
): string | null {
  let sum = 0;
  return [...services].find(([, layers]) => (sum += amountOf(layers)) > bound)?.[0] ?? null;
}

/** A service without containers costs compose as much as one with one; what one alone has too many is told by itself. */
function containersOf(layers: readonly Tree[]): number {
  const written = [lastOf(layers, 'scale'), lastOf(layers, 'deploy', 'replicas')];
  const counts = written.map((one) => Math.min(limits.scale, countOf(textOf(one) ?? '')));
  return Math.max(1, ...counts);
}

function refused(service: string, what: string): Finding[] {
  return [{ code: 'COMPOSE_REFUSED', text: `service ${service}: ${what}` }];
}
