import type { StartFirst } from '../../bundle/plan/startFirst.rules.ts';
import { visitGraph } from '../../bundle/compose/services.rules.ts';
import { type CreatedContainer, serviceOf } from '../engine/createdContainer.rules.ts';
import { placeholderHash } from '../health/drift.rules.ts';
import type { ReplacementReason } from '../journal/trace.rules.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';

/** The configuration and image by which compose knows the containers of a service that it would not replace. */
export interface Generation {
  configHash: string;
  /** Id of its image; null where it is not known, so that the configuration decides. */
  image: string | null;
}

/** A container of a service that is replaced start-first. */
export interface Replica {
  id: string;
  /** Compose counts upwards, so that the lowest number is the oldest. */
  number: number;
  isRunning: boolean;
  isUnhealthy: boolean;
  /** False for a container of another generation, and for one that has to be replaced. */
  isWanted: boolean;
  createdMs: number;
}

/** True for a container of this generation. */
export function isOfGeneration(container: CreatedContainer, { configHash, image }: Generation): boolean {
  if (labelOf(container, 'config-hash') !== configHash) return false;
  return image === null || [container.Image, labelOf(container, 'image')].map(digestOf).includes(digestOf(image));
}

/** The generation of a container. */
export function generationOf(container: CreatedContainer): Generation {
  return { configHash: labelOf(container, 'config-hash'), image: container.Image };
}

/** True for two containers that compose made from different configurations or images, which serve side by side. */
function areMixed(own: readonly CreatedContainer[]): boolean {
  const made = own.map((each) => `${labelOf(each, 'config-hash')} ${digestOf(each.Image)}`);
  return new Set(made).size > 1;
}

/**
 * The services whose containers have to be compared with the release before compose starts it: those that are replaced
 * start-first, and those that another release left with containers of several generations. Compose may destroy all
 * containers of such a service.
 */
export function comparedServices({
  services,
  left,
  containers,
}: Pick<ReplacementFacts, 'services' | 'left' | 'containers'>): string[] {
  const asking = new Set([...services, ...left].filter((each) => each.start_first).map(({ name }) => name));
  return services
    .filter(({ name, replicas }) => {
      const own = containers.filter((each) => serviceOf(each) === name && !isPlaceholder(each));
      return asking.has(name) ? own.some(isServing) || areMixed(own) : own.length > replicas && areMixed(own);
    })
    .map(({ name }) => name);
}

/** True for a container that runs, or that the engine starts again. */
function isServing({ State }: CreatedContainer): boolean {
  return ['running', 'restarting'].includes(State.Status);
}

/** True for a container that only holds volumes until compose moves them to another one. */
function isPlaceholder(container: CreatedContainer): boolean {
  return labelOf(container, 'config-hash') === placeholderHash;
}

/** The containers of a service, oldest first. */
export function replicasAmong(
  containers: readonly CreatedContainer[],
  { service, generation, bad }: { service: string; generation: Generation; bad: ReadonlySet<string> },
): Replica[] {
  return containers
    .filter((each) => serviceOf(each) === service && !isPlaceholder(each))
    .map((container) => ({
      id: container.Id,
      number: Number(labelOf(container, 'container-number')),
      isRunning: isServing(container),
      isUnhealthy: container.State.Health?.Status === 'unhealthy',
      isWanted: isOfGeneration(container, generation) && !bad.has(container.Id),
      createdMs: Date.parse(container.Created ?? ''),
    }))
    .toSorted((one, other) => one.number - other.number);
}

/** The next thing to do for a service, by its containers alone: so a killed agent continues where it was. */
export type ReplacementStep =
  /** The containers do not run, or their start failed; they serve nobody. */
  | { do: 'remove'; ids: string[] }
  /** Starts so many new containers beside the existing ones. */
  | { do: 'start'; count: number }
  /** Waits until these containers are healthy. */
  | { do: 'await'; ids: string[] }
  /** Drains, stops and removes these containers: so many new ones have taken their places. */
  | { do: 'retire'; ids: string[] }
  /** Compose has nothing left to replace. */
  | { do: 'nothing' };

/** How far the replacement of a service is, beside its containers. */
export interface ReplacementProgress {
  /** The containers that this tick found healthy. */
  healthy: ReadonlySet<string>;
  /** The containers that this tick started. */
  started: ReadonlySet<string>;
  /** True for a container that an earlier attempt started: an unhealthy one is not waited for again. */
  isLeftover: (replica: Replica) => boolean;
}

