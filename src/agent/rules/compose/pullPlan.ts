/** A service, its image, and what the engine knows of that. */
export interface ServiceImage {
  service: string;
  image: string;
  /** Null without the key. */
  pullPolicy: string | null;
  /** Null when the image is not on the host. */
  local: LocalImage | null;
}

/** An image of the engine. */
export interface LocalImage {
  /** When its tag was last pulled or set; null when the engine does not know. */
  taggedMs: number | null;
}

/** What an apply pulls. */
export interface PullPlan {
  /** Services whose images are pulled. */
  pulled: ServiceImage[];
  /** Services whose images are not on the host and may not be pulled. */
  absent: ServiceImage[];
}

/**
 * Selects what an apply pulls, by `pull_policy` as compose defines it: without the key each image, except one that is named by its
 * digest and is on the host, whose content cannot change.
 */
export function pullPlanOf(services: readonly ServiceImage[], nowMs: number): PullPlan {
  const pulled = services.filter((service) => isPulled(service, nowMs));
  const images = new Set(pulled.map(({ image }) => image));
  return { pulled, absent: services.filter(({ image, local }) => local === null && !images.has(image)) };
}

function isPulled({ image, pullPolicy, local }: ServiceImage, nowMs: number): boolean {
  if (pullPolicy === 'never') return false;
  if (local === null) return true;
  if (image.includes('@')) return false;
  if (pullPolicy === 'missing' || pullPolicy === 'if_not_present') return false;
  const intervalMs = pullIntervalMs(pullPolicy);
  if (intervalMs === null || local.taggedMs === null) return true;
  const ageMs = nowMs - local.taggedMs;
  return ageMs < 0 || ageMs >= intervalMs;
}

const [dayMs, weekMs] = [86_400_000, 604_800_000];
const unitMs = new Map([
  ['w', weekMs],
  ['d', dayMs],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]);

/** The interval of `daily`, `weekly` and `every_<duration>`, null for another policy. */
export function pullIntervalMs(pullPolicy: string | null): number | null {
  if (pullPolicy === 'daily') return dayMs;
  if (pullPolicy === 'weekly') return weekMs;
  if (!pullPolicy?.startsWith('every_')) return null;
  const parts = pullPolicy.matchAll(/(\d+)([wdhms])/g);
  return [...parts].reduce((sum, [, count, unit = '']) => sum + Number(count) * (unitMs.get(unit) ?? 0), 0);
}
