import { ConfigInvalid } from '../../core/config/keyTable.ts';
import { type Check, type Diagnosis, diagnosisJson, diagnosisOf, formatDiagnosis } from '../../core/doctor.rules.ts';
import { loadSettings, settingsDespite } from '../config/loadSettings.ts';
import { scopeOf, withCommandsOf, withPodmanCommands } from '../config/namedEnvs.ts';
import type { Output } from '../journal/terminal.ts';
import type { Vault } from '../secrets/vault.ts';
import { examineEngine, examineOrchestrator, examineServices, examineUnusedVolumes } from './engine.ts';
import {
  checkFiles,
  type DoctorContext,
  doctorContextOf,
  type DoctorInput,
  examineConfig,
  examineIdentity,
  examinePolicy,
  examineTrust,
} from './host.ts';
import { checkNetwork } from './network.ts';
import { checkTicks } from './ticks.ts';
import { examineUpgrade } from './upgrade.ts';

/** Options of `deployd doctor`. */
export interface DoctorOptions {
  configPath: string;
  json: boolean;
  /** Reports how the new defaults of this version would change this host, instead of the usual checks. */
  beforeUpgrade?: boolean;
  version: string;
  vault: Vault;
  signal: AbortSignal;
}

/**
 * `deployd doctor`: exit 0 when every check passes, else 1, also with an invalid configuration. It runs as the user
 * that started it, writes nothing and takes no lock; it only pings the services and looks up the token.
 */
export async function doctor(
  { configPath, json, beforeUpgrade = false, ...options }: DoctorOptions,
  out: Output,
): Promise<number> {
  const input = { ...options, configPath, scope: scopeOf(configPath), ...readConfig(configPath) };
  const diagnosis = await (beforeUpgrade ? runUpgradeChecks : runChecks)(input);
  const text = json ? diagnosisJson(diagnosis) : formatDiagnosis(diagnosis);
  out.log(options.vault.redactor().redact(text));
  return diagnosis.passed ? 0 : 1;
}

function readConfig(configPath: string): Pick<DoctorInput, 'settings' | 'problems'> {
  try {
    return { settings: loadSettings(configPath), problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    return {
      settings: settingsDespite(configPath, error) as DoctorInput['settings'],
      problems: error.lines,
    };
  }
}

async function runChecks(input: DoctorInput): Promise<Diagnosis> {
  const context = await doctorContextOf(input);
  const checks = [checkFiles(context), examineEngine(context), checkNetwork(context), checkTicks(context)];
  const [files = [], engine = [], network = [], ticks = []] = await Promise.all(checks);
  const policy = await examinePolicy(context);
  const made = [
    await examineConfig(context),
    ...files,
    await examineIdentity(context),
    ...network,
    ...engine,
    ...(await examineOrchestrator(context)),
    policy,
    await examineTrust(context),
    ...ticks,
    await examineServices(context),
    await examineUnusedVolumes(context),
  ];
  return diagnosisOf(made.map((check) => withCommands(check, context)));
}

async function runUpgradeChecks(input: DoctorInput): Promise<Diagnosis> {
  const context = await doctorContextOf(input);
  const checks = [await examineConfig(context), ...(await examineUpgrade(context))];
  return diagnosisOf(checks.map((check) => withCommands(check, context)));
}

/** Names the commands of this host: of its agent's scope, and of its engine. */
function withCommands(check: Check, { scope, podman }: DoctorContext): Check {
  const named = (text: string) => withCommandsOf(scope, podman === null ? text : withPodmanCommands(text));
  const findings = check.findings.map(({ problem, fix }) => ({ problem: named(problem), fix: named(fix) }));
  return { ...check, detail: named(check.detail), findings };
}
