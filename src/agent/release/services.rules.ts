import { nodeFromJson } from '../../bundle/compose/composeNode.rules.ts';
import { serviceLayers } from '../../bundle/compose/services.rules.ts';
import type { StartFirst } from '../../bundle/plan/startFirst.rules.ts';
import {
  healthDemandOf,
  type JobReason,
  type Prerequisite,
  type ServiceKind,
  type WrittenService,
  writtenServicesOf,
} from '../../bundle/plan/writtenServices.rules.ts';
import { type InspectedContainer, isRestartedByEngine, type ObservedContainer } from '../engine/container.rules.ts';
import type { Concealed } from '../../../machines/types.ts';
import { listOf, objectOf, textOf, textsOf } from './model.rules.ts';

/** The facts of a service that a release records, so that its health can be determined without the model. */
export interface ServiceFacts extends ServiceRole {
  /** Maximum number of seconds until it is healthy, by the healthcheck of the file; 0 without one. */
  demand_s: number;
  /** The services that it waits for. */
  after: readonly Prerequisite[];
}

/** The services of a rendered model. */
export function writtenServicesIn(model: unknown): WrittenService[] {
  return writtenServicesOf(serviceLayers([{ root: nodeFromJson(model) }]));
}

/** The facts of a service in the record of a release. */
export function serviceFactsOf({ kind, jobReason, healthcheck, after }: WrittenService): ServiceFacts {
  const demand_s = healthDemandOf(healthcheck).seconds;
  return { kind, ...(jobReason !== null && { job_by: jobReason }), demand_s, after };
}

/** How a release defines a service's end; empty in a record of an older version, where the container alone decides. */
export interface ServiceRole {
  kind?: ServiceKind;
  job_by?: JobReason;
}

/**
 * True for a container that is awaited until it ends. A container without a restart policy but with a healthcheck is
 * not a job.
 */
export function isJob({ kind, job_by }: ServiceRole, { health }: Pick<ObservedContainer, 'health'>): boolean {
  return kind === 'job' && (job_by !== 'restart' || health === null);
}

/** True for a one-shot that has finished and will not be restarted by the engine. */
export function isFinished(container: InspectedContainer, role: ServiceRole = {}): boolean {
  return container.state === 'exited' && !isRestartedByEngine(container) && hasSucceeded(container, role);
}

export function hasSucceeded(container: InspectedContainer, role: ServiceRole): boolean {
  return container.exitCode === 0 && (container.health === null || isJob(role, container));
}

/** A service of a release. */
export interface ExpectedService extends ServiceRole, LinkedService {
  replicas: number;
  /** Present for a service that is replaced start-first. */
  start_first?: StartFirst;
}

/** The resources that a container takes from the container of another service. */
type JoinedPart = 'network' | 'pid' | 'ipc' | 'volumes';

/** The dependencies of a service on other services of its release. */
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

/** Commands of a compose file that the agent runs in a container around its own starts and stops. */
export type Hook = 'pre_stop' | 'post_start';

/** The hooks of each service of a rendered model that has any. */
export function hooksIn(model: unknown): Record<string, Hook[]> {
  const services = Object.entries(objectOf(objectOf(model)['services']));
  const hooked = services.flatMap(([name, service]): [string, Hook[]][] => {
    const own = (['pre_stop', 'post_start'] as const).filter((hook) => listOf(objectOf(service)[hook]).length > 0);
    return own.length > 0 ? [[name, own]] : [];
  });
  return Object.fromEntries(hooked);
}

/** A service of a release record; its edges are absent in records of older versions. */
export type LinkedService = { name: string } & Partial<ServiceEdges>;

/** A container that may have to be restarted after another one. */
interface StartedContainer {
  id: string;
  service: string;
  isRunning: boolean;
  startedMs: number;
}

/** The services to restart after another one. */
interface DependentRestart {
  after: string;
  service: string;
  containers: string[];
}

/**
 * The next services to restart after a start of the release, because they have run for longer than a service that they
 * depend on. That service either shares its namespace with them, or was started since `before` (starts by container)
 * and restarts them. Only services that depend on no other such service are returned, so that the order of dependencies
 * is kept.
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

/** The services that a service depends on, directly or indirectly. */
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

/** A finished one-shot, with the facts that identify its run. */
export interface OneShot {
  service: string;
  /** Keyed digest of its definition, without the image. */
  fingerprint: string;
  /** Id of the image that it ran. */
  image: string;
  /** Engine names of its named volumes, including volumes by `volumes_from`. */
  volumes: string[];
}

