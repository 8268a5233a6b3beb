import { Fault } from '../../../machines/fault.ts';
import { fileFactsOf } from '../../core/accounts.ts';
import { type Check, checkDiskSpace, inapplicableCheck, unknownCheck } from '../../core/doctor.rules.ts';
import { filesystemsOfPull } from '../apply/bundlePlan.ts';
import type { Settings } from '../config/configKeys.ts';
import { createCompose } from '../engine/compose.ts';
import { createContainers } from '../engine/containers.ts';
import { catchFault } from '../journal/journal.ts';
import { Releases } from '../release/releases.ts';
import { anonymousVolumesIn, unusedVolumes } from '../release/volumes.rules.ts';
import { lookAtHost } from '../status/status.ts';
import { checkComposeProgram, checkEngine, checkServices, checkSwarm, checkUnusedVolumes } from './engine.rules.ts';
import { containersOf, diskSpacesOf, type DoctorContext, groupOf } from './host.ts';

/** Checks the engine, compose and the disk space for images and state. */
export async function examineEngine(context: DoctorContext): Promise<Check[]> {
  const { host, podman, signal, vault } = context;
  const settings = { env: 'unknown', ...context.settings } as Settings;
  const project = `deployd-${settings.env}`;
  const containers = containersOf(context);
  const filesystems = await catchFault(() => filesystemsOfPull({ containers, settings }));
  const options = { redactor: () => vault.redactor(), podmanVersion: async () => podman };
  const compose = await catchFault(() => createCompose(settings, project, options).probe(signal));
  const socket = await fileFactsOf(settings.container_host.replace('unix://', ''), host.agent);
  const fault = filesystems instanceof Fault ? filesystems.message : null;
  return [
    checkEngine({ socket, group: groupOf(socket), error: fault }, host.agent),
    checkComposeProgram(compose instanceof Fault ? compose.message.replace(/^[A-Z_]+: /, '') : null, podman),
    checkDiskSpace(
      filesystems instanceof Fault ? { unknown: filesystems.message } : await diskSpacesOf(filesystems, settings),
    ),
  ];
}

/** Checks of each orchestrator in addition to the engine. */
const examinations: Record<Settings['orchestrator'], (context: DoctorContext) => Promise<Check[]>> = {
  compose: async () => [],
  swarm: async (context) => [await examineSwarm(context)],
};

/** Checks the orchestrator of this host. */
export function examineOrchestrator(context: DoctorContext): Promise<Check[]> {
  return examinations[context.settings.orchestrator](context);
}

async function examineSwarm(context: DoctorContext): Promise<Check> {
  const { signal, vault } = context;
  const settings = { env: 'unknown', ...context.settings } as Settings;
  const { openSwarm } = await import('../swarm/openSwarm.ts');
  const { swarm, stacks } = openSwarm({ settings, project: `deployd-${settings.env}`, vault, signal });
  const docker = await catchFault(() => stacks.probe(signal));
  const membership = await catchFault(() => swarm.membership());
  if (membership instanceof Fault) return unknownCheck('swarm', membership.message);
  const nodes = await catchFault(() => swarm.nodes());
  const dockerError = docker instanceof Fault ? docker.message : null;
  return checkSwarm({ membership, nodes: nodes instanceof Fault ? [] : nodes, dockerError });
}

/** Longer than the limit of `status`: a busy engine answers late. */
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
  if (settings.env === undefined) return unknownCheck(name, 'the configuration does not name the environment');
  if (state === null || state.applied_sha === null) return inapplicableCheck(name, 'nothing is applied');
  if (state.env !== settings.env) return unknownCheck(name, `state.json belongs to environment ${state.env}`);
  const seen = await lookAtHost({ settings: settings as Settings, state, vault, timeoutMs: lookMs });
  return checkServices(seen, { heals: settings.heal, configPath });
}
