import { failedFault, Fault } from '../../../../machines/fault.ts';
import type { Pull } from '../../adapters/compose/compose.ts';
import { printable } from '../../../protocol/printable.ts';
import { serviceOf, type CreatedContainer } from '../../rules/createdContainers/createdContainer.ts';
import { compareContainers } from '../../rules/health/health.ts';
import { enforceModel, removeOtherServices, removePartiallyCreated } from './createdContainers.ts';
import { servicesToStart } from './oneShots.ts';
import type { Dependencies } from '../dependencies.ts';
import { completeRecord, composeReleaseOf } from '../release/composeRelease.ts';
import { composeUpNow } from '../tickScope.ts';

/**
 * Starts a release in two steps: compose creates the containers, which are compared with the validated model, then starts them.
 * Partially created containers, and those of services that the release does not run, are removed first; images are local unless `pull` allows to pull missing ones.
 */
export async function startRelease(
  deps: Dependencies,
  { sha, pull }: { sha: string; pull: Pull },
  signal: AbortSignal,
): Promise<void> {
  const { compose, tick } = deps;
  const release = await composeReleaseOf(deps, sha);
  tick.healthyContainers = null;
  const before = await removePartiallyCreated(deps);
  await removeOtherServices(deps, before, await completeRecord(deps, sha));
  tick.lastComposeUp = composeUpNow(before.map(startOf));
  const rethrow = (error: unknown) => rethrowAsEngineFault(deps, error);
  const { without: excludedServices, rest } = await servicesToStart(deps, sha);
  const create = () =>
    compose.create(release, { pull, excludedServices }, signal).catch(rethrowAsTakenName).catch(rethrow);
  await create();
  const after = await enforceModel(deps, { sha, release, create }, signal);
  if (rest?.length !== 0) await compose.up(release, rest, signal).catch(rethrow);
  deps.recordDecision({ word: 'started', ...compareContainers(before.map(ownedOf), after.map(ownedOf)) });
}

function startOf({ Id, State }: CreatedContainer): { id: string; startedMs: number } {
  return { id: Id, startedMs: Date.parse(State.StartedAt ?? '') };
}

function ownedOf(container: CreatedContainer): { id: string; service: string } {
  return { id: container.Id, service: serviceOf(container) };
}

/** Throws UP_FAILED with the container's name in place of a compose failure over a name that another container has. */
function rethrowAsTakenName(error: unknown): never {
  const tail = error instanceof Fault ? (error.tail ?? '') : '';
  const [, name] = /container name "\/?([^"]+)" is already in use/.exec(tail) ?? [];
  if (name === undefined) throw error;
  throw failedFault('UP_FAILED', `the container name ${printable(name)} is taken by another container`);
}

/** Throws RUNTIME_UNAVAILABLE in place of a compose failure when the engine does not answer, else the error. */
export async function rethrowAsEngineFault({ containers }: Dependencies, error: unknown): Promise<never> {
  if (error instanceof Fault && error.ending === 'failed' && !(await containers.isReachable()))
    throw failedFault('RUNTIME_UNAVAILABLE', `the container engine does not answer: ${error.message}`);
  throw error;
}
