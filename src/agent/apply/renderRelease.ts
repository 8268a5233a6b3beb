import type { Bundle, Sha } from '../../../machines/types.ts';
import { type ComposeProject, writablePaths } from '../../bundle/compose/composeProject.rules.ts';
import { envDigestOf, oneShotsToSkip, withContentLabels } from '../release/fingerprints.ts';
import {
  describeRelease,
  overrideOf,
  type RepairDependencies,
  repairRelease,
  type StagedBundle,
} from '../release/integrity.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';
import { serviceFactsOf } from '../release/services.rules.ts';
import { environmentOf, renderEnvFile } from '../secrets/envFile.rules.ts';
import type { VerifiedImage } from '../state/state.rules.ts';
import type { Carried, RenderedModel } from '../release/orchestrator.ts';
import type { Vault } from '../secrets/vault.ts';
import type { StateStore } from '../state/stateFile.ts';

/** Dependencies of rendering a release. */
export interface RenderDependencies extends RepairDependencies {
  readonly vault: Vault;
  readonly state: StateStore;
}

/**
 * Writes the release: the unpacked files, `.env` (0600), the release record and the override. In an existing release, files that
 * differ from the bundle are replaced (spec §12); when it is the applied release, a backup for a revert is kept until commit.
 */
export async function renderRelease(
  deps: RenderDependencies,
  { bundle, contents, project, images, model, secrets, signatures, signers }: Carried<RenderInput>,
  signal: AbortSignal,
): Promise<Carried<'release'>> {
  const { releases, state, tick, vault } = deps;
  const { sha, manifest } = bundle;
  const env = environmentOf(bundle, vault.valuesOf(secrets));
  const { verified } = images;
  const unpacked = { sha, contents, project, env, images: verified };
  if (state.state.applied_sha === sha) await releases.saveBackup(sha);
  else await releases.dropBackup(sha);
  const override = await placeFiles(deps, unpacked, signal);
  const unrepairedOverride = await overrideOf(deps, { ...unpacked, repairs: [] });
  const envFile = renderEnvFile(env);
  const labelled = withContentLabels(images.services, unrepairedOverride);
  const recordExtras = {
    jobs: await oneShotsToSkip(deps, sha, labelled),
    hooks: model.hooks,
    env: await envDigestOf(deps, envFile),
  };
  const described = releaseRecordOf(bundle, project, verified);
  const services = described.services.map((each) => ({
    ...each,
    ...factsOf(model, each.name),
    ...model.edges.get(each.name),
  }));
  const trust_root = signatures?.trustRoot ?? null;
  const record = {
    ...described,
    services,
    ...recordExtras,
    signers,
    trust_root,
    ...(await knownContainers(deps, sha)),
  };
  await releases.writeRendered(sha, { env: envFile, override, granted: model.granted, record });
  const { version, sequence } = manifest;
  tick.journal.debug(`release rendered: version=${version} sequence=${sequence}`);
  return { release: { services: labelled } };
}

/**
 * The containers of a release that an earlier attempt recorded. Without them, an apply that continues would remove its
 * own containers as containers of another tool.
 */
async function knownContainers(
  { releases }: RenderDependencies,
  sha: Sha,
): Promise<Pick<ReleaseRecord, 'containers' | 'volumes'>> {
  const { containers, volumes } = (await releases.readRecord(sha)) ?? {};
  return { ...(containers && { containers }), ...(volumes && { volumes }) };
}

type RenderInput = 'bundle' | 'contents' | 'project' | 'images' | 'model' | 'secrets' | 'signatures' | 'signers';

function factsOf({ written, startFirst }: RenderedModel, name: string) {
  const found = written.find((each) => each.name === name);
  const update = startFirst.get(name);
  return { ...(found && serviceFactsOf(found)), ...(update && { start_first: update }) };
}

/** Moves the unpacked files to a new release, or repairs an existing release. Returns the text of the override. */
async function placeFiles(deps: RenderDependencies, unpacked: StagedBundle, signal: AbortSignal): Promise<string> {
  const { releases } = deps;
  const { sha } = unpacked;
  if (!(await releases.exists(sha))) {
    const { inventory, override } = await describeRelease(deps, unpacked, []);
    await releases.adopt(sha, inventory, signal);
    return override;
  }
  const override = await repairRelease(deps, { ...unpacked, strict: true }, signal);
  await releases.clearStaging(sha, signal);
  return override;
}

/** The release record; `commit` adds the ids of the running images. */
function releaseRecordOf({ sha, manifest }: Bundle, project: ComposeProject, verified: readonly VerifiedImage[]) {
  const { version, sequence, production, compose, profiles, variables } = manifest;
  const images = verified.length === 0 ? project.images : [...new Set(verified.map(({ image }) => image))];
  return {
    schema: 1 as const,
    sha,
    version,
    sequence,
    production,
    compose,
    profiles,
    variables,
    services: project.running.map(({ name, replicas }) => ({ name, replicas: replicas ?? 1 })),
    images: images.filter((image) => !image.includes('$')).map((reference) => ({ reference, id: null })),
    verified_images: verified,
    writable: writablePaths(project),
  };
}
