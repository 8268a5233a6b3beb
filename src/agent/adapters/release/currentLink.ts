import { join } from 'node:path';
import { failedFault } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/types.ts';
import { readlink } from '../files/syncFs.ts';
import { isDigest, requireDigest } from '../../../core/files.ts';
import { diskFault, isENOENT, isNotALink } from '../../../core/errors.rules.ts';
import { removeDurably, renameDurably, symlinkDurably } from '../files/durableFiles.ts';

/** The symbolic link `current` of one env, in its directory `home`. */
export class CurrentLink {
  readonly #home: string;
  readonly #path: string;

  constructor(home: string) {
    this.#home = home;
    this.#path = join(home, 'current');
  }

  /**
   * The release that `current` points to, null without a link. Throws `CURRENT_FOREIGN` for a `current` that the agent
   * did not create.
   */
  async sha(): Promise<Sha | null> {
    const { sha, isForeign } = await this.inspect();
    if (isForeign) throw this.#foreign();
    return sha;
  }

  /** Points `current` at a release, atomically for every reader. Throws `DISK_WRITE_FAILED`. */
  async set(sha: Sha): Promise<void> {
    await symlinkDurably(linkTargetOf(requireDigest(sha)), this.#path);
  }

  /**
   * The release that `current` points to, even if that release is absent; `isForeign` for a `current` that the agent
   * did not create.
   */
  async inspect(): Promise<{ sha: Sha | null; isForeign: boolean }> {
    const target = await this.#target();
    if (target === null) return { sha: null, isForeign: false };
    const sha = target.slice(target.lastIndexOf('/') + 1);
    const isOwn = isDigest(sha) && [linkTargetOf(sha), join(this.#home, linkTargetOf(sha))].includes(target);
    return isOwn ? { sha, isForeign: false } : { sha: null, isForeign: true };
  }

  /** Renames a foreign `current` and returns its new name. Throws `DISK_WRITE_FAILED`. */
  async setAside(): Promise<string> {
    const newName = `current.foreign-${new Date().toISOString().replaceAll(':', '-')}`;
    await renameDurably(this.#path, join(this.#home, newName));
    return newName;
  }

  async remove(): Promise<void> {
    await removeDurably(this.#path);
  }

  /** Null without a link, empty for anything but a link. Throws any other error of the disk. */
  async #target(): Promise<string | null> {
    return readlink(this.#path).catch((error: unknown) => {
      if (isENOENT(error)) return null;
      if (isNotALink(error)) return '';
      throw diskFault('read', this.#path, error);
    });
  }

  #foreign() {
    return failedFault('CURRENT_FOREIGN', `${this.#path} is not a link to one of the agent's releases; move it away`);
  }
}

/** Relative, so that the state directory can be moved. */
function linkTargetOf(sha: Sha): string {
  return `releases/${sha}`;
}
