import { PeerError } from '../peers/bundleStorage.ts';
import type { Administration } from '../peers/secretstoreClient.ts';
import {
  authMethod,
  desiredObjects,
  differenceOf,
  secretsEngine,
  type SetupDifference,
  type SetupMount,
  type SetupObject,
  type SetupTerms,
} from './setup.rules.ts';

/** A secretstore that cannot be set up; the message says what an operator has to do. */
export class SetupError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SetupError';
  }
}

/** One run of `deployd-tenancy secretstore`. */
export interface SetupRun {
  administration: Administration;
  terms: SetupTerms;
  /** Whether differences are removed; else nothing is written. */
  isApplied: boolean;
  /** Called for each difference, before it is removed. */
  report: (difference: SetupDifference) => void;
}

/** Stands for the accessor of a mount that does not exist yet. */
const unknownAccessor = '<accessor>';

/** Compares the secretstore with what deployd needs there, and sets it up if that is asked for. Throws `SetupError`. */
export async function setUpSecretstore(run: SetupRun): Promise<void> {
  await setUpMount(run, secretsEngine);
  const accessor = (await setUpMount(run, authMethod)) ?? unknownAccessor;
  const isMounted = accessor !== unknownAccessor;
  for (const object of desiredObjects(run.terms, accessor)) {
    const isBelowMount = object.path.startsWith('auth/');
    const present = isMounted || !isBelowMount ? await run.administration.read(object.path) : null;
    await remove(run, object, differenceOf(object, present));
  }
}

/** Returns the accessor of the mount, null if there is none after this. */
async function setUpMount(run: SetupRun, mount: SetupMount): Promise<string | null> {
  const present = await readMount(run, mount);
  const difference = differenceOf(mount, present);
  if (difference?.kind === 'different') {
    const wrong = difference.fields.map(({ name, present: is }) => `${name} ${JSON.stringify(is ?? null)}`).join(', ');
    throw new SetupError(`${mount.name} exists with ${wrong}: move it away, or change it as deployd requires`);
  }
  await remove(run, mount, difference);
  const { accessor } = (run.isApplied ? await readMount(run, mount) : present) ?? {};
  return typeof accessor === 'string' ? accessor : null;
}

async function readMount({ administration }: SetupRun, { list, key }: SetupMount) {
  const mounts = await administration.read(list);
  return (mounts?.[key] ?? null) as Record<string, unknown> | null;
}

async function remove(
  { administration, isApplied, report }: SetupRun,
  { path, fields, remedy }: SetupObject,
  difference: SetupDifference | null,
): Promise<void> {
  if (difference === null) return;
  report(difference);
  if (!isApplied) return;
  await administration.write(path, fields).catch((error: unknown) => {
    throw error instanceof PeerError && remedy !== undefined ? new SetupError(`${error.message}; ${remedy}`) : error;
  });
}