/**
 * Decides the next step. No old container stops before as many new ones are healthy as take its place, and the last old
 * ones stop after all new ones are healthy.
 */
export function nextStep(
  replicas: readonly Replica[],
  { replicas: count, parallelism }: Pick<StartFirst, 'replicas' | 'parallelism'>,
  { healthy, started, isLeftover }: ReplacementProgress,
): ReplacementStep {
  const [wanted, others] = [replicas.filter(({ isWanted }) => isWanted), replicas.filter(({ isWanted }) => !isWanted)];
  if (others.length === 0) {
    const surplus = wanted.toSorted(byHealthThenAge).slice(count);
    return surplus.length > 0 ? { do: 'retire', ids: surplus.map(idOf) } : { do: 'nothing' };
  }
  const isIdle = (each: Replica) => !started.has(each.id) && !each.isRunning;
  const isStale = (each: Replica) => each.isWanted && each.isUnhealthy && !started.has(each.id) && isLeftover(each);
  const useless = replicas.filter((each) => isIdle(each) || isStale(each));
  if (useless.length > 0) return { do: 'remove', ids: useless.map(idOf) };
  const awaited = wanted.filter(({ id }) => !healthy.has(id));
  if (awaited.length > 0) return { do: 'await', ids: awaited.map(idOf) };
  const places = Math.max(0, count - wanted.length);
  const replaced = others.toSorted(byUselessness).slice(0, Math.max(0, others.length - places));
  if (wanted.length > 0 && replaced.length > 0) return { do: 'retire', ids: replaced.map(idOf) };
  return { do: 'start', count: Math.min(parallelism, places) };
}

/**
 * The containers to remove after a failure, so that only one generation remains: those that did not become healthy. If
 * a revert finds that the containers of the previous release were never touched, the others go.
 */
export function failedReplicas(
  replicas: readonly Replica[],
  { work, sinceMs, healthy, started }: ReplacementProgress & { work: ReplacementWork; sinceMs: number },
): string[] {
  const wanted = replicas.filter(({ id, isWanted }) => isWanted && !healthy.has(id));
  if (work === 'apply') return wanted.map(idOf);
  const own = wanted.filter(({ id, createdMs }) => started.has(id) || (work === 'revert' && createdMs > sinceMs));
  if (own.length > 0 || work === 'heal') return own.map(idOf);
  return replicas.filter(({ isWanted }) => !isWanted).map(idOf);
}

/** The purpose of a replacement. A revert goes back to the previous release; a heal replaces single containers. */
export type ReplacementWork = 'apply' | 'revert' | 'heal';

/** The facts that decide which services are replaced start-first. */
interface ReplacementFacts {
  services: ReleaseRecord['services'];
  /** The services of the release that is left, if that is a revert: they may go back as they came. */
  left: ReleaseRecord['services'];
  containers: readonly CreatedContainer[];
  /** The generation that the release gives each service. */
  generations: ReadonlyMap<string, Generation>;
  /** Services that are not touched. */
  untouched: readonly string[];
  /** Ids of containers that have to be replaced although nothing has changed. */
  bad: ReadonlySet<string>;
  /** True for a container with anonymous volumes, whose data only compose passes on. */
  holdsData: (id: string) => boolean;
}

/** A service that is replaced start-first. */
export interface Replacement {
  service: string;
  update: StartFirst;
  generation: Generation;
  /** The services that must be there before: those that it depends on, and their own. */
  needs: string[];
}

/** The services to replace start-first, each after the services that it depends on. */
export function replacementsOf(facts: ReplacementFacts): Replacement[] {
  const { services, containers, generations, untouched, bad, holdsData } = facts;
  const graph = new Map(services.map(({ name, after = [] }) => [name, after.map((each) => each.name)]));
  return [...visitGraph(graph).order].flatMap((service) => {
    const [update, generation] = [startFirstOf(service, facts), generations.get(service)];
    if (update === null || generation === undefined || update.replicas === 0 || untouched.includes(service)) return [];
    const own = containers.filter((each) => serviceOf(each) === service);
    const isLeftToCompose = own.some((each) => holdsData(each.Id) || isPlaceholder(each));
    if (isLeftToCompose && !areMixed(own.filter((each) => !isPlaceholder(each)))) return [];
    const replicas = replicasAmong(own, { service, generation, bad });
    const hasOthers = replicas.some(({ isWanted }) => !isWanted) || replicas.length > update.replicas;
    return hasOthers && own.some(isServing)
      ? [{ service, update, generation, needs: dependenciesOf(graph, service) }]
      : [];
  });
}

