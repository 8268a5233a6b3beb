import { setTimeout as pause } from 'node:timers/promises';
import { failedFault, Fault, faultOf, isInterruption, throwIfStopped } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/types.ts';
import type { StartFirst } from '../../bundle/plan/startFirst.rules.ts';
import { engineHealthcheckOf, healthDemandOf } from '../../bundle/plan/writtenServices.rules.ts';
import { printable } from '../../core/text.rules.ts';
import type { ComposeRelease } from '../engine/compose.ts';
import {
  anonymousVolumesOf,
  containerName,
  type CreatedContainer,
  type CreatedResources,
  serviceOf,
} from '../engine/createdContainer.rules.ts';
import { catchFault } from '../journal/journal.ts';
import type { StartedRelease } from '../release/orchestrator.ts';
import { expectedServices, type ReleaseRecord } from '../release/record.rules.ts';
import type { ServiceFingerprints } from '../release/services.rules.ts';
import { enforceModel } from './createdContainers.ts';
import {
  comparedServices,
  failedReplicas,
  type Generation,
  generationOf,
  isOfGeneration,
  nextStep,
  obsoleteContainers,
  type Replacement,
  type ReplacementProgress,
  replacementsOf,
  type ReplacementWork,
  replicasAmong,
  stoppedByCompose,
} from './generations.rules.ts';
import { startWithHooks } from './hooks.ts';
import type { ComposeDependencies } from './observe.ts';
import { recordCreated } from './recordContainers.ts';
import { waitForContainers, waitUntilHealthy } from './waitUntilHealthy.ts';

/** A release whose services may be replaced start-first. */
export interface ReplaceableRelease {
  sha: Sha;
  release: ComposeRelease;
  record: ReleaseRecord;
  created: CreatedResources;
  /** Absent for a release that is started again. */
  fingerprints: ServiceFingerprints | undefined;
  untouched: readonly string[];
  /** The services of the release that a revert leaves. */
  left: ReleaseRecord['services'];
  /** Ids of containers that have to be replaced although nothing has changed. */
  bad: ReadonlySet<string>;
}

/** The services to replace start-first, and what has to be known of them. */
export interface ReplacementPlan {
  replacements: readonly Replacement[];
  /** The services that have to be started before those that need them are replaced. */
  missing: ReadonlySet<string>;
  work: ReplacementWork;
  bad: ReadonlySet<string>;
  /** Containers of other releases that go before compose starts anything. */
  obsolete: readonly string[];
}

/**
 * Selects the services to replace start-first; null if compose has to start the release alone. Compose is only asked if
 * a service may be replaced so, or has containers of several releases. Throws UP_FAILED if compose does not print the
 * hashes that distinguish the generations: its `up` may destroy all containers of such a service.
 */
export async function planReplacements(
  deps: ComposeDependencies,
  found: ReplaceableRelease,
  signal: AbortSignal,
): Promise<ReplacementPlan | null> {
  const { attempt } = deps.state.state;
  const { release, record, left, fingerprints, untouched, bad } = found;
  const { containers, volumes } = found.created;
  const holdsData = (id: string) =>
    containers.some((each) => each.Id === id && anonymousVolumesOf(each, volumes).length > 0);
  const work = fingerprints !== undefined ? 'apply' : attempt !== null ? 'revert' : 'heal';
  const compared = comparedServices({ services: record.services, left, containers });
  if (compared.length === 0) return null;
  const { hashes } = await deps.compose.configurationHashes(release, signal);
  if (hashes instanceof Fault) throw withoutHashes(hashes, compared);
  const unknown = compared.filter((name) => !hashes.has(name) && !untouched.includes(name));
  if (unknown.length > 0)
    throw withoutHashes(failedFault('UP_FAILED', 'docker compose config --hash leaves out services'), unknown);
  const generations = await generationsOf(deps, found, hashes);
  const facts = { services: record.services, left, containers, generations, untouched, bad, holdsData };
  const replacements = replacementsOf(facts);
  const obsolete = obsoleteContainers(facts, replacements);
  if (replacements.length + obsolete.length === 0) return null;
  const replaced = new Set(replacements.map(({ service }) => service));
  const expected = expectedServices(record);
  const isThere = (name: string) => {
    const generation = generations.get(name);
    const own = containers.filter((each) => serviceOf(each) === name && each.State.Status === 'running');
    const same = own.filter((each) => generation === undefined || isOfGeneration(each, generation));
    return same.length >= (expected.find((each) => each.name === name)?.replicas ?? 0);
  };
  const needs = replacements.flatMap((each) => each.needs).filter((name) => !replaced.has(name));
  const missing = needs.filter((name) => !untouched.includes(name) && !isThere(name));
  return { replacements, missing: new Set(missing), work, bad, obsolete };
}

