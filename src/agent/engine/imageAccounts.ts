import type Docker from 'dockerode';
import { blockBytes, parseHeader } from '../../bundle/archive/tarHeader.rules.ts';
import type { ImageAccounts } from '../../bundle/plan/bundleToStart.rules.ts';
import { collectBytes } from '../../core/streams.ts';
import { type EngineApi, ignoreNotFound } from './engineApi.ts';

/**
 * Label of a container that was created to inspect an image, so that the next one removes a container that a killed
 * agent left.
 */
const label = 'deployd.image-accounts';

/** Bytes of a file with the accounts of an image. */
const maxBytes = 1_048_576;

export function createImageAccounts({ withDocker }: EngineApi) {
  return {
    /**
     * The users and groups that an image defines; null if it is absent, or defines them by something other than a
     * regular file. They are read from a container of the image, which is never started and is removed at once.
     */
    imageAccounts: (image: string): Promise<ImageAccounts | null> =>
      withDocker(async (docker) => {
        await removeLeft(docker);
        const creation = { Image: image, Cmd: ['none'], NetworkDisabled: true, Labels: { [label]: '' } };
        const container = await ignoreNotFound(docker.createContainer(creation));
        if (container === null) return null;
        try {
          const [users, groups] = [await namesIn(container, '/etc/passwd'), await namesIn(container, '/etc/group')];
          return users && groups && { users, groups };
        } finally {
          await container.remove({ force: true, v: true });
        }
      }),
  };
}

async function removeLeft(docker: Docker): Promise<void> {
  const left = await docker.listContainers({ all: true, filters: { label: [label] } });
  for (const { Id } of left) await ignoreNotFound(docker.getContainer(Id).remove({ force: true, v: true }), 409);
}

/** The first fields of the lines of a file; empty when it is missing, null when it is not a regular file. */
async function namesIn(container: Docker.Container, path: string): Promise<Set<string> | null> {
  const stream = await ignoreNotFound(container.getArchive({ path }));
  if (stream === null) return new Set();
  const tooLarge = () => new Error(`${path} of an image is too large`);
  const archive = Buffer.from(await collectBytes(stream as AsyncIterable<Buffer>, { maxBytes, tooLarge }));
  const { type, size } = parseHeader(archive.subarray(0, blockBytes));
  if (type !== '0') return null;
  const lines = archive.toString('utf8', blockBytes, blockBytes + size).split('\n');
  return new Set(lines.flatMap((line) => line.split(':', 1)));
}
