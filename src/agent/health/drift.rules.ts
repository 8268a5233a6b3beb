import type { ServiceProblem } from '../../../machines/types.ts';
import type { CreationFacts, ObservedContainer } from '../engine/container.rules.ts';
import type { RecordedContainer, ReleaseRecord } from '../release/record.rules.ts';

/** The facts of a container that are checked for drift. */
export type DriftCandidate = Pick<ObservedContainer, 'id' | 'service' | 'name' | 'state'> & { created: CreationFacts };

/** Configuration hash of a container that the agent created to hold volumes until compose takes them over. */
export const placeholderHash = 'none';

/** The recorded facts of a release that are checked for drift. */
export type DriftRecord = Pick<ReleaseRecord, 'services' | 'containers' | 'verified_images'>;

/**
 * Containers that others created or changed, according to the record of the release; empty without a record. The
 * parameters of a container cannot change under one id, so an unrecorded id is drift, and so are other networks of a
 * running container. With `report` they stay, unless the release has verified images and the container runs another
 * one.
 */
export function driftsAmong(
  containers: readonly DriftCandidate[],
  record: DriftRecord,
  mode: 'heal' | 'report',
): ServiceProblem[] {
  const { containers: recorded, verified_images: verified = [] } = record;
  if (recorded === undefined) return [];
  const known = new Map(recorded.map((container) => [container.id, container]));
  return containers.flatMap((container): ServiceProblem[] => {
    const { id, service, state, created } = container;
    if (created.configHash === placeholderHash) return [];
    const before = known.get(id);
    const detail =
      before === undefined ? describeUnknown(container, record) : describeNetworks(container, before.networks);
    if (detail === null) return [];
    const runsUnverified = verified.length > 0 && !imagesOf(recorded).has(digestOf(created.imageId));
    const isHealed = state !== 'paused' && (mode === 'heal' || runsUnverified);
    return [{ service, detail, cure: isHealed ? 'recreate' : 'none', containers: [id], isFailure: true }];
  });
}

/** True for containers that compose is known to have created from the release. */
export interface AdoptionFacts {
  record: Pick<ReleaseRecord, 'services' | 'images'>;
  /** The configuration hash that compose computes now for each service; null when it cannot. */
  hashes: ReadonlyMap<string, string> | null;
  /** The version of that compose: another one may compute another hash for the same configuration. */
  composeVersion: string;
  /** The content label that the release gives each service; absent for a service without content. */
  contents: ReadonlyMap<string, string>;
}

/**
 * Splits the containers of a release without a container record into those that the agent adopts and those that others
 * created. The image, the content label and, if the same version of compose created the container, the configuration
 * hash must match.
 */
export function adoptable<T extends DriftCandidate>(
  containers: readonly T[],
  { record, hashes, composeVersion, contents }: AdoptionFacts,
): { adopted: T[]; foreign: T[] } {
  const services = new Set(record.services.map(({ name }) => name));
  const images = new Set(record.images.flatMap(({ id }) => (id === null ? [] : [digestOf(id)])));
  const { adopted = [], foreign = [] } = Object.groupBy(containers, ({ service, created }) => {
    const hash = created.composeVersion === composeVersion ? hashes?.get(service) : created.configHash;
    const matches =
      services.has(service) &&
      (images.size === 0 || images.has(digestOf(created.imageId))) &&
      created.content === (contents.get(service) ?? '') &&
      created.configHash !== '' &&
      (hash === undefined || created.configHash === hash);
    return matches ? 'adopted' : 'foreign';
  });
  return { adopted, foreign };
}

/** The record of a container. */
export function recordOf({ id, service, created }: DriftCandidate): RecordedContainer {
  const { imageId, networks, volumes, number } = created;
  return { id, service, image: imageId, networks, volumes, number };
}

/** How a container with an unrecorded id differs, in words. */
export function describeUnknown(
  { service, name, created }: Pick<DriftCandidate, 'service' | 'name' | 'created'>,
  { services, containers = [] }: DriftRecord,
): string {
  if (!services.some((each) => each.name === service)) return `container ${name} is of no service of the release`;
  const expected = imagesOf(containers.filter((each) => each.service === service));
  const isOther = expected.size > 0 && !expected.has(digestOf(created.imageId));
  const image = isOther ? ` from another image, ${shortDigest(created.imageId)}` : '';
  return `container ${name} was created by another tool${image}`;
}

function describeNetworks({ name, state, created }: DriftCandidate, recorded: readonly string[]): string | null {
  const { networks } = created;
  if (state !== 'running' || networks.join() === recorded.join()) return null;
  return `container ${name} was attached to ${listOf(recorded)}, now to ${listOf(networks)}`;
}

function listOf(networks: readonly string[]): string {
  return networks.join(' and ') || 'no network';
}

function imagesOf(containers: readonly RecordedContainer[]): Set<string> {
  return new Set(containers.map(({ image }) => digestOf(image)));
}

/** Podman writes an image id without its algorithm. */
function digestOf(imageId: string): string {
  return imageId.replace(/^sha256:/, '');
}

function shortDigest(imageId: string): string {
  return digestOf(imageId).slice(0, 12);
}
