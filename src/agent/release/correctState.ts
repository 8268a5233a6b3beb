import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { endings } from '../../../machines/endings.ts';
import { outcomeOf } from '../../../machines/fault.ts';
import type { TrustedIdentity, TrustSettings } from '../../api/trust.rules.ts';
import { isEEXIST } from '../../core/errors.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import { asList, asRecord, parseJson } from '../../core/json.rules.ts';
import { signerLines } from '../../signatures/signatureFiles.ts';
import { plainPem, readPublicKey } from '../../signatures/trust.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Output } from '../journal/terminal.ts';
import { writeDurably } from '../state/durableFiles.ts';
import { mkdir, statIfExists } from '../state/fileSystem.ts';
import { acquireLock } from '../state/lock.ts';
import { isInvalidState, type State } from '../state/state.rules.ts';
import { readState, StateFile } from '../state/stateFile.ts';
import { openReleases } from './releases.ts';
import { describeLoss, withoutVolumes } from './volumes.rules.ts';

type Place = Pick<Settings, 'state_dir' | 'env'>;

/** The stored state of a host, for a command that corrects it. */
type Stored = Readonly<{ file: StateFile; state: Readonly<State> }>;

/**
 * `deployd accept-volumes`: the release continues without the data of the named or all lost volumes. The next tick
 * creates empty volumes in their place. Exits with 1 when a named volume is not lost, 75 while a tick runs.
 */
export async function acceptVolumes(place: Place, names: readonly string[], out: Output): Promise<number> {
  return correct(place, out, async ({ file, state: { applied_sha, lost_volumes: lost = [] } }) => {
    const unknown = names.filter((name) => !lost.some((each) => each.name === name));
    if (unknown.length > 0) {
      out.error(`not lost: ${unknown.join(', ')}`);
      return 1;
    }
    if (lost.length === 0) out.log('no volume is lost');
    const isAccepted = ({ name }: { name: string }) => names.length === 0 || names.includes(name);
    const accepted = lost.filter(isAccepted);
    const releases = await openReleases(place.state_dir, place.env);
    const record = applied_sha === null ? null : await releases.readRecord(applied_sha);
    const acceptedNames = accepted.map(({ name }) => name);
    if (record !== null) await releases.writeRecord(record.sha, withoutVolumes(record, acceptedNames));
    await file.update({ lost_volumes: lost.filter((each) => !isAccepted(each)) });
    for (const each of accepted) out.log(`accepted: ${describeLoss(each)}; the next tick continues without its data`);
    return 0;
  });
}

/**
 * `deployd trust reset --sequence N`: the host accepts bundles from sequence N, whatever it has applied. It is the way
 * back after somebody signed a bundle of a very high sequence with a stolen key, and gives a new host the sequence
 * below which it accepts nothing. With `ifUnknown` it changes only a host that knows none. `share` writes the sequence
 * of the managers of a swarm first, and resolves to the previous one. Exits with 75 while a tick runs.
 */
export async function resetSequence(
  place: Place,
  { sequence, ifUnknown = false, share }: SequenceReset,
  out: Output,
): Promise<number> {
  return correct(place, out, async ({ file, state }) => {
    const isKept = (known: number) => ifUnknown && known > 0;
    const known = share === undefined ? state.highest_sequence : await share(state, isKept);
    if (isKept(known)) {
      out.log(`unchanged: bundles from sequence ${known} are accepted`);
      return 0;
    }
    await file.update({ highest_sequence: sequence, highest_sha: null });
    out.log(`reset: bundles from sequence ${sequence} are accepted; before, from ${known}`);
    return 0;
  });
}

/** The sequence that a host accepts from now on. */
interface SequenceReset {
  sequence: number;
  ifUnknown?: boolean;
  share?: ((state: Readonly<State>, isKept: (known: number) => boolean) => Promise<number>) | undefined;
}

