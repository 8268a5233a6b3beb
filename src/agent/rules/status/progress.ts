/** How far a piece of long work is. */
export interface Progress {
  done: number;
  total: number;
  unit: 'bytes' | 'images' | 'containers';
}

/** What a terminal shows of the work at hand: `downloading: 1.5 of 3.0 MiB (50 %), 4 s`. */
export function progressText(state: string, seconds: number, progress: Progress | null): string {
  const time = seconds < 1 ? [] : [`${Math.floor(seconds)} s`];
  const parts = [...(progress === null ? [] : [amountOf(progress)]), ...time];
  return parts.length === 0 ? state : `${state}: ${parts.join(', ')}`;
}

function amountOf({ done, total, unit }: Progress): string {
  if (unit !== 'bytes') return `${done} of ${total} ${unit}`;
  const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
  const [size, name] = total < 2 ** 20 ? [2 ** 10, 'KiB'] : [2 ** 20, 'MiB'];
  return `${(done / size).toFixed(1)} of ${(total / size).toFixed(1)} ${name} (${percent} %)`;
}
