import { setTimeout as pause } from 'node:timers/promises';
import { failedFault, Fault, isInterruption } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/types.ts';
import type { Compose } from '../engine/compose.ts';
import type { ContainerCommand, Containers } from '../engine/containers.ts';
import { catchFault, type RunningTick } from '../journal/journal.ts';
import { listOf, objectOf, textOf, textsOf } from '../release/model.rules.ts';
import type { RecordedContainer, ReleaseRecord } from '../release/record.rules.ts';
import { registerEnvForRedaction, type Releases } from '../release/releases.ts';
import type { Hook } from '../release/services.rules.ts';
import type { Vault } from '../secrets/vault.ts';
import type { StateStore } from '../state/stateFile.ts';

/** Dependencies of running the hooks of services. */
interface HookDependencies {
  readonly compose: Compose;
  readonly containers: Containers;
  readonly releases: Releases;
  readonly state: StateStore;
  readonly tick: RunningTick;
  readonly vault: Vault;
}

/** The hooks that ran in a tick, and the models that contain them. */
interface HookMemory {
  /** Containers whose `pre_stop` has run since their last start. */
  drained: Set<string>;
  /** The models of releases as compose renders them from the files of the bundle alone. */
  models: Map<Sha, Promise<unknown>>;
}

const memories = new WeakMap<RunningTick, HookMemory>();

function memoryOf({ tick }: HookDependencies): HookMemory {
  const memory = memories.get(tick) ?? { drained: new Set(), models: new Map() };
  memories.set(tick, memory);
  return memory;
}

/**
 * The same containers, but each stop and restart by the agent runs the hooks of the service: `pre_stop` before,
 * `post_start` after it. Compose runs neither, because the agent hides them from it.
 */
export function withHooks(
  containers: Containers,
  getDeps: () => HookDependencies & { stop: AbortController },
): Containers {
  return {
    ...containers,
    stopContainer: async (id) => {
      const deps = getDeps();
      await runPreStop(deps, [id], deps.stop.signal);
      await containers.stopContainer(id);
    },
    restartContainer: async (id) => {
      const deps = getDeps();
      await runPreStop(deps, [id], deps.stop.signal);
      const release = await releaseOf(deps, id);
      const service = serviceIn(release, id);
      const isDue = hooksOf(release, service)?.includes('post_start') === true;
      if (release !== null && isDue) await setDue(deps, release.sha, { id, isDue });
      memoryOf(deps).drained.delete(id);
      await containers.restartContainer(id);
      if (release !== null && isDue) await runPostStart(deps, release.sha, deps.stop.signal);
    },
  };
}

/** The record of the release that a container belongs to: the applied one, else one that made it. */
async function releaseOf({ releases, state }: HookDependencies, id: string): Promise<ReleaseRecord | null> {
  const { applied_sha } = state.state;
  for (const sha of [...(applied_sha === null ? [] : [applied_sha]), ...(await releases.listByAge())]) {
    const record = await releases.readRecord(sha);
    if (record?.containers?.some((each) => each.id === id) === true) return record;
  }
  return null;
}

function serviceIn(record: ReleaseRecord | null, id: string): string {
  return record?.containers?.find((each) => each.id === id)?.service ?? '';
}

/** The hooks of a service; undefined if an older agent rendered the release, so that compose knows them. */
function hooksOf(record: ReleaseRecord | null, service: string): readonly Hook[] | undefined {
  return record?.hooks === undefined ? undefined : (record.hooks[service] ?? []);
}

/** Runs `pre_stop` in containers that the agent, or compose for it, is about to stop; once for each. */
export async function runPreStop(deps: HookDependencies, ids: readonly string[], signal: AbortSignal): Promise<void> {
  const { containers, tick } = deps;
  const { drained } = memoryOf(deps);
  const run = async (id: string) => {
    const record = drained.has(id) ? null : await releaseOf(deps, id);
    const service = serviceIn(record, id);
    for (const command of record === null
      ? []
      : await commandsOf(deps, { record, service, hook: 'pre_stop' }, signal)) {
      const code = await catchFault(() => containers.runIn(id, command));
      if (code instanceof Fault && isInterruption(code)) throw code;
      const why = code instanceof Fault ? `fails: ${code.message}` : `ends with ${code}`;
      if (code !== 0 && code !== null) tick.journal.warn(`pre_stop of ${service} ${why}; the container is stopped`);
    }
    drained.add(id);
  };
  await Promise.all(ids.map(run));
}

/** Ids of the containers of releases whose services have `pre_stop`, with their services. */
export async function containersWithPreStop({ releases }: HookDependencies): Promise<Map<string, string>> {
  const records = await Promise.all((await releases.list()).map((sha) => releases.readRecord(sha)));
  const hooked = records.flatMap((record) =>
    (record?.containers ?? []).filter(({ service }) => hooksOf(record, service)?.includes('pre_stop')),
  );
  return new Map(hooked.map(({ id, service }) => [id, service]));
}

