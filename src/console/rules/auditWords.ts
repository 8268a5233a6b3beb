import type { Tone } from './condition.ts';

/** How good the result of an act is. */
export function resultTone(result: string): Tone {
  if (result === 'ok') return 'good';
  return result === 'started' ? 'later' : 'bad';
}
