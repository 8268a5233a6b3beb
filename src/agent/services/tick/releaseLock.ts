import type { Dependencies } from '../dependencies.ts';

/** Releases the lock after every compose process of the tick has ended; the last step of a tick, which ignores STOP. */
export async function releaseLock({ compose, tick }: Dependencies): Promise<void> {
  await compose.forget();
  await tick.lock?.release();
}
