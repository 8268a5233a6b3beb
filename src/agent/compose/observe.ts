import { Fault } from '../../../machines/fault.ts';
import type { ServiceProblem } from '../../../machines/types.ts';
import type { InspectedContainer, ObservedContainer } from '../engine/container.rules.ts';
import type { ContainerExit } from '../engine/containerEvents.ts';
import type { Containers, ContainerStatus } from '../engine/containers.ts';
import { saysEngineAway } from '../engine/engineAnswer.rules.ts';
import { driftsAmong } from '../health/drift.rules.ts';
import { isRestartedTooOften } from '../health/healing.rules.ts';
import {
  deadNamespaces,
  hasCrashed,
  mayHaveCrashed,
  type ReleaseStart,
  reportedContainerOf,
} from '../health/health.rules.ts';
import { crashWindowOf, type ObserverDependencies } from '../health/observeHost.ts';
import { problemsOf } from '../health/unhealthyServices.rules.ts';
import { isProduction } from '../release/down.ts';
import type { AppliedRelease, Observation } from '../release/orchestrator.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';
import { namespacesOf } from '../release/services.rules.ts';
import { describeLoss, lostVolumes, volumesInDoubt } from '../release/volumes.rules.ts';
import type { LostVolume, RestartCount } from '../state/state.rules.ts';
import type { SecretsDependencies } from '../apply/readSecrets.ts';
import type { ImageKeepers } from '../release/garbage.ts';
import type { Compose } from '../engine/compose.ts';

/** Dependencies of starting, observing and removing containers. */
export interface ComposeDependencies extends ObserverDependencies, SecretsDependencies, ImageKeepers {
  readonly containers: Containers;
  readonly compose: Compose;
  readonly memory: ComposeMemory;
}

/** Facts that the container changes of a tick leave for the next one, also when they fail. */
export interface ComposeMemory {
  readonly tickId: string;
  /** The containers that the last wait found healthy, until compose changes them; without health logs, which may hold secrets. */
  healthyContainers: InspectedContainer[] | null;
  /** Tags that this tick pulled, and the image ids that they have named since then. */
  pulledTags: ReadonlyMap<string, string>;
  /** When compose last started a release; until then, the start of the tick. */
  lastComposeUp: ReleaseStart;
}

/** Lists the containers of the project's services and determines their health. */
export async function observe(deps: ObserverDependencies, applied: AppliedRelease | null): Promise<Observation> {
  const containers = await deps.containers.listStatuses();
  const found = applied === null ? {} : await findProblems(deps, containers, applied);
  return { containers: containers.map(reportedContainerOf), problems: [], ...found };
}

/** Only containers whose list entry is ambiguous are inspected. */
async function findProblems(
  deps: ObserverDependencies,
  containers: ContainerStatus[],
  { sha, services, finished }: AppliedRelease,
): Promise<Omit<Observation, 'containers'>> {
  const expected = containers.filter(({ service }) => finished?.has(service) !== true);
  const judged = await Promise.all(
    expected.map(async (container): Promise<ObservedContainer> => {
      const isUnhealthy = container.state === 'running' && container.health === 'unhealthy';
      return (isUnhealthy && !('startedMs' in container) && (await deps.containers.inspect(container))) || container;
    }),
  );
  const { problems: crashes, restarts } = await crashProblems(deps, judged);
  const record = deps.state.state.attempt === null ? await deps.releases.readRecord(sha) : null;
  const drifts = record === null ? [] : driftsAmong(containers, record, deps.settings.drift);
  const losses = record === null ? [] : await findLosses(deps, containers, { record, services });
  const namespaces = await namespaceProblems(deps, { judged, all: containers }, services);
  const due = containers.filter(({ id }) => isPostStartDue(record, id)).map(postStartProblem);
  const drifted = new Set(drifts.flatMap(({ containers: ids }) => ids));
  const ofHealth = [...problemsOf(judged, services, deps.settings.heal_unhealthy), ...crashes, ...namespaces].filter(
    ({ containers: ids }) => ids.length === 0 || !ids.every((id) => drifted.has(id)),
  );
  return {
    problems: [...ofHealth, ...due, ...drifts, ...(await problemsOfLosses(deps, losses))],
    restarts,
    findings: [
      ...drifts.map(({ service, detail }) => `drift: ${service}: ${detail}`),
      ...losses.map((loss) => `volume lost: ${loss.services.join(', ')}: ${describeLoss(loss)}`),
    ],
    lostVolumes: losses,
  };
}

/** True for a container that a killed agent started, and that has not run its `post_start`. */
function isPostStartDue(record: ReleaseRecord | null, id: string): boolean {
  return record?.containers?.some((each) => each.id === id && each.post_start_due === true) === true;
}

function postStartProblem({ id, service }: ContainerStatus): ServiceProblem {
  return { service, detail: 'post_start has not run', cure: 'start', containers: [id], isFailure: true };
}

