import { Fault } from '../../../../machines/fault.ts';
import { type Check, inapplicableCheck, unknownCheck } from '../../../core/doctor.rules.ts';
import { isDefaultPolicy } from '../../../api/hostPolicy.rules.ts';
import { createContainers } from '../../adapters/engine/containers.ts';
import type { Settings } from '../../config/settings.ts';
import { checkPolicy, permittedDirectory, type PolicyCheckFacts } from '../../rules/doctor/policyCheck.ts';
import { engineSocketsOf, protectedPathsOf, targetOf } from '../apply/policyHost.ts';
import { catchFault } from '../catchFault.ts';
import type { DoctorContext } from './doctorContext.ts';

/** Checks the policy of the host against its paths, and the engine's networks and volumes. */
export async function examinePolicy(context: DoctorContext): Promise<Check> {
  if (isDefaultPolicy(context.settings.policy)) return inapplicableCheck('policy', 'none is configured');
  const facts = await catchFault(() => policyFacts(context));
  return facts instanceof Fault ? unknownCheck('policy', facts.message) : checkPolicy(facts);
}

async function policyFacts({ settings: partial, configPath, signal }: DoctorContext): Promise<PolicyCheckFacts> {
  const settings = { env: 'unknown', ...partial } as Settings;
  const { container_host: containerHost, env, policy } = settings;
  const containers = createContainers({ containerHost, project: `deployd-${env}`, signal });
  const { networks, volumes } = (await containers.policyFacts()).outside;
  const paths = (policy.permit.binds ?? []).map(permittedDirectory);
  return {
    ...{ policy, configPath, networks, volumes },
    protectedPaths: await protectedPathsOf({ settings, containers, engineSockets: await engineSocketsOf(settings) }),
    targets: new Map(await Promise.all(paths.map(async (path) => [path, await targetOf(path)] as const))),
  };
}