/** The fault of compose, which says also that nothing was changed. */
function withoutHashes({ lines, code, tail }: Fault, services: readonly string[]): Fault {
  const unchanged = `no container was changed: without the hashes of ${services.map(printable).join(', ')}, containers of two releases cannot be distinguished`;
  return faultOf({ ending: 'failed', code, lines: [...lines, unchanged], tail });
}

/** A release to compare with the existing containers. */
type ComparedRelease = Pick<ReplaceableRelease, 'release' | 'record' | 'fingerprints'>;

/** The generation that the release gives each service. */
async function generationsOf(
  deps: ComposeDependencies,
  found: ComparedRelease,
  hashes: ReadonlyMap<string, string>,
): Promise<Map<string, Generation>> {
  const generations = new Map<string, Generation>();
  for (const { name } of found.record.services) {
    const configHash = hashes.get(name);
    if (configHash !== undefined) generations.set(name, { configHash, image: await imageOf(deps, found, name) });
  }
  return generations;
}

/** The running ones among these containers that compose stops when it creates the containers of the release. */
export async function replacedAmong(
  deps: ComposeDependencies,
  found: ComparedRelease,
  { ids, signal }: { ids: ReadonlySet<string>; signal: AbortSignal },
): Promise<string[]> {
  const { containers } = await deps.containers.inspectProject();
  const running = new Set(containers.filter(({ State }) => State.Status === 'running').map(({ Id }) => Id));
  if (running.isDisjointFrom(ids)) return [];
  const { hashes } = await deps.compose.configurationHashes(found.release, signal);
  if (hashes instanceof Fault) throw hashes;
  const generations = await generationsOf(deps, found, hashes);
  const stopped = stoppedByCompose({ services: found.record.services, containers, generations });
  return stopped.filter((id) => running.has(id) && ids.has(id));
}

/** The image that a service of the release runs; for a release that is started again, the one that it ran. */
async function imageOf(
  { containers, vault }: ComposeDependencies,
  { fingerprints, record }: ComparedRelease,
  service: string,
): Promise<string | null> {
  if (fingerprints === undefined) return record.containers?.find((each) => each.service === service)?.image ?? null;
  const image = fingerprints.get(service)?.image;
  return image === undefined ? null : containers.imageId(vault.reveal(image));
}

/** A release whose services are replaced start-first now. */
interface ReplacedRelease extends ReplacementPlan {
  sha: Sha;
  release: ComposeRelease;
  record: ReleaseRecord;
  untouched: readonly string[];
  /** Finished one-shots that need no container. */
  excludedServices: readonly string[];
  /** Starts services in the usual way. */
  startServices: (names: ReadonlySet<string>) => Promise<StartedRelease>;
  /** Translates an error of compose. */
  rethrow: (error: unknown) => Promise<never>;
}

/**
 * Replaces services one after the other: new containers start beside the old ones, and the old ones stop when the new
 * ones are healthy. Each step follows from the containers that exist, so that a killed agent continues. A failure
 * removes the new containers of the service; the old ones were not touched.
 */
