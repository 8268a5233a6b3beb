import { Fault } from '../../../../machines/fault.ts';
import { lookAt } from '../../adapters/host/accounts.ts';
import { createCompose } from '../../adapters/compose/compose.ts';
import { createContainers } from '../../adapters/engine/containers.ts';
import { filesystemsOf } from '../../adapters/files/filesystems.ts';
import type { Settings } from '../../config/settings.ts';
import type { Check } from '../../rules/doctor/doctor.ts';
import { judgeComposeProgram, judgeEngine, judgeRoom, type RoomFacts } from '../../rules/doctor/engine.ts';
import type { Known } from '../../rules/plan/plan.ts';
import { filledByPull } from '../apply/judge.ts';
import { groupOf } from './files.ts';
import type { Site } from './site.ts';

/** A state directory with less than this is about to fail, in bytes. */
const leastForState = 64 * 2 ** 20;

/** The engine, compose, and the room for images and state. */
export async function examineEngine(site: Site): Promise<Check[]> {
  const { host, signal, vault } = site;
  const settings = { env: 'unknown', ...site.settings } as Settings;
  const project = `deployd-${settings.env}`;
  const containers = createContainers({ containerHost: settings.container_host, project, signal });
  const filled = await faultless(() => filledByPull({ containers, settings }));
  const compose = await faultless(() =>
    createCompose(settings, project, { redactor: () => vault.redactor() }).probe(signal),
  );
  const socket = await lookAt(settings.container_host.replace('unix://', ''), host.agent);
  const fault = filled instanceof Fault ? filled.message : null;
  return [
    judgeEngine({ socket, group: await groupOf(socket), fault }, host.agent),
    judgeComposeProgram(compose instanceof Fault ? compose.message.replace(/^[A-Z_]+: /, '') : null),
    judgeRoom(filled instanceof Fault ? { unknown: filled.message } : await roomsOf(filled, settings)),
  ];
}

async function roomsOf(
  filled: Awaited<ReturnType<typeof filledByPull>>,
  settings: Settings,
): Promise<Known<RoomFacts[]>> {
  const forImages = { neededBytes: settings.disk.headroom_bytes, purpose: 'images' as const };
  const forState = { neededBytes: leastForState, purpose: 'state' as const };
  const own = await filesystemsOf([settings.state_dir]);
  return {
    is: [...filled.map((each) => ({ ...each, ...forImages })), ...own.map((each) => ({ ...each, ...forState }))],
  };
}

async function faultless<T>(look: () => Promise<T>): Promise<T | Fault> {
  return look().catch((error: unknown) => {
    if (error instanceof Fault) return error;
    throw error;
  });
}
