import { Fault } from '../../../../machines/fault.ts';
import { type Check, inapplicableCheck, unknownCheck } from '../../../core/doctor.rules.ts';
import { createContainers } from '../../adapters/engine/containers.ts';
import { Releases } from '../../adapters/release/releases.ts';
import type { Settings } from '../../config/settings.ts';
import { checkUnusedVolumes } from '../../rules/doctor/releaseChecks.ts';
import { checkServices } from '../../rules/doctor/servicesCheck.ts';
import { anonymousVolumesIn, unusedVolumes } from '../../rules/release/leftVolumes.ts';
import { catchFault } from '../catchFault.ts';
import { lookAtHost } from '../health/lookAtHost.ts';
import type { DoctorContext } from './doctorContext.ts';

/** Longer than `status` gives an engine: a busy one answers late. */
const lookMs = 10_000;

/** Looks for anonymous volumes of earlier containers. */
export async function examineUnusedVolumes({ host, settings, signal }: DoctorContext): Promise<Check> {
  if ('unknown' in host.state) return checkUnusedVolumes(host.state);
  const { container_host: containerHost, env, orchestrator, state_dir } = settings;
  const remembered = host.state.known?.left_volumes ?? [];
  if (env === undefined || orchestrator === 'swarm')
    return inapplicableCheck('unused volumes', 'nothing is remembered');
  const found = await catchFault(async () => {
    const releases = new Releases(state_dir, `${state_dir}/${env}`);
    const records = await Promise.all((await releases.listIfExists()).map((sha) => releases.readRecord(sha)));
    const known = [...remembered, ...anonymousVolumesIn(records.filter((record) => record !== null))];
    if (known.length === 0) return [];
    const containers = createContainers({ containerHost, project: `deployd-${env}`, signal });
    return unusedVolumes(known, await containers.volumeUses());
  });
  return checkUnusedVolumes(found instanceof Fault ? { unknown: found.message } : { known: found });
}

/** Looks at the containers of the applied release. */
export async function examineServices({ configPath, host, settings, vault }: DoctorContext): Promise<Check> {
  const name = 'services';
  if ('unknown' in host.state) return unknownCheck(name, host.state.unknown);
  const state = host.state.known;
  if (settings.env === undefined) return unknownCheck(name, 'the configuration does not say which env this is');
  if (state === null || state.applied_sha === null) return inapplicableCheck(name, 'nothing is applied');
  if (state.env !== settings.env) return unknownCheck(name, `state.json belongs to env ${state.env}`);
  const seen = await lookAtHost({ settings: settings as Settings, state, vault, timeoutMs: lookMs });
  return checkServices(seen, { heals: settings.heal, configPath });
}
