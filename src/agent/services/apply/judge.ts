import { textIfThere } from '../../adapters/files/ifThere.ts';
import { join } from 'node:path';
import { Fault } from '../../../../machines/fault.ts';
import type { Manifest, Sha } from '../../../../machines/words.ts';
import type { Containers } from '../../adapters/engine/containers.ts';
import { filesystemsOf } from '../../adapters/files/filesystems.ts';
import type { Releases } from '../../adapters/files/releases.ts';
import type { Settings } from '../../config/settings.ts';
import { planOf, type BundleFacts, type HostFacts, type Known, type Plan } from '../../rules/plan/plan.ts';
import type { Release } from '../../rules/plan/changes.ts';
import type { State } from '../../rules/state/state.ts';
import { pathsOf, type Contents } from '../../rules/bundle/inventory.ts';
import { leftoversOf } from '../release/leftovers.ts';
import { digestsOf, envTextsOf, readComposeFiles } from './composeFiles.ts';

/** The host that a bundle is judged for; nothing of it is changed. */
export interface Site {
  settings: Settings;
  containers: Containers;
  releases: Releases;
  /** Null where nothing ever happened. */
  state: Known<State | null>;
  /** The check-in calls this host production; false without one. */
  production: boolean;
}

/** A bundle's files; the sha is null for a directory. */
export interface Candidate {
  sha: Sha | null;
  dir: string;
  manifest: Manifest;
  contents: Contents;
}

/** A plan, and why the engine could not be looked at, null when it could. */
export interface Judgement {
  plan: Plan;
  trouble: Fault | null;
}

/** Gathers what a plan is made of, from the bundle's files and, where there is one, the site; writes nothing. Throws `stopped`. */
export async function judge(bundle: Candidate, site: Site | null, signal: AbortSignal): Promise<Judgement> {
  const facts = await bundleFacts(bundle, signal);
  if (site === null) {
    const unknown = 'there is no configuration, so no host to look at';
    const host = { highestSequence: { unknown }, inForce: { unknown }, engine: { unknown } };
    return { plan: planOf(facts, host), trouble: null };
  }
  const engine = await faultless(() => engineFacts(site, bundle.manifest));
  const known: HostFacts = {
    highestSequence: 'is' in site.state ? { is: site.state.is?.highest_sequence ?? null } : site.state,
    inForce: 'is' in site.state ? await releaseInForce(site, site.state.is, signal) : site.state,
    engine: engine instanceof Fault ? { unknown: engine.message } : { is: engine },
  };
  return { plan: planOf(facts, known), trouble: engine instanceof Fault ? engine : null };
}

async function bundleFacts(bundle: Candidate, signal: AbortSignal): Promise<BundleFacts> {
  const { contents, manifest, sha } = bundle;
  const { files, refusals } = await readComposeFiles(bundle, signal);
  const [releaseFiles, texts] = [pathsOf(contents), await envTextsOf(bundle, files, signal)];
  const digests = digestsOf(contents, files);
  return { sha, version: manifest.version, manifest, files, refusals, digests, releaseFiles, texts };
}

/** What compose left of an apply that was cut short belongs to no one release. */
async function releaseInForce(
  { releases }: Site,
  state: State | null,
  signal: AbortSignal,
): Promise<HostFacts['inForce']> {
  const sha = state?.applied_sha ?? null;
  if (state?.attempt) return { unknown: 'an apply was cut short' };
  if (sha === null) return { is: null };
  const found = await faultless(() => readRelease(releases, sha, signal));
  if (found instanceof Fault) return { unknown: found.message };
  return found === null ? { unknown: `release ${sha} is incomplete` } : { is: found };
}

/** Its files are not read for their digests: a container may have made them endless. */
async function readRelease(releases: Releases, sha: Sha, signal: AbortSignal): Promise<Release | null> {
  const [record, contents] = [await releases.readRecord(sha), await releases.readInventory(sha)];
  if (record === null || contents === null) return null;
  const { files } = await readComposeFiles({ dir: releases.pathOf(sha), manifest: record }, signal);
  return { sha, version: record.version, files, digests: digestsOf(contents, files) };
}

type EngineFacts = Extract<HostFacts['engine'], { is: unknown }>['is'];

async function engineFacts(site: Site, manifest: Manifest): Promise<EngineFacts> {
  const { containers, settings, state } = site;
  const known = 'is' in state ? state.is : null;
  const left = known && (await leftoversOf(site, known, site.production || manifest.production));
  return {
    volumes: await containers.volumes(),
    leftovers: left?.volumes ?? [],
    services: new Set((await containers.list()).map(({ service }) => service)),
    filesystems: await filledByPull({ containers, settings }),
    headroomBytes: settings.disk.headroom_bytes,
  };
}

/** Every filesystem that a pull can fill (spec §5.8). */
export async function filledByPull({ containers, settings }: Pick<Site, 'containers' | 'settings'>) {
  const { rootDir, containerdStore } = await containers.info();
  const filled = containerdStore ? await containerdRoots(rootDir) : [];
  return filesystemsOf([rootDir, ...filled, ...settings.disk.paths]);
}

/** With the containerd store a pull fills containerd's own directories too. */
async function containerdRoots(rootDir: string): Promise<string[]> {
  const config = (await textIfThere('/etc/containerd/config.toml').catch(() => null)) ?? '';
  const root = /^\s*root\s*=\s*["']([^"']+)["']/m.exec(config)?.[1] ?? '/var/lib/containerd';
  return [root, join(rootDir, 'containerd', 'daemon')];
}

async function faultless<T>(look: () => Promise<T>): Promise<T | Fault> {
  return look().catch((error: unknown) => {
    if (error instanceof Fault) return error;
    throw error;
  });
}
