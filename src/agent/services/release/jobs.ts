import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { Fault } from '../../../../machines/fault.ts';
import type { Bundle } from '../../../../machines/words.ts';
import { labelSalt } from '../../adapters/files/salt.ts';
import { definitionsOf, finishedJobs, unchangedJobs, type Job, type Made } from '../../rules/release/jobs.ts';
import type { ReleaseRecord } from '../../rules/release/record.ts';
import type { Tools } from '../tools.ts';

/** Notes what each service consists of. The model holds secrets, so only keyed digests of it are kept. */
export async function noteMade({ settings, tick }: Tools, { sha, dir }: Bundle, model: unknown): Promise<void> {
  const salt = await labelSalt(join(settings.state_dir, settings.env));
  const services = [...definitionsOf(model, dir)].map(([service, { text, image, volumes }]) => {
    return [service, { fingerprint: digest(salt, text), image, volumes }] as const;
  });
  tick.made = { sha, services: new Map(services) };
}

/**
 * The jobs that need not run in the release that is rendered: they finished in the release in force, or in this one before,
 * and nothing of them changed, the content that they mount included, by the labels of the override.
 */
export async function unchangedHere(tools: Tools, sha: string, override: string): Promise<Job[]> {
  const { releases, state, tick } = tools;
  const { applied_sha, attempt, failing } = state.state;
  if (tick.made?.sha !== sha) return [];
  const labels = labelsIn(override);
  const services = [...tick.made.services].map(([service, made]): [string, Made] => {
    return [service, { ...made, fingerprint: `${made.fingerprint}-${labels.get(service) ?? ''}` }];
  });
  tick.made = { sha, services: new Map(services) };
  const isOwn = [applied_sha ?? sha, attempt?.sha, failing?.sha].includes(sha);
  const shas = [...(applied_sha === null ? [] : [applied_sha]), ...(isOwn ? [sha] : [])];
  const records = await Promise.all(shas.map((each) => releases.readRecord(each)));
  return unchangedJobs(
    tick.made.services,
    records.flatMap((record) => record?.jobs ?? []),
  );
}

/** The services of a release that are not to be run, as they have finished, and the others; null for all. */
export async function leftOut(tools: Tools, sha: string): Promise<{ without: string[]; rest: string[] | null }> {
  const { jobs = [], services } = (await tools.releases.readRecord(sha)) ?? { services: [] };
  const without: string[] = [];
  for (const job of jobs) if (await stands(tools, sha, job)) without.push(job.service);
  if (without.length === 0) return { without, rest: null };
  return { without, rest: services.map(({ name }) => name).filter((name) => !without.includes(name)) };
}

/** What a job did stands while its volumes do; in an apply its image must be the one that it ran, too. */
async function stands({ containers, tick }: Tools, sha: string, job: Job): Promise<boolean> {
  if (job.volumes.length > 0) {
    const here = new Set((await containers.volumes()).map(({ name }) => name));
    if (!job.volumes.every((name) => here.has(name))) return false;
  }
  const image = tick.made?.sha === sha ? tick.made.services.get(job.service)?.image : undefined;
  return image === undefined || (await containers.imageId(image)) === job.image;
}

/** The jobs of a release that have finished by now. */
export async function finishedHere({ containers, tick }: Tools, { sha, jobs = [] }: ReleaseRecord): Promise<Job[]> {
  if (tick.made?.sha !== sha) return jobs;
  const now = tick.well ?? (await containers.list());
  return finishedJobs(now, { made: tick.made.services, known: jobs, before: tick.broughtUp.starts });
}

/** Notes which jobs of a bundle that failed did finish: its next try does not run them again. */
export async function rememberFinished(tools: Tools, sha: string): Promise<void> {
  try {
    const record = await tools.releases.readRecord(sha);
    if (record !== null) await tools.releases.writeRecord(sha, { ...record, jobs: await finishedHere(tools, record) });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    tools.tick.journal.warn(`jobs of ${sha} may run again: ${error.message}`);
  }
}

/** Where the project is down every job is to run again. */
export async function forgetJobs({ releases }: Tools, sha: string): Promise<void> {
  const record = await releases.readRecord(sha);
  if (record?.jobs?.length) await releases.writeRecord(sha, { ...record, jobs: [] });
}

function labelsIn(override: string): Map<string, string> {
  const { services } = JSON.parse(override) as { services: Record<string, { labels?: Record<string, string> }> };
  return new Map(Object.entries(services).map(([service, { labels }]) => [service, JSON.stringify(labels ?? {})]));
}

function digest(salt: Buffer, text: string): string {
  return createHmac('sha256', salt).update(text).digest('hex');
}
