import { endings } from '../../../machines/endings.ts';
import { outcomeOf } from '../../../machines/fault.ts';
import type { Settings } from '../config/settings.ts';
import type { Output } from '../journal/terminal.ts';
import { acquireLock } from '../state/lock.ts';
import { isInvalidState } from '../state/state.rules.ts';
import { readState, StateFile } from '../state/stateFile.ts';
import { openReleases } from './releases.ts';
import { describeLoss, withoutVolumes } from './volumes.rules.ts';

type Place = Pick<Settings, 'state_dir' | 'env'>;

/**
 * `deployd accept-volumes`: the release continues without the data of the named or all lost volumes. The next tick
 * creates empty volumes in their place. Exits with 1 when a named volume is not lost, 75 while a tick runs.
 */
export async function acceptVolumes(place: Place, names: readonly string[], out: Output): Promise<number> {
  try {
    const lock = await acquireLock(place.state_dir);
    try {
      return await accept(place, names, out);
    } finally {
      await lock.release();
    }
  } catch (error) {
    const { ending, lines } = outcomeOf(error, false);
    for (const line of lines) out.error(line);
    return endings[ending].meta.exit;
  }
}

async function accept({ state_dir, env }: Place, names: readonly string[], out: Output): Promise<number> {
  const found = await readState(state_dir);
  if (found === null || isInvalidState(found) || found.env !== env) {
    out.error('the state of this host cannot be read: sudo deployd doctor');
    return 1;
  }
  const file = new StateFile({ stateDir: state_dir, env, warn: (line) => out.error(line), rebuild: async () => ({}) });
  const { applied_sha, lost_volumes: lost = [] } = await file.load();
  const unknown = names.filter((name) => !lost.some((each) => each.name === name));
  if (unknown.length > 0) {
    out.error(`not lost: ${unknown.join(', ')}`);
    return 1;
  }
  if (lost.length === 0) out.log('no volume is lost');
  const isAccepted = ({ name }: { name: string }) => names.length === 0 || names.includes(name);
  const accepted = lost.filter(isAccepted);
  const releases = await openReleases(state_dir, env);
  const record = applied_sha === null ? null : await releases.readRecord(applied_sha);
  const acceptedNames = accepted.map(({ name }) => name);
  if (record !== null) await releases.writeRecord(record.sha, withoutVolumes(record, acceptedNames));
  await file.update({ lost_volumes: lost.filter((each) => !isAccepted(each)) });
  for (const each of accepted) out.log(`accepted: ${describeLoss(each)}; the next tick continues without its data`);
  return 0;
}
