import { printable } from '../../../core/text.rules.ts';
import { parseImageReference } from '../../../registry/imageReference.rules.ts';
import type { ReleaseRecord } from '../release/releaseRecord.ts';
import type { SwarmNode } from './leadership.ts';
import type { SwarmTask } from './stackTask.ts';

/** A script of `sh` that does something on a node by the `docker` program. */
export interface NodeJob {
  script: string;
  args: readonly string[];
}

/** What a job runs in, and where. */
export interface NodeJobPlace {
  name: string;
  labels: Record<string, string>;
  /** Pinned by its digest. */
  image: string;
  /** Of the engine, on each node. */
  socket: string;
  /** The node that needs no job. */
  ownNode: string;
}

/** What a node has made of a job. */
export interface NodeEnd {
  node: string;
  /** Its task; null where the swarm has made none. */
  taskId: string | null;
  /** False while it is at work. */
  isOver: boolean;
  /** Why the job is not done; '' if it is. */
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

/** How far each other node is with a job, by name. */
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

/** States that a task leaves no more, besides `complete`. */
const endStates = new Set(['failed', 'rejected', 'shutdown', 'orphaned', 'remove']);

/** Removes the volumes of a stack, which its containers on the node may use a little longer; names each that is gone. */
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

/** Removes pinned images of the release's repositories, but for those of the release and those in use; names each that is gone. */
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

/** As the docker program names a repository. */
function repositoryOf(reference: string): string {
  const { registry, repository } = parseImageReference(reference);
  return registry === 'docker.io' ? repository.replace(/^library\//, '') : `${registry}/${repository}`;
}