export async function replaceStartFirst(
  deps: ComposeDependencies,
  replaced: ReplacedRelease,
  signal: AbortSignal,
): Promise<void> {
  const missing = new Set(replaced.missing);
  await retireObsolete(deps, replaced.obsolete);
  for (const replacement of replaced.replacements) {
    const needed = new Set(replacement.needs).intersection(missing);
    if (needed.size > 0) await startNeeded(deps, replaced, needed, signal);
    for (const name of needed) missing.delete(name);
    await replaceService(deps, { ...replaced, ...replacement }, signal);
  }
  const services = replaced.replacements.map(({ service }) => service);
  if (services.length === 0) return;
  deps.recordDecision({ word: 'replaced', services });
  if (replaced.work === 'apply') deps.tick.journal.remarks.push(`replaced start-first: ${services.join(', ')}`);
}

/** Removes containers of other releases that are replaced by nothing. */
async function retireObsolete(deps: ComposeDependencies, obsolete: readonly string[]): Promise<void> {
  if (obsolete.length === 0) return;
  const { containers } = await deps.containers.inspectProject();
  const retired = containers.filter(({ Id }) => obsolete.includes(Id));
  for (const container of retired) await retire(deps, container);
  const names = retired.map(containerName).join(', ');
  deps.tick.journal.info(`removed, as containers of two releases were left: ${names}`);
}

/** Starts the services that a replaced one needs, and waits until they are healthy or have ended. */
async function startNeeded(
  deps: ComposeDependencies,
  { record, sha, startServices }: ReplacedRelease,
  needed: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  const { wait } = await startServices(needed);
  const left = record.services.map(({ name }) => name).filter((name) => !needed.has(name));
  await waitUntilHealthy(deps, { sha, wait, left }, signal);
  deps.memory.healthyContainers = null;
}

/** One service of the release. */
interface ReplacedService extends ReplacedRelease, Replacement {}

/** The replacement of one service while it runs. */
interface RunningReplacement extends ReplacedService, ReplacementProgress {
  healthy: Set<string>;
  started: Set<string>;
  /** Start of the attempt, in milliseconds: what a revert has started is younger. */
  sinceMs: number;
  hasStopped: boolean;
}

async function replaceService(
  deps: ComposeDependencies,
  replaced: ReplacedService,
  signal: AbortSignal,
): Promise<void> {
  const { releases, state, settings, tick } = deps;
  const { applied_sha, attempt } = state.state;
  const applied = applied_sha === null ? null : await releases.readRecord(applied_sha);
  const known = new Set((applied?.containers ?? []).map(({ id }) => id));
  const running: RunningReplacement = {
    ...replaced,
    ...{ healthy: new Set(), started: new Set(), hasStopped: false },
    sinceMs: Date.parse(attempt?.at ?? ''),
    isLeftover: ({ id }) => replaced.work === 'apply' && !known.has(id),
  };
  try {
    for (let isOpen = true; isOpen; isOpen = await takeStep(deps, running, signal)) throwIfStopped(signal);
  } catch (error) {
    const isLeft = replaced.work === 'apply' && settings.on_failure === 'leave';
    const isCut = !(error instanceof Fault) || isInterruption(error) || error.code === 'RUNTIME_UNAVAILABLE';
    const fault = isLeft || isCut ? null : await catchFault(() => removeFailed(deps, running));
    if (fault) tick.journal.warn(`start-first: containers of two releases of ${replaced.service}: ${fault.message}`);
    throw error;
  }
}

async function lookAt({ containers }: ComposeDependencies, running: RunningReplacement) {
  const created = await containers.inspectProject();
  return { created, replicas: replicasAmong(created.containers, running) };
}

/** Takes the next step; false if there is none. */
async function takeStep(deps: ComposeDependencies, running: RunningReplacement, signal: AbortSignal): Promise<boolean> {
  const { service, update } = running;
  const { created, replicas } = await lookAt(deps, running);
  const step = nextStep(replicas, update, running);
  switch (step.do) {
    case 'nothing':
      return false;
    case 'remove':
      for (const id of step.ids) await deps.containers.removeContainer(id);
      return true;
    case 'start': {
      if (running.hasStopped) await delay(update, signal);
      const existing = created.containers.filter((each) => serviceOf(each) === service).length;
      await startBeside(deps, { running, created, scale: { service, containers: existing + step.count } }, signal);
      return true;
    }
    case 'await':
      await awaitReplicas(deps, { ...running, created, ids: step.ids }, signal);
      for (const id of step.ids) running.healthy.add(id);
      return true;
    case 'retire': {
      const retired = created.containers.filter(({ Id }) => step.ids.includes(Id));
      await Promise.all(retired.map((container) => retire(deps, container)));
      deps.tick.journal.info(`start-first: ${service}: stopped ${retired.map(containerName).join(', ')}`);
      running.hasStopped = true;
      return true;
    }
  }
}

