import { dropPrivileges, NotAllowed } from '../../../platform/host/privileges.ts';
import { fileFactsOf } from '../../../platform/host/accounts.ts';
import { diagnosisOf, unknownCheck, type Check } from '../../../doctor/diagnosis.ts';
import { checkConfig } from '../../../doctor/fileChecks.ts';
import { diagnosisJson, formatDiagnosis } from '../../../doctor/formatDiagnosis.ts';
import { ConfigInvalid } from '../../../config/configInvalid.ts';
import { configKeys } from '../../config/configKeys.ts';
import { loadSettings } from '../../config/loadSettings.ts';
import type { TenancySettings } from '../../config/settings.ts';
import { checkSetup } from '../../rules/doctorChecks.ts';
import type { Output } from '../commandError.ts';
import { secretstore, type SecretstoreOptions } from '../secretstore.ts';
import { checkFiles, packagedUser, serviceUserOf } from './files.ts';
import { checkService } from './service.ts';

/** Options of `deployd-tenancy doctor`; an administrator's token is used for the set-up of the secretstore alone. */
export interface DoctorOptions extends Omit<SecretstoreOptions, 'action'> {
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
  const user = await serviceUserOf(settings?.state_dir ?? String(configKeys.state_dir.default));
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
