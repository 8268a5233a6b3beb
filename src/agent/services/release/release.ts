import { failure, Fault } from '../../../../machines/fault.ts';
import type { ComposeRelease, Pull } from '../../adapters/compose/compose.ts';
import { OVERRIDE_FILE } from '../../adapters/files/ownFiles.ts';
import { parseEnvFile } from '../../rules/bundle/envFile.ts';
import { serviceOf, type Creation } from '../../rules/created/created.ts';
import { renewal, type Inspected } from '../../rules/health/health.ts';
import { holdToModel, removeHalfMade } from './created.ts';
import { leftOut } from './jobs.ts';
import { broughtUpNow, type Tools } from '../tools.ts';

/** A release on disk as compose takes it: its real path, its files and the override with the content labels. */
export async function composeReleaseOf({ releases }: Tools, sha: string): Promise<ComposeRelease> {
  const record = await releases.readRecord(sha);
  if (record === null)
    throw new Fault('failed', `failed: release ${sha} is incomplete`, { code: 'RELEASE_INCOMPLETE' });
  return { dir: releases.pathOf(sha), files: [...record.compose, OVERRIDE_FILE] };
}

/**
 * compose up of a release in two steps: what it consists of is made and held to the model that was judged, then started. From
 * local images unless missing ones may be pulled; half-made containers go first.
 */
export async function bringUp(
  tools: Tools,
  { sha, pull }: { sha: string; pull: Pull },
  signal: AbortSignal,
): Promise<void> {
  const { compose, tick } = tools;
  const release = await composeReleaseOf(tools, sha);
  tick.well = null;
  const before = await removeHalfMade(tools);
  tick.broughtUp = broughtUpNow(before.map(startOf));
  const blame = (error: unknown) => blameEngine(tools, error);
  const { without, rest } = await leftOut(tools, sha);
  const make = () => compose.create(release, { pull, without }, signal).catch(blame);
  await make();
  const after = await holdToModel(tools, { sha, release, make }, signal);
  if (rest?.length !== 0) await compose.up(release, rest, signal).catch(blame);
  tools.note({ word: 'started', ...renewal(before.map(ownedOf), after.map(ownedOf)) });
}

function startOf({ Id, State }: Creation): { id: string; startedMs: number } {
  return { id: Id, startedMs: Date.parse(State.StartedAt ?? '') };
}

function ownedOf(container: Creation): { id: string; service: string } {
  return { id: container.Id, service: serviceOf(container) };
}

/** A failure of compose that a silent engine explains is the engine's. */
export async function blameEngine({ containers }: Tools, error: unknown): Promise<never> {
  if (error instanceof Fault && error.ending === 'failed' && !(await containers.answers()))
    throw failure('RUNTIME_UNAVAILABLE', `the container engine does not answer: ${error.message}`);
  throw error;
}

/** The containers of the project's services; those that were just found well are not looked at again. */
export async function containersNow({ containers, tick }: Tools): Promise<Inspected[]> {
  return tick.well ?? containers.list();
}

/** Makes the values of a release's `.env` known to the redactor before compose is heard; false where none can be read. */
export async function guardEnv({ releases, vault }: Tools, sha: string): Promise<boolean> {
  const values = parseEnvFile((await releases.readEnv(sha)) ?? '');
  if (values === null) return false;
  for (const [name, value] of values) if (!name.startsWith('DEPLOYD_')) vault.guard(value);
  return true;
}