async function removeFailed(deps: ComposeDependencies, running: RunningReplacement): Promise<void> {
  const { created, replicas } = await lookAt(deps, running);
  const failed = new Set(failedReplicas(replicas, running));
  for (const container of created.containers.filter(({ Id }) => failed.has(Id))) await retire(deps, container);
}

async function delay({ delay_s }: StartFirst, signal: AbortSignal): Promise<void> {
  await pause(delay_s * 1000, undefined, { signal }).catch(() => undefined);
  throwIfStopped(signal);
}

interface StartedBeside {
  running: RunningReplacement;
  /** The resources that existed before. */
  created: CreatedResources;
  scale: { service: string; containers: number };
}

/** Creates containers beside the existing ones, compares them with the model, records and starts them. */
async function startBeside(
  deps: ComposeDependencies,
  { running, created, scale }: StartedBeside,
  signal: AbortSignal,
): Promise<void> {
  const { sha, release, started, rethrow, excludedServices, untouched, needs } = running;
  const { compose, tick } = deps;
  const existed = new Set(created.containers.map(({ Id }) => Id));
  const isNew = (each: CreatedContainer) => serviceOf(each) === scale.service && !existed.has(each.Id);
  const options = {
    scale,
    withDependencies: !needs.some((name) => untouched.includes(name)),
    excludedServices: excludedServices.filter((name) => needs.includes(name)),
  };
  const create = () => compose.create(release, options, signal).catch(rethrow);
  await create();
  const after = await enforceModel(deps, { sha, release, create, isOwn: isNew }, signal);
  const own = after.containers.filter(isNew);
  for (const { Id } of own) started.add(Id);
  if (own[0] !== undefined) running.generation = generationOf(own[0]);
  const recorded = after.containers.filter((each) => isNew(each) || isKept(each, running));
  await recordCreated(deps, sha, { before: created.containers, after: { ...after, containers: recorded } });
  const start = (until: AbortSignal) => compose.up({ ...release, scale }, [scale.service], until);
  await startWithHooks(deps, { sha, start }, signal).catch(rethrow);
  const names = own.map(containerName).join(', ');
  tick.journal.info(`start-first: ${scale.service}: started ${names} beside the others`);
}

/** False for a container of another release. A heal replaces only containers of the release. */
export function isKept(
  container: CreatedContainer,
  { replacements, work }: Pick<ReplacementPlan, 'replacements' | 'work'>,
): boolean {
  const replacement = replacements.find(({ service }) => service === serviceOf(container));
  return work === 'heal' || replacement === undefined || isOfGeneration(container, replacement.generation);
}

async function awaitReplicas(
  deps: ComposeDependencies,
  { record, service, update, created, ids }: ReplacedService & { created: CreatedResources; ids: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  const { settings } = deps;
  const healthcheck = created.containers.find(({ Id }) => ids.includes(Id))?.Config.Healthcheck;
  const demand = healthDemandOf(engineHealthcheckOf(healthcheck));
  const waitS = Math.min(Math.max(settings.health_timeout_s, demand.seconds), settings.health_timeout_max_s);
  await waitForContainers(deps, { record, service, ids, waitS, monitorS: update.monitor_s }, signal);
}

/** Takes a container out of service: stops it with its hooks, its own signal and its own time, and removes it. */
async function retire({ containers }: ComposeDependencies, container: CreatedContainer): Promise<void> {
  if (container.State.Status === 'running') await containers.stopContainer(container.Id);
  await containers.removeContainer(container.Id);
}
