import { ConfigInvalid } from '../config/invalid.ts';
import { loadSettings } from '../config/load.ts';
import { mergeDefaults } from '../config/merge.ts';
import { diagnosisOf, type Diagnosis } from '../rules/doctor/doctor.ts';
import { doctorText } from '../rules/doctor/text.ts';
import type { Vault } from '../secrets/vault.ts';
import { examineEngine } from '../services/doctor/engine.ts';
import { examineFiles, examineIdentity } from '../services/doctor/files.ts';
import { examineNetwork } from '../services/doctor/network.ts';
import { siteOf, type Subject } from '../services/doctor/site.ts';
import { examineTicks } from '../services/doctor/ticks.ts';
import type { Output } from './status.ts';

/** Whom to examine, and in which form to tell. */
export interface DoctorOptions {
  configPath: string;
  json: boolean;
  version: string;
  vault: Vault;
  signal: AbortSignal;
}

/**
 * `deployd doctor`: exit 0 when all is well, else 1, also with a configuration that is wrong. It stays the user who started
 * it, writes nothing, takes no lock; it asks the services for nothing but a sign of life, and after the token.
 */
export async function doctor({ configPath, json, ...options }: DoctorOptions, out: Output): Promise<number> {
  const diagnosis = await examine({ ...options, configPath, ...read(configPath) });
  const text = json ? JSON.stringify(diagnosis, null, 2) : doctorText(diagnosis);
  out.log(options.vault.redactor().redact(text));
  return diagnosis.well ? 0 : 1;
}

function read(configPath: string): Pick<Subject, 'settings' | 'flaws'> {
  try {
    return { settings: loadSettings(configPath), flaws: [] };
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    return {
      settings: { ...mergeDefaults({ ...error.sound }), ...error.sound } as Subject['settings'],
      flaws: error.lines,
    };
  }
}

async function examine(subject: Subject): Promise<Diagnosis> {
  const site = await siteOf(subject);
  const examined = [examineFiles(site), examineEngine(site), examineNetwork(site), examineTicks(site)];
  const [files = [], engine = [], network = [], ticks = []] = await Promise.all(examined);
  return diagnosisOf([...files, await examineIdentity(site), ...network, ...engine, ...ticks]);
}
