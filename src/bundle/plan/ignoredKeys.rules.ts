import { printable } from '../../core/text.rules.ts';
import {
  type ComposeFile,
  type ComposeNode,
  entriesOf,
  isText,
  itemsOf,
  textOf,
  valueAt,
} from '../compose/composeNode.rules.ts';
import { contentSections, mountedContents } from '../compose/mounts.rules.ts';
import { isOwnerIdle, nodesAt, ownersOf } from '../policy/effect.rules.ts';
import type { OrchestratorName } from '../policy/policyHost.rules.ts';
import { isFalse } from '../policy/validators.rules.ts';

/** A key of a service or of the file that has no effect; nothing is exposed or lost by it. */
export interface IgnoredKey {
  /** As in the compose specification, below the service or the file. */
  key: string;
  why: string;
  /** Values that ask for nothing. */
  isHarmless?: (text: string) => boolean;
  /** Services for which the key has an effect after all. */
  isHonoured?: (service: ComposeNode) => boolean;
}

const swarmOnly = 'only a swarm reads it';

/** Keys of a service without an effect on a host with compose. */
export const ignoredInService: readonly IgnoredKey[] = [
  { key: 'attach', why: 'nobody is attached to the output, which deployd logs shows' },
  { key: 'blkio_config.weight', why: 'most kernels have no weights for devices' },
  { key: 'blkio_config.weight_device', why: 'most kernels have no weights for devices' },
  { key: 'credential_spec', why: 'only Windows has it' },
  { key: 'deploy.endpoint_mode', why: swarmOnly },
  { key: 'deploy.labels', why: swarmOnly },
  { key: 'deploy.mode', why: swarmOnly, isHarmless: (text) => text !== 'global' },
  { key: 'deploy.placement.constraints', why: 'the services run on this host alone' },
  { key: 'deploy.placement.preferences', why: 'the services run on this host alone' },
  { key: 'deploy.resources.reservations.cpus', why: swarmOnly },
  { key: 'deploy.resources.reservations.generic_resources', why: swarmOnly },
  { key: 'deploy.restart_policy.delay', why: 'the engine has its own pauses' },
  { key: 'deploy.restart_policy.window', why: 'the engine has its own pauses' },
  { key: 'deploy.rollback_config', why: 'the agent reverts all services at once' },
  ...['delay', 'monitor', 'parallelism'].map((name) => ({
    ...{ key: `deploy.update_config.${name}`, why: 'only order: start-first replaces containers in batches' },
    isHonoured: isStartFirst,
  })),
  {
    ...{ key: 'deploy.update_config.failure_action', why: 'the agent reverts a release that fails' },
    isHarmless: (text) => text === 'rollback',
  },
  { key: 'deploy.update_config.max_failure_ratio', why: 'one failed container fails the release' },
  { key: 'develop', why: 'it is for compose watch' },
  { key: 'mem_swappiness', why: 'hosts with cgroup 2 have no such value; memswap_limit limits swap' },
  { key: 'oom_kill_disable', why: 'hosts with cgroup 2 have no such value', isHarmless: (text) => isFalse.test(text) },
  { key: 'ports[].app_protocol', why: 'nothing reads it' },
  { key: 'ports[].mode', why: swarmOnly },
  { key: 'ports[].name', why: 'nothing reads it' },
  { key: 'pull_refresh_after', why: 'pull_policy says when an image is pulled' },
  { key: 'volumes[].bind.selinux', why: 'compose before 5 leaves it out; the short form ./a:/b:z has it' },
  { key: 'volumes[].consistency', why: 'Linux needs none' },
  { key: 'volumes[].volume.labels', why: 'a named volume has the labels of the top-level volumes alone' },
];

/** Keys of a file without an effect on a host with compose. */
export const ignoredInFile: readonly IgnoredKey[] = [
  ...['configs', 'secrets'].flatMap((section) => [
    { key: `${section}.*.labels`, why: swarmOnly },
    { key: `${section}.*.name`, why: swarmOnly },
  ]),
  { key: 'version', why: 'it is obsolete' },
];

/** The keys that no orchestrator reads. */
const ignoredEverywhere: ReadonlySet<string> = new Set(['develop', 'version']);

/** The keys of the compose files that the agent ignores; one line for each service and each reason. */
export function ignoredKeys(
  files: readonly ComposeFile[],
  projectName: string,
  orchestrator: OrchestratorName = 'compose',
): string[] {
  const chosen = (rows: readonly IgnoredKey[]) =>
    rows.filter(({ key }) => orchestrator === 'compose' || ignoredEverywhere.has(key));
  const mounted = orchestrator === 'compose' ? mountedContents(files) : new Map<string, string>();
  return files.flatMap(({ path, root }) => {
    const name = textOf(valueAt(root, 'name'));
    const services = entriesOf(valueAt(root, 'services'));
    return [
      ...(name === null || name === projectName ? [] : [`name ${printable(name)} (${printable(path)})`]),
      ...linesOf(root, chosen(ignoredInFile)).map((line) => `${line} (${printable(path)})`),
      ...services.flatMap(([service, node]) =>
        [...linesOf(node, chosen(ignoredInService)), ...idleOwners(node, mounted)].map(
          (line) => `service ${printable(service)}: ${line} (${printable(path)})`,
        ),
      ),
    ];
  });
}

/** Root as the owner of files that everybody may read. */
function idleOwners(service: ComposeNode, mounted: ReadonlyMap<string, string>): string[] {
  return contentSections.flatMap((section) => {
    const references = itemsOf(valueAt(service, section));
    const ofFiles = references.filter((one) => mounted.has(`${section} ${textOf(valueAt(one, 'source')) ?? ''}`));
    const idle = ofFiles.flatMap((one) => ownersOf(one).filter(({ node }) => isOwnerIdle(one, node)));
    const keys = [...new Set(idle.map(({ key }) => `${section}.${key}`))];
    return keys.length === 0 ? [] : [`${keys.join(', ')}: a file of the bundle has the owner that it has on the host`];
  });
}

function linesOf(node: ComposeNode, rows: readonly IgnoredKey[]): string[] {
  const idle = rows.filter(({ isHonoured }) => isHonoured?.(node) !== true);
  const written = idle.filter((row) => nodesAt(node, row.key.split('.')).some((value) => asksFor(value, row)));
  return [...new Set(written.map(({ why }) => why))].map((reason) => {
    const same = written.filter(({ why }) => why === reason);
    return `${same.map(({ key }) => key).join(', ')}: ${reason}`;
  });
}

/** Whether a service is replaced start-first, by this file or by a variable. */
function isStartFirst(service: ComposeNode): boolean {
  return /^start-first$|\$/.test(textOf(valueAt(service, 'deploy', 'update_config', 'order')) ?? '');
}

function asksFor(value: ComposeNode, { isHarmless = () => false }: IgnoredKey): boolean {
  if (value.kind !== 'scalar') return true;
  return isText(value) && value.text !== '' && !isHarmless(value.text);
}
