import type { Check } from '../../../doctor/diagnosis.ts';
import { inapplicableCheck, unknownCheck } from '../../../doctor/diagnosis.ts';
import type { Settings } from '../../config/settings.ts';
import { checkServices } from '../../rules/doctor/servicesCheck.ts';
import { lookAtHost } from '../health/lookAtHost.ts';
import type { DoctorContext } from './doctorContext.ts';

/** Longer than `status` gives an engine: a busy one answers late. */
const lookMs = 10_000;

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
