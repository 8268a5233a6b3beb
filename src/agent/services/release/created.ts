import { failure, type Fault } from '../../../../machines/fault.ts';
import type { ComposeRelease } from '../../adapters/compose/compose.ts';
import { anonymousOf, containerName, slotOf, type Creation, type Made } from '../../rules/created/created.ts';
import { describeDifferences, differencesOf, type Difference } from '../../rules/created/excess.ts';
import { grantedBy, hiding } from './granted.ts';
import type { Tools } from '../tools.ts';

/** A release that compose has made, and how compose makes what is missing of it. */
interface Making {
  sha: string;
  release: ComposeRelease;
  make: () => Promise<void>;
}

/**
 * Compares what compose made with the model that was judged, before it starts (spec §12). Compose gives a container the mounts
 * of the one before it: what differs is made anew once, without them. What differs still is refused, and not left there to be
 * started.
 */
export async function holdToModel(
  tools: Tools,
  { sha, release, make }: Making,
  signal: AbortSignal,
): Promise<Creation[]> {
  const { containers, tick } = tools;
  const granted = await grantedBy(tools, { sha, release }, signal);
  const compare = async (made: Made) => {
    const seen = differencesOf(granted, made, { dir: release.dir, hide: (fact) => fact });
    return seen.length === 0 ? seen : differencesOf(granted, made, { dir: release.dir, hide: await hiding(tools) });
  };
  const first = await containers.made();
  const differences = await compare(first);
  if (differences.length === 0) return first.containers;
  tick.journal.warn(`made anew, as it was not made as the bundle says: ${describeDifferences(differences)}`);
  await clear(tools, first, differences);
  await make();
  const second = await containers.made();
  const remaining = await compare(second);
  if (remaining.length === 0) return second.containers;
  await clear(tools, second, remaining);
  throw failure('PRIVILEGED_REFUSED', `what was made is not what the bundle says: ${describeDifferences(remaining)}`);
}

/** Removes what a compose that was killed left half-made, so that the next one makes it anew. */
export async function removeHalfMade(tools: Tools): Promise<Creation[]> {
  const made = await tools.containers.made();
  const dataOf = (container: Creation) => anonymousOf(container, made.volumes).length;
  const halfMade = made.containers.filter(isHalfMade).sort((one, other) => dataOf(one) - dataOf(other));
  const slots = made.containers.map(slotOf);
  for (const container of halfMade) {
    const slot = slotOf(container);
    if (slots.indexOf(slot) === slots.lastIndexOf(slot)) await setAside(tools, container, made);
    else {
      slots.splice(slots.indexOf(slot), 1);
      await tools.containers.removeContainer(container.Id);
    }
  }
  return made.containers;
}

/** What a compose left that was killed: not started yet, or under the passing name that it would want to give again. */
function isHalfMade(container: Creation): boolean {
  return container.State.Status === 'created' || /^[0-9a-f]{12}_/.test(containerName(container));
}

async function clear(tools: Tools, made: Made, differences: Difference[]): Promise<void> {
  for (const container of new Set(differences.flatMap(({ containers }) => containers)))
    await setAside(tools, container, made);
  for (const network of new Set(differences.flatMap((each) => each.network ?? [])))
    await tools.containers.removeNetwork(network.id);
}

/**
 * Removes a container in a way that compose makes it anew with the data of its anonymous volumes and nothing else: one that is
 * never started holds them in its place, and compose takes them from there. Throws `UP_FAILED`, nothing removed, where the
 * image that one needs is gone.
 */
export async function setAside({ containers }: Tools, container: Creation, made: Made): Promise<void> {
  const volumes = anonymousOf(container, made.volumes);
  if (container.State.Status === 'running') await containers.stopContainer(container.Id);
  if (volumes.length > 0) {
    const { Labels } = container.Config;
    const own = Object.entries(Labels ?? {}).filter(([name]) => name.startsWith('com.docker.compose.'));
    const holder = await containers.createContainer({
      name: `${container.Id.slice(0, 12)}_${containerName(container).replace(/^[0-9a-f]{12}_/, '')}`,
      Image: container.Image,
      Cmd: ['true'],
      Labels: { ...Object.fromEntries(own), 'com.docker.compose.config-hash': 'none' },
      HostConfig: {
        NetworkMode: 'none',
        Mounts: volumes.map(({ name, target }) => ({ Type: 'volume', Source: name, Target: target })),
      },
    });
    if (holder === null) throw imageGone(container);
  }
  await containers.removeContainer(container.Id);
}

function imageGone(container: Creation): Fault {
  const line = `container ${containerName(container)} stays, as it alone holds data of anonymous volumes`;
  return failure('UP_FAILED', `${line}: its image ${container.Image} is gone`);
}
