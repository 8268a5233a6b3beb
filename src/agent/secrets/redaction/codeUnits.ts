import { wipe } from '../wipe.ts';

/**
 * Calls `use` with the code units of a text as an array, which a loop reads several times as fast as a string. The
 * array may hold secrets and is wiped afterwards.
 */
export function withCodeUnits(text: string, use: (units: Uint16Array) => void): void {
  const bytes = Buffer.allocUnsafeSlow(2 * text.length);
  bytes.write(text, 'utf16le');
  try {
    use(new Uint16Array(bytes.buffer));
  } finally {
    wipe(bytes);
  }
}
