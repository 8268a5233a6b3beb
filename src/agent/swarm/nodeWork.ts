import { setTimeout as pause } from 'node:timers/promises';
import { failedFault, throwIfStopped } from '../../../machines/fault.ts';
import { monotonicMs } from '../../core/clock.ts';
import { printable } from '../../core/text.rules.ts';
import { redactExcerpts } from '../engine/containerLogs.ts';
import type { SwarmTask } from './stackTask.rules.ts';
import type { SwarmDependencies } from './waitUntilHealthy.ts';
import type { SwarmNode } from './swarmState.rules.ts';
import { parseImageReference } from '../../registry/imageReference.rules.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';

const pollMs = 500;

/**
 * Removes the stack's volumes on the other nodes; remaining volumes are named in journal and report, with their node.
 */
async function purgeOtherNodes(context: SwarmDependencies, signal: AbortSignal): Promise<void> {
  const { journal } = context.deps.tick;
  const tell = (line: string) => {
    journal.warn(line);
    journal.remarks.push(line);
  };
  await work(context, { what: 'volumes', job: volumeRemoval(context.deps.project), tell }, signal);
}

/** Removes images that the other nodes no longer use, according to the applied release. */
export async function pruneOtherNodes(context: SwarmDependencies, signal: AbortSignal): Promise<void> {
  const { deps, state } = context;
  const tell = (line: string) => deps.tick.journal.info(line);
  await work(context, { what: 'images', job: imageRemoval(state.record?.images ?? []), tell }, signal);
}

interface Work {
  /** The resources to remove. */
  what: 'images' | 'volumes';
  job: NodeJob;
  /** Reports remaining resources. */
  tell: (line: string) => void;
}

async function work(context: SwarmDependencies, { what, job, tell }: Work, signal: AbortSignal): Promise<void> {
  const { deps, swarm } = context;
  const { NodeID: ownNode } = await swarm.membership();
  const others = (await swarm.nodes()).filter(({ ID }) => ID !== ownNode);
  if (others.length === 0) return;
  const { node_image: image, node_socket: socket } = deps.settings.swarm;
  if (image === null) {
    const names = others.map(({ Description }) => printable(Description.Hostname));
    tell(`${what} on other nodes of the swarm stay: ${names.sort().join(', ')}`);
    return;
  }
  for (const { node, trouble, lines } of await workOn(context, { job, image, socket, ownNode, others }, signal)) {
    if (trouble !== '') tell(`${what} on node ${node} stay: ${[trouble, ...lines].join('; ')}`);
    else if (lines.length > 0) deps.tick.journal.info(`${what} removed on node ${node}: ${lines.join(', ')}`);
  }
}

interface Place extends Pick<NodeJobPlace, 'image' | 'socket' | 'ownNode'> {
  job: NodeJob;
  others: readonly SwarmNode[];
}

/** Runs a job on each other node, with the time limit of a down; returns its result and its output. */
async function workOn(context: SwarmDependencies, { job, others, ...place }: Place, signal: AbortSignal) {
  const { deps, nodeServices, swarm } = context;
  const { name, labels } = nodeServices;
  const serviceId = await nodeServices.start(serviceOfJob(job, { ...place, name, labels }));
  try {
    const ends = await waitForEnds(context, { serviceId, others }, signal);
    const printed = async ({ taskId }: NodeEnd) => {
      const excerpts = taskId === null ? [] : await swarm.logs(taskId).catch(() => []);
      return redactExcerpts(deps, excerpts).flatMap((text) => text.split('\n').filter((line) => line !== ''));
    };
    return await Promise.all(ends.map(async (end) => ({ ...end, lines: await printed(end) })));
  } finally {
    await nodeServices.removeAll();
  }
}

async function waitForEnds(
  { deps, nodeServices }: SwarmDependencies,
  { serviceId, others }: { serviceId: string; others: readonly SwarmNode[] },
  signal: AbortSignal,
): Promise<NodeEnd[]> {
  const deadlineMs = monotonicMs() + deps.settings.down_timeout_s * 1000;
  for (;;) {
    const ends = endsOfJob(await nodeServices.tasks(serviceId), others);
    if (ends.every(({ isOver }) => isOver) || monotonicMs() >= deadlineMs) return ends;
    await pause(pollMs, undefined, { signal }).catch(() => throwIfStopped(signal));
  }
}

/**
 * Removes the stack, waits until its tasks and the containers of this node are gone, then removes the content that they
 * mounted. With `volumes` each node removes its own volumes.
 */
