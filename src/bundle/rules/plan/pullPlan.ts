import { composeContentsOf } from '../compose/document/composeContents.ts';
import { textOf } from '../compose/document/composeNode.ts';
import { activeServiceLayers } from '../compose/document/profiles.ts';
import { effectiveValue } from '../compose/document/serviceLayers.ts';
import { pullIntervalMs } from '../compose/policy/quantities.ts';
import type { ComparableRelease } from './changes.ts';
import { knownVariables, withKnownVariables } from './knownVariables.ts';
import { printable } from '../../../protocol/printable.ts';

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
  /** The user that it names; '' for none. */
  user: string;
  /** In the words of images, `amd64`; '' when the engine does not know. */
  architecture: string;
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

/** An image of a bundle, and what an apply does about it; `unknown` where only the value of a variable tells. */
export interface PlannedPull {
  image: string;
  services: string[];
  pull: 'pulled' | 'local' | 'absent' | 'unknown';
}

/** The images of an engine, by reference, with null for those that it lacks. */
export interface EngineImages {
  local: ReadonlyMap<string, LocalImage | null>;
  nowMs: number;
}

/** The images of the services that run, as written, with the values of known variables. */
export function writtenPulls(bundle: ComparableRelease): Omit<ServiceImage, 'local'>[] {
  const { files, profiles } = bundle;
  const known = knownVariables(bundle);
  const idle = composeContentsOf(files, profiles).services.filter(({ replicas }) => replicas === 0);
  return [...activeServiceLayers(files, profiles)].flatMap(([service, layers]) => {
    const read = (key: string) => withKnownVariables(textOf(effectiveValue(layers, key)) ?? '', known);
    const image = read('image');
    if (image === '' || idle.some(({ name }) => name === service)) return [];
    return [{ service, image, pullPolicy: read('pull_policy') || null }];
  });
}

/** What an apply of a bundle pulls on a host that has these images, by image. */
export function plannedPulls(bundle: ComparableRelease, { local, nowMs }: EngineImages): PlannedPull[] {
  const written = writtenPulls(bundle).map((each) => ({ ...each, local: local.get(each.image) ?? null }));
  const { pulled, absent } = pullPlanOf(written, nowMs);
  const has = (some: readonly ServiceImage[], name: string) => some.some(({ image }) => image === name);
  const kindOf = (users: readonly ServiceImage[], name: string): PlannedPull['pull'] => {
    if (users.some(({ image, pullPolicy }) => `${image}${pullPolicy ?? ''}`.includes('$'))) return 'unknown';
    return has(pulled, name) ? 'pulled' : has(absent, name) ? 'absent' : 'local';
  };
  return [...new Set(written.map(({ image }) => image))]
    .map((name) => ({ image: name, users: written.filter(({ image }) => image === name) }))
    .map(({ image, users }) => ({ image, services: users.map(({ service }) => service), pull: kindOf(users, image) }))
    .sort((one, other) => (one.image < other.image ? -1 : 1));
}

const words: Record<PlannedPull['pull'], string> = {
  pulled: 'pulled',
  local: 'on this host, not pulled',
  absent: 'not on this host and never pulled (pull_policy), so that the apply fails',
  unknown: 'known with the value of a variable',
};

/** One line for each kind of pull. */
export function formatPulls(pulls: readonly PlannedPull[]): string[] {
  return Object.entries(words).flatMap(([kind, what]) => {
    const images = pulls.filter(({ pull }) => pull === kind).map(({ image }) => printable(image));
    return images.length === 0 ? [] : [`${what}: ${images.join(', ')}`];
  });
}
