/** Overwrites buffers that may hold a secret: freed memory keeps its bytes until it is reused. */
export function wipe(...buffers: readonly Buffer[]): void {
  for (const buffer of buffers) buffer.fill(0);
}
