import { objectOf, textOf, textsOf } from '../createdContainers/renderedModel.ts';

/** What a container takes from the container of another service. */
export type JoinedPart = 'network' | 'pid' | 'ipc' | 'volumes';

/** How a service hangs on other services of its release. */
export interface ServiceEdges {
  /** Services whose namespace it shares, or whose volumes it mounts. */
  joins: { service: string; part: JoinedPart }[];
  /** Services after whose start by a heal it is restarted: `depends_on` with `restart: true`, and what compose adds to that. */
  restarts_with: string[];
}

const namespaces = [
  ['network_mode', 'network'],
  ['pid', 'pid'],
  ['ipc', 'ipc'],
] as const;

/** The edges of each service of a rendered model. */
export function serviceEdgesOf(model: unknown): Map<string, ServiceEdges> {
  const services = Object.entries(objectOf(objectOf(model)['services']));
  return new Map(
    services.map(([name, written]) => {
      const service = objectOf(written);
      const joins = namespaces.flatMap(([key, part]) => {
        const [, joined] = /^service:(.+)$/.exec(textOf(service[key])) ?? [];
        return joined === undefined ? [] : [{ service: joined, part }];
      });
      const volumes = textsOf(service['volumes_from'])
        .filter((from) => !from.startsWith('container:'))
        .map((from) => ({ service: from.replace(/:r[ow]$/, ''), part: 'volumes' as const }));
      const restarts_with = Object.entries(objectOf(service['depends_on']))
        .filter(([, condition]) => objectOf(condition)['restart'] === true)
        .map(([dependency]) => dependency);
      return [name, { joins: [...joins, ...volumes], restarts_with }];
    }),
  );
}

/** A service of a release record; its edges are absent in records of older versions. */
export type LinkedService = { name: string } & Partial<ServiceEdges>;

/** A container that may have to be restarted after another one. */
export interface StartedContainer {
  id: string;
  service: string;
  isRunning: boolean;
  startedMs: number;
}

/** The services to restart after another one. */
export interface DependentRestart {
  after: string;
  service: string;
  containers: string[];
}

/**
 * The next services to restart after a start of the release, since they run for longer than a service that they hang on: one
 * whose namespace they share, or one that was started since `before` (starts by container) and that restarts them. They are
 * those that hang on no other such service, so that the order of dependencies is kept.
 */
export function nextRestarts(
  services: readonly LinkedService[],
  containers: readonly StartedContainer[],
  before: ReadonlyMap<string, number>,
): DependentRestart[] {
  const found = services.flatMap((service): DependentRestart[] => {
    const own = containers.filter((each) => each.service === service.name && each.isRunning);
    const oldestMs = Math.min(...own.map(({ startedMs }) => startedMs));
    const isNewer = (name: string, mustBeStarted: boolean) =>
      containers.some(
        (each) =>
          each.service === name &&
          each.isRunning &&
          each.startedMs > oldestMs &&
          !(mustBeStarted && before.get(each.id) === each.startedMs),
      );
    const after =
      namespacesOf(service).find((name) => isNewer(name, false)) ??
      service.restarts_with?.find((name) => isNewer(name, true));
    return after === undefined ? [] : [{ after, service: service.name, containers: own.map(({ id }) => id) }];
  });
  const waiting = new Set(found.map(({ service }) => service));
  const linked = new Map(services.map((service) => [service.name, service]));
  const next = found.filter(({ service }) => !dependenciesOf(linked, service).some((each) => waiting.has(each)));
  return next.length > 0 ? next : found.slice(0, 1);
}

/** The services that a service hangs on, directly or by others. */
function dependenciesOf(linked: ReadonlyMap<string, LinkedService>, name: string): string[] {
  const all = new Set([name]);
  for (const each of all) {
    const service = linked.get(each);
    for (const { service: joined } of service?.joins ?? []) all.add(joined);
    for (const other of service?.restarts_with ?? []) all.add(other);
  }
  all.delete(name);
  return [...all];
}

/** The services whose namespace a service shares. */
export function namespacesOf({ joins = [] }: LinkedService): string[] {
  return joins.flatMap(({ service, part }) => (part === 'volumes' ? [] : service));
}

/** The services that another one of the release refers to, so that their containers must stay. */
export function referredServices(services: readonly LinkedService[]): Set<string> {
  return new Set(services.flatMap(({ joins = [] }) => joins.map(({ service }) => service)));
}
