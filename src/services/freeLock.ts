import type { Tools } from './tools.ts';

/** Frees the lock; the last thing a tick does, deaf to STOP. */
export async function freeLock({ tick }: Tools): Promise<void> {
  await tick.lock?.release();
}
