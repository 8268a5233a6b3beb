import { isFinished, type Inspected } from '../health/health.ts';

/** A one-shot that has finished, and what it consisted of then. */
export interface Job {
  service: string;
  /** Keyed digest of all that it was made of but its image. */
  fingerprint: string;
  /** Id of the image that it ran. */
  image: string;
  /** Named volumes that it mounted, as the engine names them, those that it took over by `volumes_from` included. */
  volumes: string[];
}

/** A service as compose renders it. */
export interface Definition {
  /** All of it that tells one run from another; it holds the values of secrets. */
  text: string;
  image: string;
  volumes: string[];
}

/** What a service of the release that is to be consists of; no value of a secret is in it. */
export interface Made {
  fingerprint: string;
  image: string;
  volumes: string[];
}

/**
 * The services of a rendered model, told apart by what a run depends on: not by where the release lies, whom they wait for, or what compose
 * does with their images.
 */
export function definitionsOf(model: unknown, dir: string): Map<string, Definition> {
  const { services = {}, volumes = {} } = model as Model;
  const place = JSON.stringify(dir.replaceAll('$', '$$$$')).slice(1, -1);
  return new Map(
    Object.entries(services ?? {}).map(([name, service]) => {
      const own: Service = { ...service, depends_on: undefined, pull_policy: undefined };
      const text = JSON.stringify(own).replaceAll(place, '<release>');
      const mounts = lendersOf(name, services ?? {}).flatMap((lender) => services?.[lender]?.volumes ?? []);
      const keys = mounts.flatMap(({ type, source }) => (type === 'volume' && source ? [source] : []));
      const names = new Set(keys.map((key) => volumes?.[key]?.name ?? key));
      return [name, { text, image: own.image ?? '', volumes: [...names] }];
    }),
  );
}

/** A service, and those whose mounts it takes over by `volumes_from`, theirs included. */
function lendersOf(name: string, services: Record<string, Service>): string[] {
  const lenders = new Set([name]);
  for (const each of lenders)
    for (const from of services[each]?.volumes_from ?? []) lenders.add(from.replace(/:r[ow]$/, ''));
  return [...lenders];
}

interface Model {
  services?: Record<string, Service> | null;
  volumes?: Record<string, { name?: string } | null> | null;
}

interface Service {
  image?: string;
  volumes?: { type?: string; source?: string }[] | null;
  volumes_from?: string[] | null;
  depends_on?: unknown;
  pull_policy?: unknown;
}

/** Of jobs that finished, those that the new release has unchanged, with the very volumes that they worked on. */
export function unchangedJobs(made: ReadonlyMap<string, Made>, finished: readonly Job[]): Job[] {
  const same = finished.filter(({ service, fingerprint, volumes }) => {
    const now = made.get(service);
    return now?.fingerprint === fingerprint && new Set(now.volumes).symmetricDifference(new Set(volumes)).size === 0;
  });
  return [...new Map(same.map((job) => [job.service, job])).values()];
}

/** What finished jobs are looked for with. */
interface Search {
  made: ReadonlyMap<string, Made>;
  /** Jobs that were left out, as they had finished before. */
  known: readonly Job[];
  /** The starts of containers before the release was brought up, by id: what ended before was another's. */
  before: ReadonlyMap<string, number>;
}

/** The jobs that have finished by now: those of whose containers each did, and those known that have none any more. */
export function finishedJobs(containers: readonly Inspected[], { made, known, before }: Search): Job[] {
  const byService = Map.groupBy(containers, ({ service }) => service);
  const gone = known.filter(({ service }) => !byService.has(service));
  const done = [...byService].flatMap(([service, all]): Job[] => {
    const of = made.get(service);
    const [first] = all;
    if (!of || !first || !all.every((each) => isFinished(each) && each.startedMs !== before.get(each.id))) return [];
    return [{ service, fingerprint: of.fingerprint, image: first.imageId, volumes: of.volumes }];
  });
  return [...gone, ...done];
}