export async function down(
  context: SwarmDependencies,
  { volumes }: { volumes: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { deps, contents, stacks, state, swarm } = context;
  await state.confirm();
  await stacks.remove(signal);
  await waitUntilGone(context, signal);
  await contents.removeOthers(new Set());
  if (!volumes) return;
  await deps.containers.removeOwnedResources({ volumes: await swarm.volumes(), networks: [] });
  await purgeOtherNodes(context, signal);
}

async function waitUntilGone({ deps, swarm }: SwarmDependencies, signal: AbortSignal): Promise<void> {
  const { down_timeout_s } = deps.settings;
  const deadlineMs = monotonicMs() + down_timeout_s * 1000;
  while ((await swarm.tasks()).length > 0 || (await swarm.containers()) > 0) {
    if (monotonicMs() >= deadlineMs)
      throw failedFault('DOWN_FAILED', `the tasks of the stack are not gone within ${down_timeout_s}s`);
    await pause(pollMs, undefined, { signal }).catch(() => throwIfStopped(signal));
  }
}

/** A script of `sh` that works on a node with the `docker` program. */
export interface NodeJob {
  script: string;
  args: readonly string[];
}

/** The image of a job, and its nodes. */
export interface NodeJobPlace {
  name: string;
  labels: Record<string, string>;
  /** Pinned by its digest. */
  image: string;
  /** Socket of the engine, on each node. */
  socket: string;
  /** The node that needs no job. */
  ownNode: string;
}

/** The result of a job on a node. */
export interface NodeEnd {
  node: string;
  /** Its task; null if the swarm has created none. */
  taskId: string | null;
  /** False while it is running. */
  isOver: boolean;
  /** Why the job failed; '' if it succeeded. */
  trouble: string;
}

const socketInside = '/var/run/docker.sock';

/** The service of a job: one task on each other node, once. */
export function serviceOfJob({ script, args }: NodeJob, place: NodeJobPlace): object {
  const { name, labels, image, socket, ownNode } = place;
  return {
    Name: name,
    Labels: labels,
    TaskTemplate: {
      ContainerSpec: {
        Image: image,
        Command: ['sh', '-c', script, 'sh', ...args],
        Mounts: [{ Type: 'bind', Source: socket, Target: socketInside }],
      },
      LogDriver: { Name: 'json-file' },
      Placement: { Constraints: [`node.id!=${ownNode}`] },
      RestartPolicy: { Condition: 'none' },
    },
    Mode: { GlobalJob: {} },
  };
}

/** The progress of a job on each other node, by name. */
export function endsOfJob(tasks: readonly SwarmTask[], others: readonly SwarmNode[]): NodeEnd[] {
  return others
    .map((node): NodeEnd => {
      const task = tasks.find(({ NodeID }) => NodeID === node.ID);
      return { node: printable(node.Description.Hostname), taskId: task?.ID ?? null, ...endOn(node, task) };
    })
    .sort((a, b) => (a.node < b.node ? -1 : 1));
}

function endOn({ Status, Spec }: SwarmNode, task: SwarmTask | undefined): Pick<NodeEnd, 'isOver' | 'trouble'> {
  const [nodeState, availability] = [Status?.State ?? 'ready', Spec?.Availability ?? 'active'];
  if (nodeState !== 'ready') return { isOver: true, trouble: `the node is ${printable(nodeState)}` };
  if (availability !== 'active')
    return { isOver: true, trouble: `the node takes no tasks (${printable(availability)})` };
  const { State = 'new', Err = '' } = task?.Status ?? {};
  if (State === 'complete') return { isOver: true, trouble: '' };
  return { isOver: endStates.has(State), trouble: printable(`${State}${Err === '' ? '' : `: ${Err}`}`) };
}

/** Final states of a task, in addition to `complete`. */
const endStates = new Set(['failed', 'rejected', 'shutdown', 'orphaned', 'remove']);

/**
 * Removes the volumes of a stack, which its containers on the node may use a little longer; names each removed volume.
 */
export const volumeRemoval = (project: string): NodeJob => ({
  args: [project],
  script: `
volumes=$(docker volume ls --quiet --filter "label=com.docker.stack.namespace=$1") || exit 1
for volume in $volumes; do
  tries=0
  until answer=$(docker volume rm "$volume" 2>&1); do
    tries=$((tries + 1))
    if [ "$tries" -ge 20 ]; then failed=1; break; fi
    sleep 1
  done
  echo "$answer"
done
exit "\${failed:-0}"
`,
});

/**
 * Removes pinned images of the release's repositories, except for images of the release and images in use; names each
 * removed image.
 */
export const imageRemoval = (images: Readonly<ReleaseRecord['images']>): NodeJob => ({
  args: [images.map(({ id }) => id).join(' '), ...new Set(images.map(({ reference }) => repositoryOf(reference)))],
  script: `
kept=" $1 "
shift
for repository; do
  images=$(docker image ls --digests --format '{{.Repository}}@{{.Digest}}' "$repository") || exit 1
  for image in $images; do
    case "$kept" in *" \${image##*@} "*) continue ;; esac
    case "$image" in *@sha256:*) ! docker image rm "$image" >/dev/null 2>&1 || echo "$image" ;; esac
  done
done
`,
});

/** The name of a repository in the docker program. */
function repositoryOf(reference: string): string {
  const { registry, repository } = parseImageReference(reference);
  return registry === 'docker.io' ? repository.replace(/^library\//, '') : `${registry}/${repository}`;
}
