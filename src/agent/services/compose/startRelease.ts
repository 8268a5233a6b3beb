import { failedFault, Fault } from '../../../../machines/fault.ts';
import type { Pull } from '../../adapters/compose/compose.ts';
import { printable } from '../../../protocol/printable.ts';
import { serviceOf, type CreatedContainer } from '../../rules/createdContainers/createdContainer.ts';
import { saysEngineAway } from '../../rules/errors/engineAnswer.ts';
import { ambiguousNetworks } from '../../rules/createdContainers/ambiguousNetworks.ts';
import { failedAtStart } from '../../rules/health/failedStart.ts';
import { compareContainers } from '../../rules/health/health.ts';
import { describeUnhealthy } from '../../rules/health/unhealthyServices.ts';
import { causeLine, causeSaid, describeCause, type FoundCause } from '../../../protocol/findCause.ts';
import type { EngineHealthcheck } from '../../../bundle/rules/wait/healthcheck.ts';
import { releaseWaitOf } from '../../rules/release/releaseWait.ts';
import { enforceModel, removeOtherServices, removePartiallyCreated } from './createdContainers.ts';
import { recordCreated } from './recordContainers.ts';
import { startCreated } from './startCreated.ts';
import { servicesToStart } from './oneShots.ts';
import { catchFault } from '../catchFault.ts';
import type { Dependencies } from '../dependencies.ts';
import { joinTails, lastWordsOf } from '../health/logTail.ts';
import { completeRecord, composeReleaseOf } from '../release/composeRelease.ts';
import { composeUpNow } from '../tickScope.ts';

/** A release to start, and how. */
interface Start {
  sha: string;
  pull: Pull;
  /**
   * Starts all other services where the engine cannot remove what is left of a container, before that fails the start. Without it
   * nothing is stopped or started then.
   */
  despiteStuck?: boolean;
  /** Services that nobody waits for. */
  left?: readonly string[];
}

/**
 * Starts a release in two steps: compose creates the containers, which are compared with the validated model, then starts them.
 * Partially created containers, and those of services that the release does not run, are removed first; images are local unless `pull` allows to pull missing ones.
 */
export async function startRelease(
  deps: Dependencies,
  { sha, pull, despiteStuck = false, left = [] }: Start,
  signal: AbortSignal,
): Promise<void> {
  const { compose, settings, tick } = deps;
  const release = await composeReleaseOf(deps, sha);
  tick.healthyContainers = null;
  await expectDistinctNetworks(deps);
  const { before, stuck } = await removePartiallyCreated(deps);
  const [stuckFault] = stuck.values();
  if (stuckFault && !despiteStuck) throw stuckFault;
  const record = await completeRecord(deps, sha);
  await removeOtherServices(deps, before, record);
  tick.lastComposeUp = composeUpNow(before.map(startOf));
  const rethrow = (error: unknown) => rethrowWithCause(deps, error);
  const { without: excludedServices, rest } = await servicesToStart(deps, sha);
  const kept = [...stuck.keys(), ...pausedServices(before)];
  const only = kept.length > 0 ? await servicesWithout(deps, sha, [...excludedServices, ...kept]) : null;
  const create = async () => {
    if (only?.length === 0) return;
    const options = { pull, excludedServices, only };
    await compose.create(release, options, signal).catch(rethrowAsTakenName).catch(rethrow);
  };
  await create();
  const after = await enforceModel(deps, { sha, release, create }, signal);
  await recordCreated(deps, sha, { before, after });
  tick.releaseWait = releaseWaitOf(record.services, healthchecksOf(after.containers), settings);
  const started = only ?? rest;
  if (started?.length !== 0)
    await startCreated(deps, { release, record, services: started, left }, signal).catch(rethrow);
  const now = after.containers.map(ownedOf);
  deps.recordDecision({ word: 'started', ...compareContainers(before.map(ownedOf), now) });
  if (stuckFault) throw stuckFault;
}

/** Services with a paused container: compose fails when it is to start one. */
function pausedServices(before: readonly CreatedContainer[]): string[] {
  return before.filter(({ State }) => State.Status === 'paused').map(serviceOf);
}