/** A service of the rendered model. */
interface ServiceDefinition {
  /** Everything that a run depends on; contains values of secrets. */
  text: string;
  image: string;
  /** As written; null without the key. */
  pullPolicy: string | null;
  volumes: string[];
}

/** The parts of a service of the new release, without any secret value. */
export interface ServiceFingerprint {
  fingerprint: string;
  image: Concealed;
  pullPolicy: string | null;
  volumes: string[];
}

/** The services of a release by name. */
export type ServiceFingerprints = ReadonlyMap<string, ServiceFingerprint>;

/**
 * The services of a rendered model, reduced to the facts that a run depends on: without the release's directory,
 * `depends_on` and `pull_policy`.
 */
export function serviceDefinitionsOf(model: unknown, dir: string): Map<string, ServiceDefinition> {
  const rendered = model as RenderedModel;
  const [services, volumes] = [rendered.services ?? {}, rendered.volumes ?? {}];
  const releasePath = JSON.stringify(dir.replaceAll('$', '$$$$')).slice(1, -1);
  return new Map(
    Object.entries(services).map(([name, service]) => {
      const definition: RenderedService = { ...service, depends_on: undefined, pull_policy: undefined };
      const text = JSON.stringify(definition).replaceAll(releasePath, '<release>');
      const mounts = volumeSourcesOf(name, services).flatMap((provider) => services[provider]?.volumes ?? []);
      const keys = mounts.flatMap(({ type, source }) => (type === 'volume' && source ? [source] : []));
      const names = new Set(keys.map((key) => volumes[key]?.name ?? key));
      const { image = '' } = definition;
      return [name, { text, image, pullPolicy: service.pull_policy ?? null, volumes: [...names] }];
    }),
  );
}

/** A service, and the services whose mounts it shares by `volumes_from`, transitively. */
function volumeSourcesOf(name: string, services: Record<string, RenderedService>): string[] {
  const providers = new Set([name]);
  for (const provider of providers)
    for (const from of services[provider]?.volumes_from ?? []) providers.add(from.replace(/:r[ow]$/, ''));
  return [...providers];
}

interface RenderedModel {
  services?: Record<string, RenderedService> | null;
  volumes?: Record<string, { name?: string } | null> | null;
}

interface RenderedService {
  image?: string;
  volumes?: { type?: string; source?: string }[] | null;
  volumes_from?: string[] | null;
  depends_on?: unknown;
  pull_policy?: string | undefined;
}

/** The finished one-shots that the new release contains unchanged, with the same volumes. */
export function unchangedOneShots(fingerprints: ServiceFingerprints, finished: readonly OneShot[]): OneShot[] {
  const same = finished.filter(({ service, fingerprint, volumes }) => {
    const now = fingerprints.get(service);
    return now?.fingerprint === fingerprint && new Set(now.volumes).symmetricDifference(new Set(volumes)).size === 0;
  });
  return [...new Map(same.map((oneShot) => [oneShot.service, oneShot])).values()];
}

/** Facts to find the finished one-shots of a release. */
interface OneShotSearch {
  fingerprints: ServiceFingerprints;
  /** One-shots that were not started, because they had finished before. */
  skipped: readonly OneShot[];
  /** Starts of containers before `compose up`, by id: an unchanged start belongs to an earlier release. */
  startsBefore: ReadonlyMap<string, number>;
  /** By default the containers alone decide. */
  roleOf?: (service: string) => ServiceRole;
}

/**
 * The finished one-shots: those whose containers all finished, and the skipped ones, unless their container was started, which
 * is kept where other services refer to it.
 */
export function finishedOneShots(
  containers: readonly InspectedContainer[],
  { fingerprints, skipped, startsBefore, roleOf }: OneShotSearch,
): OneShot[] {
  const byService = Map.groupBy(containers, ({ service }) => service);
  const wasStarted = ({ id, state, startedMs }: InspectedContainer) =>
    state !== 'created' && startedMs !== startsBefore.get(id);
  const unstarted = skipped.filter(({ service }) => !byService.get(service)?.some(wasStarted));
  const finished = [...byService].flatMap(([service, all]): OneShot[] => {
    const definition = fingerprints.get(service);
    const [first] = all;
    const hasRun = (each: InspectedContainer) => isFinished(each, roleOf?.(service)) && wasStarted(each);
    if (!definition || !first || !all.every(hasRun)) return [];
    return [{ service, fingerprint: definition.fingerprint, image: first.imageId, volumes: definition.volumes }];
  });
  return [...unstarted, ...finished];
}
