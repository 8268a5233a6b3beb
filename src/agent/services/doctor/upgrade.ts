import { Fault } from '../../../../machines/fault.ts';
import type { ServiceProblem } from '../../../../machines/types.ts';
import { readComposeFiles } from '../../../bundle/composeFiles.ts';
import { writablePaths } from '../../../bundle/rules/compose/document/composeContents.ts';
import { activeServiceLayers } from '../../../bundle/rules/compose/document/profiles.ts';
import { writtenServicesOf } from '../../../bundle/rules/wait/writtenServices.ts';
import type { Check } from '../../../doctor/diagnosis.ts';
import type { Fact } from '../../../platform/fact.ts';
import { createContainers } from '../../adapters/engine/containers.ts';
import { Releases } from '../../adapters/release/releases.ts';
import { upgradeChecks, type UpgradeFacts } from '../../rules/doctor/upgradeChecks.ts';
import { adoptable, describeUnknown } from '../../rules/health/drift.ts';
import { contentLabelsOf } from '../../rules/release/contentLabel.ts';
import type { ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import type { DoctorContext } from './doctorContext.ts';

/** Names what the new defaults of this version would change on this host; changes nothing. */
export async function examineUpgrade(context: DoctorContext): Promise<Check[]> {
  return upgradeChecks(await factsOf(context));
}

async function factsOf({ host, settings, signal }: DoctorContext): Promise<Fact<UpgradeFacts | null>> {
  if ('unknown' in host.state) return host.state;
  const { env, state_dir } = settings;
  const sha = host.state.known?.applied_sha ?? null;
  if (sha === null) return { known: null };
  if (env === undefined) return { unknown: 'the configuration does not say which env this is' };
  const releases = new Releases(state_dir, `${state_dir}/${env}`);
  try {
    const record = await releases.readRecord(sha);
    if (record === null) return { unknown: `release ${sha} is incomplete` };
    const dir = releases.pathOf(sha);
    const { files } = await readComposeFiles({ dir, manifest: record }, signal);
    const recorded = record.services.filter(({ kind }) => kind !== undefined).map(({ name }) => name);
    return {
      known: {
        dir,
        writable: writablePaths(files),
        services: writtenServicesOf(activeServiceLayers(files, record.profiles ?? [])),
        recorded: new Set(recorded),
        jobTimeoutS: settings.job_timeout_s,
        drifted: await driftedOf({ releases, record, settings, env }, signal),
        drift: settings.drift,
        written: await writtenIn(releases, signal),
      },
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { unknown: error.message };
  }
}

interface ExaminedRelease {
  releases: Releases;
  record: ReleaseRecord;
  settings: DoctorContext['settings'];
  env: string;
}

/** By image and content alone: compose is not asked for hashes. Where containers are recorded, each tick looks already. */
async function driftedOf(
  { releases, record, settings, env }: ExaminedRelease,
  signal: AbortSignal,
): Promise<Fact<Pick<ServiceProblem, 'service' | 'detail'>[]>> {
  if (record.containers !== undefined) return { known: [] };
  const containers = createContainers({ containerHost: settings.container_host, project: `deployd-${env}`, signal });
  try {
    const contents = contentLabelsOf(await releases.readOverride(record.sha));
    const facts = { record, hashes: null, composeVersion: '', contents };
    const { foreign } = adoptable(await containers.listStatuses(), facts);
    return { known: foreign.map((each) => ({ service: each.service, detail: describeUnknown(each, record) })) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { unknown: error.message };
  }
}

/** Paths of a release that are named. */
const maxNamed = 3;

async function writtenIn(releases: Releases, signal: AbortSignal): Promise<UpgradeFacts['written']> {
  const all = (await releases.listIfExists()).map(async (sha) => {
    return { sha, paths: await releases.writtenFiles(sha, maxNamed, signal) };
  });
  return (await Promise.all(all)).filter(({ paths }) => paths.length > 0);
}
