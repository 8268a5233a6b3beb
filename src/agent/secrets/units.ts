import { wipe } from './wipe.ts';

/**
 * Shows `use` the code units of a text as an array, which a loop reads several times as fast. They are a copy of what may
 * be secret, and wiped afterwards.
 */
export function withUnits(text: string, use: (units: Uint16Array) => void): void {
  const bytes = Buffer.allocUnsafeSlow(2 * text.length);
  bytes.write(text, 'utf16le');
  try {
    use(new Uint16Array(bytes.buffer));
  } finally {
    wipe(bytes);
  }
}
