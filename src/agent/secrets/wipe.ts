/** Overwrites what may have held a secret: freed memory keeps its bytes until something else is written there. */
export function wipe(...buffers: readonly Buffer[]): void {
  for (const buffer of buffers) buffer.fill(0);
}
