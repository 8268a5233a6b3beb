import { DAY_MS } from './time.ts';

/** A step of a tick as a part of its bar. */
export interface Segment {
  name: string;
  milliseconds: number;
  x: number;
  width: number;
}

/** The steps of a tick one after another, where `scale` is the length of the longest tick and the bar is `width` long. */
export function segmentsOf(
  durations: Readonly<Record<string, number>>,
  { scale, width }: { scale: number; width: number },
): Segment[] {
  let x = 0;
  return Object.entries(durations).map(([name, milliseconds]) => {
    const segment = { name, milliseconds, x, width: scale === 0 ? 0 : (bounded(milliseconds) / scale) * width };
    x += segment.width;
    return segment;
  });
}

/** How long a tick's steps took together, each a day at most. */
export function totalOf(durations: Readonly<Record<string, number>>): number {
  return Object.values(durations).reduce((sum, each) => sum + bounded(each), 0);
}

/** A duration that can be drawn. */
function bounded(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, 0), DAY_MS);
}
