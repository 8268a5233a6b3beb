import type { Store } from '../store/openStore.ts';
import { type KeyRing, openKeyRing } from './keyRing.ts';

/** Milliseconds between two looks at the signing keys; a new one is published for longer before it signs. */
const LOOK_EVERY_MS = 60_000;

/** The signing keys of a store that other processes rotate. */
export interface FollowedKeyRing {
  /** The keys as they were read last. */
  current: () => KeyRing;
  /** Ends it, when a look that has begun has ended. */
  stop: () => Promise<void>;
}

/** How keys are opened, and who is told of a look that failed; the keys stay as they were. */
export interface KeyRingSource {
  store: Store;
  keyFile: Uint8Array;
  onError: (error: unknown) => void;
}

/** Reads the signing keys now and then again and again. Throws KeyError if the key file does not fit. */
export async function followKeyRing(
  { store, keyFile, onError }: KeyRingSource,
  everyMs = LOOK_EVERY_MS,
): Promise<FollowedKeyRing> {
  let keys = await openKeyRing(store, keyFile);
  let looking = Promise.resolve();
  const look = async () => {
    try {
      keys = await openKeyRing(store, keyFile);
    } catch (error) {
      onError(error);
    }
  };
  const timer = setInterval(() => void (looking = looking.then(look)), everyMs).unref();
  return {
    current: () => keys,
    stop: async () => {
      clearInterval(timer);
      await looking;
    },
  };
}
