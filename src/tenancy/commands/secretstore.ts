import { type Authorities, readAuthorities } from '../../core/certificateAuthorities.ts';
import { readRegularFile } from '../../core/files.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { PeerError } from '../peers/bundleStorage.ts';
import { type Administration, openAdministration } from '../peers/secretstoreClient.ts';
import {
  authMethod,
  desiredObjects,
  differenceOf,
  formatDifference,
  secretsEngine,
  type SetupDifference,
  type SetupMount,
  type SetupObject,
  type SetupTerms,
  type VerificationKeys,
} from '../secrets/setup.rules.ts';

/** Options of `deployd-tenancy secretstore plan|apply`. */
export interface SecretstoreOptions {
  action: 'plan' | 'apply';
  /** File with an administrator's token; null to use BAO_TOKEN or VAULT_TOKEN from the environment. */
  tokenFile: string | null;
  environment: Readonly<Record<string, string | undefined>>;
  /**
   * PEM file of the certificate authority by which the secretstore trusts `public_url`; null for the secretstore's
   * system authorities.
   */
  jwksCaFile: string | null;
  /** Public keys (PEM) to copy to the secretstore, which then fetches no keys; null to let it fetch them. */
  publicKeys: readonly string[] | null;
}

/** Results go to `log`, errors to `error`, for example of `console`. */
interface Output {
  log: (line: string) => void;
  error: (line: string) => void;
}

type SecretstoreSettings = Pick<
  TenancySettings,
  'public_url' | 'secretstore' | 'secretstore_url' | 'secretstore_ca' | 'secretstore_namespace'
>;

/**
 * `deployd-tenancy secretstore`: `plan` exits with 0 if there are no differences and with 1 otherwise; `apply` removes
 * the differences and exits with 0. Both exit with 2 if the secretstore cannot be used or an operator must decide.
 */
export async function secretstore(
  settings: SecretstoreSettings,
  options: SecretstoreOptions,
  out: Output,
): Promise<0 | 1 | 2> {
  try {
    return await compare(settings, options, out);
  } catch (error) {
    if (!(error instanceof SetupError || error instanceof PeerError)) throw error;
    out.error(error.message);
    return 2;
  }
}

async function compare(settings: SecretstoreSettings, options: SecretstoreOptions, out: Output): Promise<0 | 1> {
  const { secretstore_url: url, secretstore_ca: caFile, secretstore_namespace: namespace } = settings;
  if (settings.secretstore.listen !== null) {
    out.log('the secretstore is embedded in the service, and needs no setup');
    return 0;
  }
  const authorities = authoritiesIn(caFile);
  const terms = { issuer: settings.public_url, keys: verificationKeys(settings, options) };
  const administration = openAdministration({ url, authorities, namespace }, administratorToken(options));
  const isApplied = options.action === 'apply';
  let differences = 0;
  try {
    await setUpSecretstore({
      administration,
      terms,
      isApplied,
      report: (difference) => {
        differences += 1;
        for (const line of formatDifference(difference)) out.log(line);
      },
    });
  } finally {
    administration.close();
  }
  if (differences === 0) out.log('the secretstore is set up as deployd needs it');
  return differences > 0 && !isApplied ? 1 : 0;
}

function verificationKeys({ public_url }: SecretstoreSettings, options: SecretstoreOptions): VerificationKeys {
  const { publicKeys, jwksCaFile } = options;
  if (publicKeys !== null) return { publicKeys };
  return {
    jwksUrl: `${public_url}/.well-known/jwks.json`,
    jwksCa: jwksCaFile === null ? null : authoritiesIn(jwksCaFile).join('\n'),
  };
}

function administratorToken({ tokenFile, environment }: SecretstoreOptions): string {
  const given = tokenFile === null ? (environment['BAO_TOKEN'] ?? environment['VAULT_TOKEN']) : tokenIn(tokenFile);
  const token = given?.trim() ?? '';
  if (token !== '') return token;
  throw new SetupError(
    "an administrator's token is needed: --token-file, or BAO_TOKEN or VAULT_TOKEN in the environment",
  );
}

function authoritiesIn(file: string | null): Authorities {
  try {
    return readAuthorities(file);
  } catch (error) {
    throw new SetupError((error as Error).message);
  }
}

const MAX_TOKEN_BYTES = 65_536;

function tokenIn(file: string): string {
  try {
    return readRegularFile(file, MAX_TOKEN_BYTES).toString('latin1');
  } catch (error) {
    throw new SetupError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

/** The setup of the secretstore failed; the message describes the operator's next step. */
class SetupError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SetupError';
  }
}

/** One run of `deployd-tenancy secretstore`. */
interface SetupRun {
  administration: Administration;
  terms: SetupTerms;
  /** Whether to remove the differences; otherwise nothing is written. */
  isApplied: boolean;
  /** Called for each difference, before it is removed. */
  report: (difference: SetupDifference) => void;
}

/** Placeholder for the accessor of a mount that does not exist yet. */
const unknownAccessor = '<accessor>';

/** Compares the secretstore with the required setup, and applies the setup on request. Throws `SetupError`. */
async function setUpSecretstore(run: SetupRun): Promise<void> {
  await setUpMount(run, secretsEngine);
  const accessor = (await setUpMount(run, authMethod)) ?? unknownAccessor;
  const isMounted = accessor !== unknownAccessor;
  for (const object of desiredObjects(run.terms, accessor)) {
    const isBelowMount = object.path.startsWith('auth/');
    const present = isMounted || !isBelowMount ? await run.administration.read(object.path) : null;
    await remove(run, object, differenceOf(object, present));
  }
}

/** Returns the accessor of the mount; null if the mount does not exist afterwards. */
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
