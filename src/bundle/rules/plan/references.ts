import { refusalWith, type Refusal, type RefusedFault } from '../../../../machines/refusals.ts';
import type { Manifest } from '../../../../machines/types.ts';
import { printable } from '../../../protocol/printable.ts';
import {
  entriesOf,
  itemsOf,
  textOf,
  valueAt,
  valuesAt,
  type ComposeFile,
  type ComposeNode,
} from '../compose/document/composeNode.ts';
import { activeServiceLayers } from '../compose/document/profiles.ts';
import { serviceDependenciesOf } from '../compose/document/serviceDependencies.ts';
import { serviceLayers } from '../compose/document/serviceLayers.ts';
import { namePattern } from '../compose/policy/validators.ts';
import { findCycle } from './dependencyCycle.ts';

/**
 * COMPOSE_REFUSED for what compose refuses when it loads the files: a service that runs and names a service, network, volume,
 * config or secret that the bundle does not have, and services that depend on each other in a circle; or null. Nothing is said
 * of a bundle whose compose files could not all be read, nor of what is no name, which the policy refuses.
 */
export function validateReferences(
  files: readonly ComposeFile[],
  { compose, profiles }: Pick<Manifest, 'compose' | 'profiles'>,
): Refusal | null {
  if (files.length < compose.length) return null;
  const [services, active] = [serviceLayers(files), activeServiceLayers(files, profiles)];
  const faults = [
    ...[...active].flatMap(([name, layers]) => [
      ...missingServices(name, layers, services),
      ...sections.flatMap((section) => missingParts(name, layers, { section, files })),
    ]),
    ...circles(active),
  ];
  return faults.length === 0 ? null : refusalWith('COMPOSE_REFUSED', faults);
}

type Services = ReadonlyMap<string, readonly ComposeNode[]>;

function missingServices(service: string, layers: readonly ComposeNode[], services: Services): RefusedFault[] {
  return serviceDependenciesOf(layers)
    .filter(({ name }) => namePattern.test(name) && !services.has(name))
    .map(({ key, name }) => ({
      text: `service ${printable(service)}: ${key} ${printable(name)}, which is no service of the bundle`,
      cure: 'add that service, or name another one',
    }));
}

const sections = ['networks', 'volumes', 'configs', 'secrets'] as const;
type Section = (typeof sections)[number];

function missingParts(
  service: string,
  layers: readonly ComposeNode[],
  { section, files }: { section: Section; files: readonly ComposeFile[] },
): RefusedFault[] {
  const defined = new Set(files.flatMap(({ root }) => entriesOf(valueAt(root, section)).map(([name]) => name)));
  const named = valuesAt(layers, section).flatMap(namesIn[section]);
  return [...new Set(named)]
    .filter((name) => !defined.has(name) && namePattern.test(name))
    .map((name) => ({
      text: `service ${printable(service)}: ${section} ${printable(name)}, which is not under the top-level ${section}`,
      cure: `write ${printable(name)} under the top-level ${section}`,
    }));
}

/** The names that a service's value under a key refers to. */
const namesIn: Readonly<Record<Section, (value: ComposeNode) => string[]>> = {
  // every project has the network `default`
  networks: (value) => [...keysOf(value), ...sourcesOf(value)].filter((name) => name !== 'default'),
  volumes: (value) => itemsOf(value).flatMap(volumeOf),
  configs: (value) => sourcesOf(value),
  secrets: (value) => sourcesOf(value),
};

function keysOf(value: ComposeNode): string[] {
  return entriesOf(value).map(([name]) => name);
}

function sourcesOf(value: ComposeNode): string[] {
  return value.kind === 'list' ? value.items.flatMap((item) => textOf(valueAt(item, 'source') ?? item) ?? []) : [];
}

/** The key of the volume that an entry of `volumes` mounts, in its short or long form; none for anything else. */
export function volumeOf(mount: ComposeNode): string[] {
  const short = /^(\w[\w.-]+):/.exec(textOf(mount) ?? '')?.[1];
  const long = textOf(valueAt(mount, 'type')) === 'volume' ? textOf(valueAt(mount, 'source')) : null;
  return [short ?? long ?? []].flat();
}

function circles(services: Services): RefusedFault[] {
  const dependencies = [...services].map(([name, layers]): [string, string[]] => [
    name,
    serviceDependenciesOf(layers).map((each) => each.name),
  ]);
  const circle = findCycle(new Map(dependencies));
  if (circle === null) return [];
  const text = `services depend on each other in a circle: ${circle.map((name) => printable(name)).join(', ')}`;
  return [{ text, cure: 'leave one of these dependencies out' }];
}
