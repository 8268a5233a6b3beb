import { Fault } from '../../../../machines/fault.ts';
import { fileFactsOf } from '../../../core/accounts.ts';
import { createCompose } from '../../adapters/compose/compose.ts';
import { createContainers } from '../../adapters/engine/containers.ts';
import { filesystemsOf } from '../../../core/filesystems.ts';
import type { Settings } from '../../config/settings.ts';
import { type Check, checkDiskSpace, type DiskSpaceFacts, type Fact } from '../../../core/doctor.rules.ts';
import { checkComposeProgram, checkEngine } from '../../rules/doctor/engineChecks.ts';
import { filesystemsOfPull } from '../apply/bundlePlan.ts';
import { catchFault } from '../catchFault.ts';
import { groupOf } from './files.ts';
import type { DoctorContext } from './doctorContext.ts';

/** Minimum free space of the state directory, in bytes. */
const minStateBytes = 64 * 2 ** 20;

/** Checks the engine, compose and the disk space for images and state. */
export async function examineEngine(context: DoctorContext): Promise<Check[]> {
  const { host, signal, vault } = context;
  const settings = { env: 'unknown', ...context.settings } as Settings;
  const project = `deployd-${settings.env}`;
  const containers = createContainers({ containerHost: settings.container_host, project, signal });
  const filesystems = await catchFault(() => filesystemsOfPull({ containers, settings }));
  const podman = await containers.podmanVersion();
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

async function diskSpacesOf(
  filesystems: Awaited<ReturnType<typeof filesystemsOfPull>>,
  settings: Settings,
): Promise<Fact<DiskSpaceFacts[]>> {
  const forImages = { neededBytes: settings.disk.headroom_bytes, purpose: 'images' as const };
  const forState = { neededBytes: minStateBytes, purpose: 'state' as const };
  const stateFilesystems = await filesystemsOf([settings.state_dir]);
  return {
    known: [
      ...filesystems.map((each) => ({ ...each, ...forImages })),
      ...stateFilesystems.map((each) => ({ ...each, ...forState })),
    ],
  };
}