/** Inspects the containers that share namespaces, and the containers that own these. */
async function namespaceProblems(
  { containers }: ObserverDependencies,
  { judged, all }: { judged: ObservedContainer[]; all: ObservedContainer[] },
  services: AppliedRelease['services'],
): Promise<ServiceProblem[]> {
  const sharing = new Set(services.filter((each) => namespacesOf(each).length > 0).map(({ name }) => name));
  const suspects = judged.filter(({ service, shares }) => shares !== undefined || sharing.has(service));
  const inspect = async (container: ObservedContainer) =>
    'startedMs' in container ? container : containers.inspect(container);
  const members = (await Promise.all(suspects.map(inspect))).filter((each) => each !== null);
  const references = new Set(members.flatMap(({ shares = [] }) => shares.map(({ owner }) => owner)));
  const owners = new Map(
    await Promise.all(
      [...references].map(async (reference) => {
        const listed = all.find(({ id, name }) => id === reference || name === reference);
        return [reference, await (listed ? inspect(listed) : containers.inspect({ id: reference }))] as const;
      }),
    ),
  );
  return deadNamespaces(
    members,
    owners,
    (service, part) =>
      services.find(({ name }) => name === service)?.joins?.find((each) => each.part === part)?.service,
  );
}

/** Asks the engine for its volumes only when no container that mounted one is left. */
async function findLosses(
  { containers }: ObserverDependencies,
  present: ContainerStatus[],
  { record, services }: { record: ReleaseRecord; services: AppliedRelease['services'] },
): Promise<LostVolume[]> {
  const doubtful = volumesInDoubt(record, present, services);
  return doubtful.length === 0 ? [] : lostVolumes(doubtful, record, await containers.existingVolumes());
}

/**
 * On a production environment nothing is healed until an operator accepts the loss: a heal would create empty volumes.
 */
async function problemsOfLosses(deps: ObserverDependencies, losses: LostVolume[]): Promise<ServiceProblem[]> {
  if (losses.length === 0) return [];
  const isSafe = (await isProduction(deps, deps.state.state, false)) === false;
  return losses.flatMap((loss) =>
    loss.services.map((service): ServiceProblem => {
      const detail = isSafe
        ? describeLoss(loss)
        : `${describeLoss(loss)}; bring it back, or continue without its data: sudo deployd accept-volumes`;
      return { service, detail, cure: isSafe ? 'start' : 'accept', containers: [], isFailure: true };
    }),
  );
}

/** The containers of the project's services; reuses containers that were just found healthy. */
export async function currentContainers({ containers, memory }: ComposeDependencies): Promise<InspectedContainer[]> {
  return memory.healthyContainers ?? containers.list();
}

/** Throws RUNTIME_UNAVAILABLE in place of a compose failure when the engine did or does not answer, else the error. */
export async function rethrowAsEngineFault({ containers }: ComposeDependencies, error: unknown): Promise<never> {
  if (!(error instanceof Fault) || error.ending !== 'failed') throw error;
  const tail = error.tail ?? '';
  if (!saysEngineAway(tail) && (await containers.isReachable())) throw error;
  const line = `RUNTIME_UNAVAILABLE: the container engine does not answer: ${error.message}`;
  throw new Fault('failed', line, { code: 'RUNTIME_UNAVAILABLE', tail });
}

/** Problems derived from restarts by the engine, and the counts for the next tick, by service. */
interface CrashFindings {
  problems: ServiceProblem[];
  restarts: ReadonlyMap<string, RestartCount>;
}

/**
 * Services with a container that crashed and was restarted by the engine since the previous tick, or that the engine restarts
 * more often than once a minute (spec §12.4). Only containers whose listed uptime is suspicious are inspected.
 */
async function crashProblems(deps: ObserverDependencies, observed: ObservedContainer[]): Promise<CrashFindings> {
  const window = crashWindowOf(deps);
  const candidates = observed.filter(
    (container) => container.state === 'restarting' || mayHaveCrashed(container, window),
  );
  const inspected = await Promise.all(candidates.map((container) => inspectListed(deps, container)));
  const restarted = inspected.filter((container) => container !== null).filter(({ restarts }) => restarts > 0);
  const at = new Date(window.nowMs).toISOString();
  const exits = restarted.length === 0 ? null : await deps.containers.exitsSince(window.nowMs - exitsMs);
  const problems = restarted.flatMap((container): ServiceProblem[] => {
    const { id, service, name, restarts, startedMs, health } = container;
    const failed = { service, containers: [id], isFailure: true };
    if (isRestartedTooOften(container, deps.state.state.healing?.[service]?.restarts, window.nowMs))
      return [
        { ...failed, detail: `restarted ${restarts} times by the engine${lastExitOf(exits?.get(id))}`, cure: 'none' },
      ];
    if (!hasCrashed(container, window) || health !== null) return [];
    deps.tick.journal.warn(
      `${name} died and was started again, last at ${new Date(startedMs).toISOString()}; restarts: ${restarts}`,
    );
    return [{ ...failed, detail: `restarted by the engine${lastExitOf(exits?.get(id))}`, cure: 'wait' }];
  });
  return {
    problems,
    restarts: new Map(restarted.map(({ id, service, restarts }) => [service, { id, count: restarts, at }])),
  };
}

/** Milliseconds that the search for the last exit goes back. */
const exitsMs = 600_000;

function lastExitOf(exit: ContainerExit | undefined): string {
  return exit === undefined ? '' : `, last exit ${exit.exitCode}${exit.oomKilled ? ' (out of memory)' : ''}`;
}

/** Null when the container is gone or the engine does not answer. */
async function inspectListed(
  { containers }: ObserverDependencies,
  container: ObservedContainer,
): Promise<InspectedContainer | null> {
  if (!('upMs' in container)) return container;
  return containers.inspect(container).catch((error: unknown) => {
    if (error instanceof Fault) return null;
    throw error;
  });
}
