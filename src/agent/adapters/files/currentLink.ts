import { join } from 'node:path';
import { failure } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/words.ts';
import { readlink } from './atOnce.ts';
import { asDigest, isDigest } from './digest.ts';
import { diskFault, isENOENT, isNoLink, removeDurably, renameDurably, symlinkDurably } from './files.ts';

/** The link `current` of one env, whose directory is `home`. */
export class CurrentLink {
  readonly #home: string;
  readonly #path: string;

  constructor(home: string) {
    this.#home = home;
    this.#path = join(home, 'current');
  }

  /** The release that `current` names, null without one. Throws `CURRENT_FOREIGN` for a `current` that this agent did not make. */
  async sha(): Promise<Sha | null> {
    const { sha, isForeign } = await this.look();
    if (isForeign) throw this.#foreign();
    return sha;
  }

  /** Puts a release in force, in one step for every reader. Throws `DISK_WRITE_FAILED`. */
  async set(sha: Sha): Promise<void> {
    await symlinkDurably(targetOf(asDigest(sha)), this.#path);
  }

  /** The release that `current` names, whether that is there or not; foreign is what this agent did not make. */
  async look(): Promise<{ sha: Sha | null; isForeign: boolean }> {
    const target = await this.#target();
    if (target === null) return { sha: null, isForeign: false };
    const sha = target.slice(target.lastIndexOf('/') + 1);
    const isOwn = isDigest(sha) && [targetOf(sha), join(this.#home, targetOf(sha))].includes(target);
    return isOwn ? { sha, isForeign: false } : { sha: null, isForeign: true };
  }

  /** Moves what stands in the place of `current` aside, and tells its new name. Throws `DISK_WRITE_FAILED`. */
  async setAside(): Promise<string> {
    const kept = `current.foreign-${new Date().toISOString().replaceAll(':', '-')}`;
    await renameDurably(this.#path, join(this.#home, kept));
    return kept;
  }

  async remove(): Promise<void> {
    await removeDurably(this.#path);
  }

  /** Null without one, empty where it is no link. Throws what the disk says otherwise. */
  async #target(): Promise<string | null> {
    return readlink(this.#path).catch((error: unknown) => {
      if (isENOENT(error)) return null;
      if (isNoLink(error)) return '';
      throw diskFault('read', this.#path, error);
    });
  }

  #foreign() {
    return failure('CURRENT_FOREIGN', `${this.#path} is not a link to one of the agent's releases; move it away`);
  }
}

/** Relative, so that the state directory can be moved as a whole. */
function targetOf(sha: Sha): string {
  return `releases/${sha}`;
}
