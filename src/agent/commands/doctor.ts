import { ConfigInvalid } from '../../config/configInvalid.ts';
import { loadSettings, settingsDespite } from '../config/loadSettings.ts';
import { diagnosisOf, type Check, type Diagnosis } from '../../doctor/diagnosis.ts';
import { diagnosisJson, formatDiagnosis } from '../../doctor/formatDiagnosis.ts';
import { namedEnvOf } from '../config/namedEnvs.ts';
import { commandsOfEnv } from '../rules/status/commandsOfEnv.ts';
import type { Vault } from '../secrets/vault.ts';
import { examineEngine } from '../services/doctor/engine.ts';
import { checkFiles, examineIdentity } from '../services/doctor/files.ts';
import { examineOrchestrator } from '../services/doctor/orchestrator.ts';
import { checkNetwork } from '../services/doctor/network.ts';
import { examinePolicy } from '../services/doctor/policy.ts';
import { examineTrust } from '../services/doctor/trust.ts';
import { doctorContextOf, type DoctorInput } from '../services/doctor/doctorContext.ts';
import { checkTicks } from '../services/doctor/ticks.ts';
import type { Output } from './status.ts';

/** Options of `deployd doctor`. */
export interface DoctorOptions {
  configPath: string;
  json: boolean;
  version: string;
  vault: Vault;
  signal: AbortSignal;
}

/**
 * `deployd doctor`: exit 0 when every check passes, else 1, also with an invalid configuration. It keeps the user that started
 * it, writes nothing and takes no lock; it only pings the services and looks up the token.
 */
export async function doctor({ configPath, json, ...options }: DoctorOptions, out: Output): Promise<number> {
  const diagnosis = await runChecks({
    ...options,
    configPath,
    namedEnv: namedEnvOf(configPath),
    ...readConfig(configPath),
  });
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
    ...files,
    await examineIdentity(context),
    ...network,
    ...engine,
    ...(await examineOrchestrator(context)),
    policy,
    examineTrust(context),
    ...ticks,
  ];
  return diagnosisOf(made.map((check) => forEnv(check, input.namedEnv)));
}

function forEnv(check: Check, env: string | null): Check {
  const findings = check.findings.map(({ problem, fix }) => {
    return { problem: commandsOfEnv(problem, env), fix: commandsOfEnv(fix, env) };
  });
  return { ...check, detail: commandsOfEnv(check.detail, env), findings };
}
