/** Progress of a long operation. */
export interface Progress {
  done: number;
  total: number;
  unit: 'bytes' | 'images' | 'containers';
}

/** The progress line of a terminal: `downloading: 1.5 of 3.0 MiB (50 %), 4 s`. */
export function formatProgress(state: string, seconds: number, progress: Progress | null): string {
  const time = seconds < 1 ? [] : [`${Math.floor(seconds)} s`];
  const parts = [...(progress === null ? [] : [formatAmount(progress)]), ...time];
  return parts.length === 0 ? state : `${state}: ${parts.join(', ')}`;
}

function formatAmount({ done, total, unit }: Progress): string {
  if (unit !== 'bytes') return `${done} of ${total} ${unit}`;
  const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
  const [size, name] = total < 2 ** 20 ? [2 ** 10, 'KiB'] : [2 ** 20, 'MiB'];
  return `${(done / size).toFixed(1)} of ${(total / size).toFixed(1)} ${name} (${percent} %)`;
}