/** A hook of a service of a release. */
interface ServiceHook {
  record: ReleaseRecord;
  service: string;
  hook: Hook;
}

/**
 * The commands of a hook. They are read from the compose files, because the environment of a hook may contain secrets;
 * each release is rendered once.
 */
async function commandsOf(
  deps: HookDependencies,
  { record, service, hook }: ServiceHook,
  signal: AbortSignal,
): Promise<ContainerCommand[]> {
  const known = hooksOf(record, service);
  if (known === undefined ? hook === 'post_start' : !known.includes(hook)) return [];
  const { models } = memoryOf(deps);
  const model = models.get(record.sha) ?? render(deps, record, signal);
  models.set(record.sha, model);
  return listOf(objectOf(objectOf(objectOf(await model)['services'])[service])[hook]).map(commandOf);
}

async function render(
  deps: HookDependencies,
  { sha, compose: files, profiles = [] }: ReleaseRecord,
  signal: AbortSignal,
): Promise<unknown> {
  await registerEnvForRedaction(deps, sha);
  const release = { dir: deps.releases.pathOf(sha), files, profiles };
  const model = await catchFault(() => deps.compose.renderModel(release, signal));
  if (!(model instanceof Fault)) return model;
  if (isInterruption(model)) throw model;
  deps.tick.journal.warn(`the hooks of release ${sha} are not known: ${model.message}`);
  return {};
}

function commandOf(hook: unknown): ContainerCommand {
  const { command, user, working_dir, environment, privileged } = objectOf(hook);
  return {
    command: textsOf(command),
    environment: Object.entries(objectOf(environment)).map(([name, value]) => `${name}=${textOf(value)}`),
    user: textOf(user),
    workingDir: textOf(working_dir),
    privileged: privileged === true,
  };
}

/** Milliseconds between two looks at containers that compose starts. */
const lookMs = 200;

/**
 * Starts containers of a release, and runs `post_start` in each as soon as it runs: compose may wait for its health
 * before it starts the next one.
 */
export async function startWithHooks(
  deps: HookDependencies,
  { sha, start }: { sha: Sha; start: (signal: AbortSignal) => Promise<void> },
  signal: AbortSignal,
): Promise<void> {
  if ((await dueIn(deps, sha)).length === 0) return start(signal);
  const [over, failed] = [new AbortController(), new AbortController()];
  const started = start(AbortSignal.any([signal, failed.signal]));
  const settled = started.then(
    () => over.abort(),
    () => over.abort(),
  );
  try {
    while (!over.signal.aborted) {
      await runPostStart(deps, sha, signal, false);
      await pause(lookMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  } catch (error) {
    failed.abort();
    await settled;
    throw error;
  }
  await started;
  await runPostStart(deps, sha, signal);
}

/**
 * Runs `post_start` in the running containers of a release that have not run it. Throws UP_FAILED if one fails. After the
 * start, a container that has ended already does not run it.
 */
export async function runPostStart(
  deps: HookDependencies,
  sha: Sha,
  signal: AbortSignal,
  isStarted = true,
): Promise<void> {
  const { containers, releases } = deps;
  const record = await releases.readRecord(sha);
  const run = async ({ id, service }: RecordedContainer) => {
    const state = (await containers.inspect({ id }))?.state ?? 'exited';
    if (record === null || state !== 'running') return isStarted && ['exited', 'dead'].includes(state) ? [id] : [];
    for (const command of await commandsOf(deps, { record, service, hook: 'post_start' }, signal)) {
      const code = await containers.runIn(id, command);
      if (code !== 0 && code !== null) throw failedFault('UP_FAILED', `post_start of ${service} ended with ${code}`);
    }
    return [id];
  };
  const done = await Promise.all((await dueIn(deps, sha)).map(run));
  for (const id of done.flat()) await setDue(deps, sha, { id, isDue: false });
}

async function dueIn({ releases }: HookDependencies, sha: Sha): Promise<RecordedContainer[]> {
  return ((await releases.readRecord(sha))?.containers ?? []).filter(({ post_start_due }) => post_start_due === true);
}

async function setDue(
  { releases }: HookDependencies,
  sha: Sha,
  { id, isDue }: { id: string; isDue: boolean },
): Promise<void> {
  const record = await releases.readRecord(sha);
  if (record === null) return;
  const containers = (record.containers ?? []).map(({ post_start_due, ...each }) => {
    const stays = each.id === id ? isDue : post_start_due === true;
    return stays ? { ...each, post_start_due: true } : each;
  });
  await releases.writeRecord(sha, { ...record, containers });
}
