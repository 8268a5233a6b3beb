import { Fault } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/words.ts';
import type { Containers } from '../../adapters/engine/containers.ts';
import type { Releases } from '../../adapters/files/releases.ts';
import type { Settings } from '../../config/settings.ts';
import { isMadeOtherwise, uses } from '../../rules/created/otherwise.ts';
import { beyond, describeOwned, isNothing, nothing, type Owned } from '../../rules/release/owned.ts';
import type { State } from '../../rules/state/state.ts';
import { setAside } from './created.ts';
import { hiding } from './granted.ts';
import { isProduction } from './production.ts';
import type { Tools } from '../tools.ts';

/** Where leftovers are looked for. */
interface Place {
  containers: Containers;
  releases: Releases;
  settings: Settings;
}

/**
 * What of the project only failed attempts made, by the baseline of the state, and no container uses but those of its services.
 * Volumes only where they are known to be no production env's: `ordered` is what orders and bundle say of that (spec §12.11).
 */
export async function leftoversOf(place: Place, state: Readonly<State>, ordered: boolean): Promise<Owned> {
  const { containers } = place;
  const baseline = state.baseline ?? null;
  if (baseline === null) return nothing;
  const mayGo = baseline.volumes !== null && (await isProduction(place, state, ordered)) === false;
  const owned = await containers.owned();
  const made = beyond(
    { ...owned, volumes: mayGo ? owned.volumes : [] },
    { ...baseline, volumes: baseline.volumes ?? [] },
  );
  if (isNothing(made)) return made;
  const own = new Set((await containers.list()).map(({ id }) => id));
  const others = (await containers.holders()).filter(({ id }) => !own.has(id));
  return beyond(made, {
    volumes: others.flatMap(({ volumes }) => volumes),
    networks: others.flatMap(({ networks }) => networks),
  });
}

/** Once the release before is back: what only failed attempts made goes, as far as nothing uses it. A failure to is told. */
export async function removeLeftovers(tools: Tools): Promise<void> {
  const { containers, state, tick } = tools;
  try {
    const left = await leftoversOf(tools, state.state, false);
    if (isNothing(left)) return;
    await containers.removeOwned(left);
    const gone = beyond(left, await containers.owned());
    if (!isNothing(gone)) tick.journal.info(`removed, as only a failed bundle made it: ${describeOwned(gone)}`);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending !== 'failed') throw error;
    tick.journal.warn(`what only a failed bundle made may stay: ${error.message}`);
  }
}

/**
 * Before a bundle begins on what failed attempts left: of that goes what it wants otherwise. A volume is compared with its model;
 * networks, which hold nothing, go when another bundle made them. The containers in the way are set aside for compose.
 */
export async function clearForBundle(tools: Tools, sha: Sha): Promise<void> {
  const { containers, state, tick } = tools;
  const baseline = state.state.baseline ?? null;
  if (baseline === null) return;
  const left = await leftoversOf(tools, state.state, false);
  const gone = {
    volumes: left.volumes.length === 0 ? [] : await unfit(tools, left.volumes),
    networks: baseline.sha === sha ? [] : left.networks,
  };
  if (!isNothing(gone)) {
    const made = await containers.made();
    for (const container of made.containers.filter((each) => uses(each, gone))) await setAside(tools, container, made);
    await containers.removeOwned(gone);
    tick.journal.info(`made anew, as only a failed bundle made it: ${describeOwned(gone)}`);
  }
  await state.update({ baseline: { ...baseline, sha } });
}

async function unfit(tools: Tools, names: string[]): Promise<string[]> {
  const { granted } = tools.tick;
  if (granted === null) return [];
  const hide = await hiding(tools);
  const here = (await tools.containers.volumes()).filter(({ name }) => names.includes(name));
  return here.filter((volume) => isMadeOtherwise(granted, volume, hide)).map(({ name }) => name);
}
