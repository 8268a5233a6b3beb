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
    const segment = { name, milliseconds, x, width: scale === 0 ? 0 : (milliseconds / scale) * width };
    x += segment.width;
    return segment;
  });
}

/** How long a tick's steps took together. */
export function totalOf(durations: Readonly<Record<string, number>>): number {
  return Object.values(durations).reduce((sum, each) => sum + each, 0);
}
