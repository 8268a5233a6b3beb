import { isFinished, type InspectedContainer, type ServiceRole } from '../health/health.ts';

/** A finished one-shot, with what identifies its run. */
export interface OneShot {
  service: string;
  /** Keyed digest of its definition, without the image. */
  fingerprint: string;
  /** Id of the image that it ran. */
  image: string;
  /** Engine names of its named volumes, including those of `volumes_from`. */
  volumes: string[];
}

/** A service of the rendered model. */
export interface ServiceDefinition {
  /** Everything that a run depends on; contains values of secrets. */
  text: string;
  image: string;
  /** As written; null without the key. */
  pullPolicy: string | null;
  volumes: string[];
}

/** What a service of the new release consists of, without any value of a secret. */
export interface ServiceFingerprint {
  fingerprint: string;
  image: string;
  pullPolicy: string | null;
  volumes: string[];
}

/**
 * The services of a rendered model, by what a run depends on: without the release's directory, `depends_on` and
 * `pull_policy`.
 */
export function serviceDefinitionsOf(model: unknown, dir: string): Map<string, ServiceDefinition> {
  const rendered = model as RenderedModel;
  const [services, volumes] = [rendered.services ?? {}, rendered.volumes ?? {}];
  const releasePath = JSON.stringify(dir.replaceAll('$', '$$$$')).slice(1, -1);
  return new Map(
    Object.entries(services).map(([name, service]) => {
      const definition: RenderedService = { ...service, depends_on: undefined, pull_policy: undefined };
      const text = JSON.stringify(definition).replaceAll(releasePath, '<release>');
      const mounts = volumeSourcesOf(name, services).flatMap((provider) => services[provider]?.volumes ?? []);
      const keys = mounts.flatMap(({ type, source }) => (type === 'volume' && source ? [source] : []));
      const names = new Set(keys.map((key) => volumes[key]?.name ?? key));
      const { image = '' } = definition;
      return [name, { text, image, pullPolicy: service.pull_policy ?? null, volumes: [...names] }];
    }),
  );
}

/** A service, and the services whose mounts it shares by `volumes_from`, transitively. */
function volumeSourcesOf(name: string, services: Record<string, RenderedService>): string[] {
  const providers = new Set([name]);
  for (const provider of providers)
    for (const from of services[provider]?.volumes_from ?? []) providers.add(from.replace(/:r[ow]$/, ''));
  return [...providers];
}

interface RenderedModel {
  services?: Record<string, RenderedService> | null;
  volumes?: Record<string, { name?: string } | null> | null;
}

interface RenderedService {
  image?: string;
  volumes?: { type?: string; source?: string }[] | null;
  volumes_from?: string[] | null;
  depends_on?: unknown;
  pull_policy?: string | undefined;
}

/** The finished one-shots that the new release contains unchanged, with the same volumes. */
export function unchangedOneShots(
  fingerprints: ReadonlyMap<string, ServiceFingerprint>,
  finished: readonly OneShot[],
): OneShot[] {
  const same = finished.filter(({ service, fingerprint, volumes }) => {
    const now = fingerprints.get(service);
    return now?.fingerprint === fingerprint && new Set(now.volumes).symmetricDifference(new Set(volumes)).size === 0;
  });
  return [...new Map(same.map((oneShot) => [oneShot.service, oneShot])).values()];
}

/** Facts to find the finished one-shots of a release. */
interface OneShotSearch {
  fingerprints: ReadonlyMap<string, ServiceFingerprint>;
  /** One-shots that were not started, because they had finished before. */
  skipped: readonly OneShot[];
  /** Starts of containers before `compose up`, by id: an unchanged start belongs to an earlier release. */
  startsBefore: ReadonlyMap<string, number>;
  /** By default the containers alone decide. */
  roleOf?: (service: string) => ServiceRole;
}

/**
 * The finished one-shots: those whose containers all finished, and the skipped ones, unless their container was started, which
 * is kept where other services refer to it.
 */
export function finishedOneShots(
  containers: readonly InspectedContainer[],
  { fingerprints, skipped, startsBefore, roleOf }: OneShotSearch,
): OneShot[] {
  const byService = Map.groupBy(containers, ({ service }) => service);
  const wasStarted = ({ id, state, startedMs }: InspectedContainer) =>
    state !== 'created' && startedMs !== startsBefore.get(id);
  const unstarted = skipped.filter(({ service }) => !byService.get(service)?.some(wasStarted));
  const finished = [...byService].flatMap(([service, all]): OneShot[] => {
    const definition = fingerprints.get(service);
    const [first] = all;
    const hasRun = (each: InspectedContainer) => isFinished(each, roleOf?.(service)) && wasStarted(each);
    if (!definition || !first || !all.every(hasRun)) return [];
    return [{ service, fingerprint: definition.fingerprint, image: first.imageId, volumes: definition.volumes }];
  });
  return [...unstarted, ...finished];
}
