import type { Tools } from '../tools.ts';

/** Frees the lock, with no program of the tick left; the last thing a tick does, deaf to STOP. */
export async function freeLock({ compose, tick }: Tools): Promise<void> {
  await compose.forget();
  await tick.lock?.release();
}