async function servicesWithout(deps: Dependencies, sha: string, names: readonly string[]): Promise<string[]> {
  const { services } = await completeRecord(deps, sha);
  return services.map(({ name }) => name).filter((name) => !names.includes(name));
}

/** Throws UP_FAILED where two networks have the name of one of the project's: no container could join them, so none is stopped. */
export async function expectDistinctNetworks({ containers, project }: Dependencies): Promise<void> {
  const [ambiguous] = ambiguousNetworks(await containers.networks(), project);
  if (ambiguous === undefined) return;
  const { name, ids } = ambiguous;
  const what = `${name}: ${ids.map((id) => id.slice(0, 12)).join(', ')}`;
  throw failedFault('UP_FAILED', describeCause({ name: 'network-ambiguous', what }));
}

function startOf({ Id, State }: CreatedContainer): { id: string; startedMs: number } {
  return { id: Id, startedMs: Date.parse(State.StartedAt ?? '') };
}

/** The healthcheck of each service that has a container. */
function healthchecksOf(created: readonly CreatedContainer[]): Map<string, EngineHealthcheck | null> {
  return new Map(created.map((container) => [serviceOf(container), container.Config.Healthcheck ?? null]));
}

function ownedOf(container: CreatedContainer): { id: string; service: string } {
  return { id: container.Id, service: serviceOf(container) };
}

/** Throws UP_FAILED with the container's name in place of a compose failure over a name that another container has. */
function rethrowAsTakenName(error: unknown): never {
  const tail = error instanceof Fault ? (error.tail ?? '') : '';
  const [, name] = /container name "\/?([^"]+)" is already in use/.exec(tail) ?? [];
  if (name === undefined) throw error;
  const line = `UP_FAILED: the container name ${printable(name)} is taken by another container`;
  throw new Fault('failed', line, { code: 'UP_FAILED', tail });
}

/**
 * Throws a failed start with the services that it failed at, and what their containers printed last, before a revert removes
 * them.
 */
async function rethrowWithCause(deps: Dependencies, error: unknown): Promise<never> {
  const fault = await rethrowAsEngineFault(deps, error).catch((other: unknown) => other);
  if (!(fault instanceof Fault) || fault.code !== 'UP_FAILED') throw fault;
  const output = fault.tail ?? '';
  const { starts } = deps.tick.lastComposeUp;
  const found = await catchFault(() => deps.containers.list());
  const failed = found instanceof Fault ? [] : failedAtStart(found, { starts, output });
  if (failed.length === 0) throw fault;
  const watched = failed.map((container) => {
    const lastExit = container.state === 'created' ? null : container.exitCode;
    return { container, healthStatus: 'failed' as const, lastExit };
  });
  const services = [...new Set(failed.map(({ service }) => service))].sort();
  deps.recordDecision({ word: 'unhealthy', services });
  const { tail, cause } = await lastWordsOf(deps, failed);
  throw failedStartFault(fault, { tail, cause, services: describeUnhealthy(watched, services) });
}

/** The same failure, with services and cause in its further line; a container may tell a better cause than compose. */
function failedStartFault(
  fault: Fault,
  { tail, cause, services }: { tail: string; cause: FoundCause | null; services: string },
): Fault {
  const told = causeSaid(fault.tail ?? '');
  const shown = told === null || told.name === 'dependency-failed' ? (cause ?? told) : told;
  const details = { code: 'UP_FAILED', tail: joinTails(fault.tail, tail), moreLines: [causeLine(shown, services)] };
  return new Fault('failed', fault.message, details);
}

/** Throws RUNTIME_UNAVAILABLE in place of a compose failure when the engine did or does not answer, else the error. */
export async function rethrowAsEngineFault({ containers }: Dependencies, error: unknown): Promise<never> {
  if (!(error instanceof Fault) || error.ending !== 'failed') throw error;
  const tail = error.tail ?? '';
  if (!saysEngineAway(tail) && (await containers.isReachable())) throw error;
  const line = `RUNTIME_UNAVAILABLE: the container engine does not answer: ${error.message}`;
  throw new Fault('failed', line, { code: 'RUNTIME_UNAVAILABLE', tail });
}