async function correct(place: Place, out: Output, change: (stored: Stored) => Promise<number>): Promise<number> {
  try {
    const lock = await acquireLock(place.state_dir);
    try {
      const stored = await storedState(place, out);
      return stored === null ? 1 : await change(stored);
    } finally {
      await lock.release();
    }
  } catch (error) {
    const { ending, lines } = outcomeOf(error, false);
    for (const line of lines) out.error(line);
    return endings[ending].meta.exit;
  }
}

async function storedState({ state_dir, env }: Place, out: Output): Promise<Stored | null> {
  const found = await readState(state_dir);
  if (found !== null && (isInvalidState(found) || found.env !== env)) {
    out.error('the state of this host cannot be read: sudo deployd doctor');
    return null;
  }
  const isLost = found === null && (await (await openReleases(state_dir, env)).list()).length > 0;
  if (isLost) {
    out.error('state.json is missing, and this host has releases: `sudo deployd run --once` rebuilds it first');
    return null;
  }
  const file = new StateFile({ stateDir: state_dir, env, warn: (line) => out.error(line), rebuild: async () => ({}) });
  return { file, state: await file.load() };
}

/** False if there is something else by this path: the agent's account may create entries beside the configuration. */
async function makeOwnDirectory(path: string): Promise<boolean> {
  await mkdir(path, { mode: 0o755 }).catch((error: unknown) => {
    if (!isEEXIST(error)) throw error;
  });
  const found = await statIfExists(path);
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}

/** The text of a file; empty if it cannot be read. */
function readOrEmpty(file: string): string {
  try {
    return readRegularFile(file, maxTrustBytes).toString('utf8');
  } catch {
    return '';
  }
}

/** Most bytes of the trusted signers of a kit: 64 keys and a trust root. */
const maxTrustBytes = 6 * 2 ** 20;

/**
 * `deployd trust store FILE`: stores the trusted signers of an install kit in files beside the configuration, and prints
 * the line of config.yaml that names them. People compare the printed fingerprints. A file is named by its content, so
 * that the signers in use stay until the line is replaced. Exits with 1 for a text that is not a trust.
 */
export async function storeTrust(configFile: string, file: string, out: Output): Promise<number> {
  const { threshold = 1, keys, identities, root = null } = asRecord(parseJson(readOrEmpty(file)));
  const pems = asList(keys).map(String);
  const faults = pems.flatMap((pem, index) => {
    const read = readPublicKey(pem);
    return typeof read === 'string' ? [`key ${index + 1} ${read}`] : [];
  });
  const names = asList(identities).map((each) => asRecord(each) as unknown as TrustedIdentity);
  if (pems.length + names.length === 0) faults.push(`${file} contains neither keys nor identities`);
  if (names.length > 0 && root === null) faults.push(`${file} contains identities, and no trust root`);
  if (faults.length > 0) {
    out.error(`the trusted signers cannot be used: ${faults.join('; ')}`);
    return 1;
  }
  const directory = join(dirname(configFile), 'trust');
  if (!(await makeOwnDirectory(directory))) {
    out.error(`${directory} is not a directory of this user: see what it contains, and remove it`);
    return 1;
  }
  const store = async (kind: string, content: string) => {
    const path = join(directory, kind.replace('*', createHash('sha256').update(content).digest('hex').slice(0, 16)));
    await writeDurably(path, content, 0o644);
    return path;
  };
  const files: string[] = [];
  for (const pem of pems) files.push(await store('key-*.pem', plainPem(pem)));
  const bundles: TrustSettings = {
    threshold: Number(threshold),
    ...(files.length > 0 && { keys: [...new Set(files)] }),
    ...(names.length > 0 && { identities: names.map(({ issuer, subject }) => ({ issuer, subject })) }),
    ...(root !== null && { root: await store('root-*.json', JSON.stringify(root)) }),
  };
  const trust = { threshold: Number(threshold), keys: pems, identities: names };
  for (const line of signerLines({ ...trust, root: root === null ? null : JSON.stringify(root) })) out.error(line);
  out.log(`trust: ${JSON.stringify({ bundles })}`);
  return 0;
}