/**
 * The containers to remove before compose starts the release. Their services have containers of several generations, but
 * are not replaced start-first: they serve nobody, or the release does not ask for it. The containers of the release
 * stay, and compose finds nothing to replace.
 */
export function obsoleteContainers(facts: ReplacementFacts, replacements: readonly Replacement[]): string[] {
  const { services, containers, generations, untouched, bad, holdsData } = facts;
  const replaced = new Set(replacements.map(({ service }) => service));
  return services.flatMap(({ name: service, replicas: count }) => {
    const generation = generations.get(service);
    if (generation === undefined || replaced.has(service) || untouched.includes(service)) return [];
    const replicas = replicasAmong(containers, { service, generation, bad });
    const others = replicas.filter(({ isWanted }) => !isWanted);
    if (others.length === replicas.length || others.some(({ id }) => holdsData(id))) return [];
    const isStartFirst = startFirstOf(service, facts) !== null;
    return others.slice(0, isStartFirst ? undefined : Math.max(0, replicas.length - count)).map(idOf);
  });
}

/**
 * The containers that compose stops when it creates the containers of a release: it replaces them, there are too many of
 * them, or they depend on a replaced one.
 */
export function stoppedByCompose({
  services,
  containers,
  generations,
}: Pick<ReplacementFacts, 'services' | 'containers' | 'generations'>): string[] {
  const replaced = new Set<string>();
  const stopped = services.flatMap(({ name: service, replicas: count }) => {
    const generation = generations.get(service);
    if (generation === undefined) return [];
    const all = replicasAmong(containers, { service, generation, bad: new Set() });
    const others = all.filter(({ isWanted }) => !isWanted);
    if (others.length > 0) replaced.add(service);
    return [...others, ...all.filter(({ isWanted }) => isWanted).slice(count)].map(idOf);
  });
  for (const name of replaced)
    for (const { name: other, joins = [], restarts_with = [] } of services)
      if (restarts_with.includes(name) || joins.some(({ service }) => service === name)) replaced.add(other);
  const dependents = containers.filter((each) => replaced.has(serviceOf(each))).map(({ Id }) => Id);
  return [...new Set([...stopped, ...dependents])];
}

/** Why an apply has replaced, or left, each service that had containers before it. */
export function replacementReasonsOf({
  services,
  startFirst,
  before,
  created,
}: Pick<ReplacementFacts, 'services'> & {
  /** The services that were replaced start-first. */
  startFirst: ReadonlySet<string>;
  /** The services that had containers. */
  before: ReadonlySet<string>;
  /** The services that have new containers. */
  created: ReadonlySet<string>;
}): Map<string, ReplacementReason> {
  const reasonOf = ({ name, kind, start_first }: ReleaseRecord['services'][number]): ReplacementReason => {
    if (startFirst.has(name)) return 'asked';
    if (!created.has(name)) return 'kept';
    if (start_first !== undefined) return 'ended';
    return kind === 'job' ? 'jobs' : 'unasked';
  };
  return new Map(services.filter(({ name }) => before.has(name)).map((each) => [each.name, reasonOf(each)]));
}

function startFirstOf(service: string, { services, left }: ReplacementFacts): StartFirst | null {
  const found = services.find(({ name }) => name === service);
  if (found?.start_first !== undefined) return found.start_first;
  const before = left.find(({ name }) => name === service)?.start_first;
  return found === undefined || before === undefined ? null : { ...before, replicas: found.replicas };
}

/** The services that a service depends on, directly or indirectly. */
function dependenciesOf(graph: ReadonlyMap<string, readonly string[]>, service: string): string[] {
  const all = new Set([service]);
  for (const each of all) for (const other of graph.get(each) ?? []) all.add(other);
  all.delete(service);
  return [...all].filter((each) => graph.has(each));
}

function labelOf({ Config }: CreatedContainer, name: string): string {
  return Config.Labels?.[`com.docker.compose.${name}`] ?? '';
}

/** Podman writes an image id without its algorithm. */
function digestOf(imageId: string): string {
  return imageId.replace(/^sha256:/, '');
}

function byHealthThenAge(one: Replica, other: Replica): number {
  return Number(one.isUnhealthy) - Number(other.isUnhealthy) || one.number - other.number;
}

function byUselessness(one: Replica, other: Replica): number {
  return Number(other.isUnhealthy) - Number(one.isUnhealthy) || one.number - other.number;
}

function idOf({ id }: Replica): string {
  return id;
}
