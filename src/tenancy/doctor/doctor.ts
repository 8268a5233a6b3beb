import { ConfigInvalid } from '../../core/config/keyTable.ts';
import {
  type Check,
  checkConfig,
  checkDiskSpace,
  checkStateDir,
  diagnosisJson,
  diagnosisOf,
  formatDiagnosis,
  type ProgramUser,
  unknownCheck,
} from '../../core/doctor.rules.ts';
import { fileFactsOf, ownerOf } from '../../core/accounts.ts';
import { filesystemsOf } from '../../core/filesystems.ts';
import { dropPrivileges, NotAllowed } from '../../core/process.ts';
import { secretstore, type SecretstoreOptions } from '../commands/secretstore.ts';
import type { Output } from '../commands/storeAccess.ts';
import { configTable } from '../config/configKeys.ts';
import { loadSettings } from '../config/loadSettings.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { checkNamedFiles, checkSetup } from './doctor.rules.ts';
import { checkService } from './service.ts';

/** Options of `deployd-tenancy doctor`; an administrator's token is used for the set-up of the secretstore alone. */
interface DoctorOptions extends Omit<SecretstoreOptions, 'action'> {
  configPath: string;
  json: boolean;
}

/**
 * `deployd-tenancy doctor`: exit 0 when every check passes, else 1, also with an invalid configuration. Files are looked at
 * by the user that started it, everything else is tried by the user of the service. The directory of bundles is made where it is missing; nothing else is changed.
 */
export async function doctor(options: DoctorOptions, out: Pick<Output, 'log'>): Promise<number> {
  const diagnosis = diagnosisOf(await runChecks(options));
  out.log(options.json ? diagnosisJson(diagnosis) : formatDiagnosis(diagnosis));
  return diagnosis.passed ? 0 : 1;
}

async function runChecks(options: DoctorOptions): Promise<Check[]> {
  const { configPath } = options;
  const { settings, problems } = readConfig(configPath);
  const user = await serviceUserOf(settings?.state_dir ?? String(configTable.keys.state_dir.default));
  const config = checkConfig({ file: await fileFactsOf(configPath, user), problems }, user);
  if (settings === null) return [config, unknownCheck('service', 'its configuration is invalid')];
  const checks = [config, ...(await checkFiles(settings, user)), await planSetup(settings, options)];
  try {
    dropPrivileges(settings.state_dir, { program: packagedUser.name });
  } catch (error) {
    if (!(error instanceof NotAllowed)) throw error;
    return [...checks, unknownCheck('service', error.message)];
  }
  return [...checks, ...(await checkService(settings, options.jwksCaFile))];
}

function readConfig(path: string): { settings: TenancySettings | null; problems: string[] } {
  try {
    return { settings: loadSettings(path), problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    return { settings: null, problems: error.lines };
  }
}

async function planSetup(settings: TenancySettings, options: DoctorOptions): Promise<Check> {
  const { tokenFile, environment } = options;
  const hasToken = [tokenFile, environment['BAO_TOKEN'], environment['VAULT_TOKEN']].some(Boolean);
  if (!hasToken) return checkSetup(null, settings.secretstore_url);
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const exit = await secretstore(settings, { ...options, action: 'plan' }, { log, error: log });
  return checkSetup({ exit, lines }, settings.secretstore_url);
}

/** The user that the package creates, where the state directory does not tell another. */
const packagedUser: ProgramUser = { name: 'deployd-tenancy', uid: -1, gids: [] };

/** Bytes for the embedded store to grow. */
const STORE_BYTES = 2 ** 28;

/** The user that the service runs as: the owner of the state directory. */
async function serviceUserOf(stateDir: string): Promise<ProgramUser> {
  return (await ownerOf(stateDir)) ?? packagedUser;
}

/** Checks the state directory, the files that the configuration names, and the space of the disk. */
async function checkFiles(settings: TenancySettings, user: ProgramUser): Promise<Check[]> {
  const { state_dir, limits } = settings;
  const named = await Promise.all(secretFilesOf(settings).map((path) => fileFactsOf(path, user)));
  // a bundle that is pushed, unpacked and kept
  const neededBytes = STORE_BYTES + 2 * limits.bundle_bytes + limits.unpacked_bytes;
  const filesystems = await filesystemsOf([state_dir]);
  return [
    checkStateDir({ dir: await fileFactsOf(state_dir, user), foreignEntries: [] }, user),
    checkNamedFiles(named, user),
    checkDiskSpace({ known: filesystems.map((each) => ({ ...each, neededBytes, purpose: 'state' })) }),
  ];
}

/** Files that hold secrets. */
function secretFilesOf({ key_file, database_url_file, s3, mesh, oidc, kit, tls }: TenancySettings): string[] {
  const credentials = [s3.credentials_file, mesh.credentials_file, oidc.client_secret_file];
  const others = [...credentials, kit.download_token_file, tls.key_file];
  return [key_file, database_url_file, ...others].filter((file) => file !== null);
}
