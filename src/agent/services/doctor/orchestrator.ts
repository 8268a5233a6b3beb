import { Fault } from '../../../../machines/fault.ts';
import { type Check, unknownCheck } from '../../../core/doctor.rules.ts';
import type { Settings } from '../../config/settings.ts';
import { checkSwarm } from '../../rules/doctor/swarmCheck.ts';
import { catchFault } from '../catchFault.ts';
import type { DoctorContext } from './doctorContext.ts';

/** What is checked of each orchestrator beside the engine. */
const examinations: Record<Settings['orchestrator'], (context: DoctorContext) => Promise<Check[]>> = {
  compose: async () => [],
  swarm: async (context) => [await examineSwarm(context)],
};

/** Checks what runs bundles on this host. */
export function examineOrchestrator(context: DoctorContext): Promise<Check[]> {
  return examinations[context.settings.orchestrator](context);
}

async function examineSwarm(context: DoctorContext): Promise<Check> {
  const { signal, vault } = context;
  const settings = { env: 'unknown', ...context.settings } as Settings;
  const { openSwarm } = await import('../../adapters/swarm/openSwarm.ts');
  const { swarm, stacks } = openSwarm({ settings, project: `deployd-${settings.env}`, vault, signal });
  const docker = await catchFault(() => stacks.probe(signal));
  const membership = await catchFault(() => swarm.membership());
  if (membership instanceof Fault) return unknownCheck('swarm', membership.message);
  const nodes = await catchFault(() => swarm.nodes());
  const dockerError = docker instanceof Fault ? docker.message : null;
  return checkSwarm({ membership, nodes: nodes instanceof Fault ? [] : nodes, dockerError });
}
