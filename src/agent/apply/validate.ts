import { join } from 'node:path';
import { refusedFault } from '../../../machines/fault.ts';
import { formatFault, type Refusal } from '../../../machines/refusals.ts';
import { executablesOf, pathsOf } from '../../bundle/archive/inventory.rules.ts';
import { openedPaths } from '../../bundle/compose/composeProject.rules.ts';
import { readEnvTexts } from '../../bundle/compose/composeFiles.ts';
import { nodeFromJson } from '../../bundle/compose/composeNode.rules.ts';
import { parseRoutes, type Route } from '../../bundle/compose/networks.rules.ts';
import { startFirstOfModel, startFirstRefusal } from '../../bundle/plan/startFirst.rules.ts';
import { validateHealthWait } from '../../bundle/plan/waitPlan.rules.ts';
import type { WrittenService } from '../../bundle/plan/writtenServices.rules.ts';
import { validateModelPolicy } from '../../bundle/policy/composePolicy.rules.ts';
import { fingerprintsOf, withoutSecrets } from '../release/fingerprints.ts';
import { freeSpace, type SpaceDependencies } from '../release/garbage.ts';
import { grantedPrivilegesOf } from '../release/grantedPrivileges.rules.ts';
import { hooksIn, serviceEdgesOf, writtenServicesIn } from '../release/services.rules.ts';
import { environmentOf, renderEnvFile } from '../secrets/envFile.rules.ts';
import { writeWithoutSync } from '../state/durableFiles.ts';
import { readTextIfExists } from '../state/fileSystem.ts';
import { ageUnknown, planBundle } from './bundlePlan.ts';
import { policyHostOf } from './policyHost.ts';
import type { Carried } from '../release/orchestrator.ts';
import { type RunningTick, tellRemarks } from '../journal/journal.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Vault } from '../secrets/vault.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Releases } from '../release/releases.ts';
import type { Containers } from '../engine/containers.ts';
import type { Compose } from '../engine/compose.ts';
import { mergedFilesOf } from '../../bundle/compose/services.rules.ts';

/** Dependencies of validating an unpacked bundle. */
export interface ValidateDependencies extends SpaceDependencies {
  readonly settings: Settings;
  readonly project: string;
  readonly vault: Vault;
  readonly state: StateStore;
  readonly releases: Releases;
  readonly containers: Containers;
  readonly compose: Compose;
  readonly tick: RunningTick;
}

/** Only the author and the signers of the bundle can declare this. */
const noEmergency: Refusal = {
  code: 'MANIFEST_INVALID',
  detail: 'agent.emergency: is not true, though the bundle is announced as an emergency',
};

/** Runs every refusal check that needs no secrets and throws all refusals together (spec §9). */
export async function validateBundle(
  deps: ValidateDependencies,
  { bundle, contents, desired }: Carried<'bundle' | 'contents' | 'desired'>,
  signal: AbortSignal,
): Promise<Carried<'project' | 'isApplied'>> {
  const { compose, state, tick } = deps;
  const host = { ...deps, state: { known: state.state }, production: desired.production };
  const judge = () => planBundle({ ...bundle, contents }, host, signal);
  const first = await judge();
  const isFull = first.plan.refusals.some(({ code }) => code === 'DISK_INSUFFICIENT');
  const freed = isFull && (await freeSpace(deps, bundle.sha));
  const { plan, engineFault, isApplied, project } = freed ? await judge() : first;
  const refusals = desired.emergency && bundle.manifest.agent.emergency !== true ? [noEmergency] : [];
  if (refusals.length + plan.refusals.length > 0) throw refusedFault([...refusals, ...plan.refusals]);
  if (engineFault !== null) throw engineFault;
  for (const fault of plan.warnings) tick.journal.warn(`refused of a new bundle: ${formatFault(fault)}`);
  tellRemarks(tick, 'ignored', plan.ignored);
  tellRemarks(tick, 'may not work', plan.notices.map(formatFault));
  const isAgeUnknown = plan.not_judged.some(({ why }) => why === ageUnknown);
  if (isAgeUnknown) tellRemarks(tick, 'not verified', [ageUnknown]);
  tick.journal.debug(`plan: ${plan.services.map(({ name, change }) => `${name}=${change}`).join(' ')}`);
  await compose.probe(signal);
  return { project, isApplied };
}

/** Renders the compose files with the secret values and validates the model against the policy (spec §12). `.env` is in staging. */
export async function validateRenderedModel(
  deps: ValidateDependencies,
  input: Carried<'bundle' | 'contents' | 'project' | 'isApplied' | 'secrets'>,
  signal: AbortSignal,
): Promise<Carried<'model'>> {
  const { compose, project, settings, vault } = deps;
  const { bundle, isApplied, secrets } = input;
  const { dir, manifest } = bundle;
  await writeWithoutSync(join(dir, '.env'), renderEnvFile(environmentOf(bundle, vault.valuesOf(secrets))), 0o600);
  const model = await compose.renderModel({ dir, files: manifest.compose, profiles: manifest.profiles }, signal);
  const context = await policyContextOf(deps, input, signal);
  const host = await policyHostOf(deps, mergedFilesOf([{ root: nodeFromJson(model) }]), signal);
  const refusals = validateModelPolicy(model, dir, { manifest, projectName: project, isApplied, ...context, host });
  const written = writtenServicesIn(model);
  const wait = validateHealthWait(written, new Map(), settings.health_timeout_max_s);
  const startFirst =
    settings.orchestrator === 'compose'
      ? startFirstOfModel(model, { written: input.project.active, jobs: jobsOf(written) })
      : [];
  const sideBySide = isApplied ? null : startFirstRefusal(startFirst);
  refusals.push(...[wait, sideBySide].filter((each) => each !== null));
  if (refusals.length > 0) throw refusedFault(refusals);
  return {
    model: {
      written: written.map((each) => ({ ...each, image: each.image === null ? null : vault.conceal(each.image) })),
      startFirst: new Map(
        startFirst.flatMap(({ name, update, faults }) => (faults.length > 0 ? [] : [[name, update]])),
      ),
      granted: await withoutSecrets(deps, grantedPrivilegesOf(model, dir, context.outside)),
      edges: serviceEdgesOf(model),
      hooks: hooksIn(model),
      services: await fingerprintsOf(deps, dir, model),
    },
  };
}

/** Names of the services that end, which have nothing to replace. */
function jobsOf(written: readonly WrittenService[]): ReadonlySet<string> {
  return new Set(written.filter(({ kind }) => kind === 'job').map(({ name }) => name));
}

async function policyContextOf(
  { containers }: ValidateDependencies,
  { bundle, contents, project }: Carried<'bundle' | 'contents' | 'project'>,
  signal: AbortSignal,
) {
  return {
    releaseFiles: pathsOf(contents),
    executables: executablesOf(contents),
    texts: await readEnvTexts(bundle, project, signal),
    openedPaths: openedPaths(project),
    routes: await readRoutes(),
    ...(await containers.policyFacts()),
  };
}

/** The routes of this host; empty when the kernel has no routing tables. Throws a Fault when they cannot be read. */
export async function readRoutes(): Promise<Route[]> {
  const [table4 = '', table6 = ''] = await Promise.all(['route', 'ipv6_route'].map(readTable));
  return parseRoutes(table4, table6);
}

async function readTable(name: string): Promise<string> {
  return (await readTextIfExists(`/proc/self/net/${name}`)) ?? '';
}
