import type { RefusedFault } from '../../../machines/refusals.ts';
import { printable } from '../../core/text.rules.ts';
import { textOf, valueAt } from '../compose/composeNode.rules.ts';
import { contentSections, effectiveReferences, mountedContents } from '../compose/mounts.rules.ts';
import { effectiveValue } from '../compose/services.rules.ts';
import { lostOwner, ownersOf } from '../policy/effect.rules.ts';
import { pullIntervalMs } from '../policy/quantities.rules.ts';
import { type BundleToStart, type EngineMeans, placeOf, type ReadService } from './bundleToStart.rules.ts';
import type { ComparableRelease } from './changes.rules.ts';
import { isSince } from './resourceFaults.rules.ts';
import { knownVariables, withKnownVariables } from './variables.rules.ts';

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
  /** Paths for which the engine creates an anonymous volume unless something is mounted there. */
  volumes?: readonly string[];
}

/** The pulls of an apply. */
interface PullPlan {
  /** Services whose images are pulled. */
  pulled: ServiceImage[];
  /** Services whose images are not on the host and may not be pulled. */
  absent: ServiceImage[];
}

/**
 * Selects what an apply pulls, by `pull_policy` as compose defines it: without the key each image, except one that is
 * named by its digest and is on the host, whose content cannot change.
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

/** An image of a bundle, and the action of an apply for it; `unknown` if only the value of a variable decides. */
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
  const known = knownVariables(bundle);
  return [...bundle.project.started].flatMap(([service, layers]) => {
    const read = (key: string) => withKnownVariables(textOf(effectiveValue(layers, key)) ?? '', known);
    const image = read('image');
    return image === '' ? [] : [{ service, image, pullPolicy: read('pull_policy') || null }];
  });
}

/** The images that an apply of a bundle pulls on a host that has these images, by image. */
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

/** The images that services run, by service, as far as they are on the host and stay there. */
export type ServiceImages = ReadonlyMap<string, LocalImage>;

/**
 * Owners of copied configs and secrets that the container does not get. The file belongs to the user of the image, and
 * Docker 20.10 looks up any user except root among the users of the host.
 */
export function copiedOwnerFaults(
  { files, services }: BundleToStart,
  images: ServiceImages,
  engine: EngineMeans | null,
): RefusedFault[] {
  const mounted = mountedContents(files);
  const isOld = engine !== null && !engine.isPodman && engine.apiVersion !== '' && !isSince(engine.apiVersion, 42);
  return services.flatMap((service) => {
    const isOfImage = (textOf(service.node('user')) ?? '') === '';
    const user = isOfImage ? (images.get(service.name)?.user ?? '') : service.text('user');
    return contentSections.flatMap((section) => {
      const references = effectiveReferences(service.layers, section);
      const copied = references.filter((one) => !mounted.has(`${section} ${textOf(valueAt(one, 'source')) ?? ''}`));
      return copied.flatMap((reference) => {
        const lost = isOfImage ? lostOwner(reference, user) : null;
        const unfound = isOld && !/^(root|0|)$/.test(user) ? ownersOf(reference)[0] : undefined;
        const byPodman = engine?.isPodman
          ? ownersOf(reference).find(({ node }) => !/^0+$|\$/.test(node.text))
          : undefined;
        const found = lost ?? byPodman ?? unfound;
        if (found === undefined) return [];
        const problem = byPodman ? problems.podman : unfound ? problems.old(user) : problems.ofImage(user);
        const text = `service ${printable(service.name)}: ${section}.${found.key} ${problem.text}${placeOf(files, found.node)}`;
        return [{ text, cure: problem.cure }];
      });
    });
  });
}

const leaveOut = 'leave uid and gid out (the file belongs to root, and its mode says who reads it)';
const problems = {
  ofImage: (user: string) => ({
    text: `has no effect: the file belongs to ${printable(user)}, the user of its image`,
    cure: `${leaveOut}, or write user: UID:GID and the same numbers there`,
  }),
  podman: { text: 'has no effect with Podman: the file belongs to root', cure: leaveOut },
  old: (user: string) => ({
    text: `fails with Docker 20.10, which looks ${printable(user)}, the user of the container, up on the host`,
    cure: `${leaveOut}, or install a newer engine on the host`,
  }),
};

/** Images for another processor than the host's. */
export function processorNotices(
  { files, services }: BundleToStart,
  images: ServiceImages,
  engine: EngineMeans | null,
): RefusedFault[] {
  const own = engine?.architecture ?? null;
  return services.flatMap((service) => {
    const of = architectureOf(`linux/${images.get(service.name)?.architecture ?? ''}`);
    if (own === null || of === null || runsOn(of, own) || service.text('platform') !== '') return [];
    return [
      {
        text: `service ${printable(service.name)}: its image${nameOf(service)} is for ${of}, not for the processor of this host, ${own} (exec format error)${placeOf(files, service.node('image'))}`,
        cure: 'push or load the image for this processor, or set up emulation on the host',
      },
    ];
  });
}

function nameOf({ text }: ReadService): string {
  const name = text('image');
  return name === '' ? '' : ` ${printable(name)}`;
}

/** Other processors whose programs a processor runs. */
const alsoRuns: Readonly<Record<string, readonly string[]>> = {
  x86_64: ['i386'],
  aarch64: ['arm'],
  armv7l: ['arm'],
  armv6l: ['arm'],
  i686: ['i386'],
};

/** Whether a program for a machine runs on a processor, both in the kernel's words. */
export function runsOn(machine: string, architecture: string): boolean {
  return machine === architecture || (alsoRuns[architecture] ?? []).includes(machine);
}

/** The kernel's word for the processor of a platform such as `linux/arm64/v8`. */
export function architectureOf(platform: string): string | null {
  const [, processor = ''] = platform.split('/');
  const words: Readonly<Record<string, string>> = {
    amd64: 'x86_64',
    arm64: 'aarch64',
    arm: 'arm',
    386: 'i386',
    riscv64: 'riscv64',
    s390x: 's390x',
    ppc64le: 'ppc64le',
  };
  return words[processor] ?? null;
}
