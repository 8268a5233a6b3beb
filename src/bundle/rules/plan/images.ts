import type { BundleToStart, EngineMeans } from './bundleToStart.ts';
import { isSince } from './resourceFaults.ts';
import type { RefusedFault } from '../../../../machines/refusals.ts';
import { printable } from '../../../protocol/printable.ts';
import { contentSections, effectiveReferences, mountedContents } from '../compose/document/contentAccess.ts';
import { textOf, valueAt } from '../compose/document/composeNode.ts';
import { lostOwner, ownersOf } from '../compose/effect/contentAccess.ts';
import type { LocalImage } from './pullPlan.ts';
import { placeOf, type ReadService } from './writtenText.ts';

/** The images that services run, by service, as far as they are on the host and stay there. */
export type ServiceImages = ReadonlyMap<string, LocalImage>;

/**
 * Owners of copied configs and secrets that the container does not get: the file belongs to the user of the image, and Docker
 * 20.10 looks any user but root up among those of the host.
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

/** Images of another processor than that of the host. */
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

/** What else a processor runs. */
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
