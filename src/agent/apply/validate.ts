import { join } from 'node:path';
import { refusedFault } from '../../../machines/fault.ts';
import { formatFault, type Refusal } from '../../../machines/refusals.ts';
import type { Bundle, DesiredState } from '../../../machines/types.ts';
import { executablesOf, pathsOf } from '../../bundle/archive/inventory.rules.ts';
import { openedPaths } from '../../bundle/compose/composeProject.rules.ts';
import { readEnvTexts } from '../../bundle/compose/composeFiles.ts';
import { nodeFromJson } from '../../bundle/compose/composeNode.rules.ts';
import { parseRoutes, type Route } from '../../bundle/compose/networks.rules.ts';
import { validateHealthWait } from '../../bundle/plan/waitPlan.rules.ts';
import { validateModelPolicy } from '../../bundle/policy/composePolicy.rules.ts';
import { recordServiceDefinitions, withoutSecrets } from '../release/fingerprints.ts';
import { grantedPrivilegesOf } from '../release/grantedPrivileges.rules.ts';
import { serviceEdgesOf, writtenServicesIn } from '../release/services.rules.ts';
import { environmentOf, renderEnvFile } from '../secrets/envFile.rules.ts';
import { writeWithoutSync } from '../state/durableFiles.ts';
import { readTextIfExists } from '../state/files.ts';
import { planBundle } from './bundlePlan.ts';
import { policyHostOf } from './policyHost.ts';
import { type ApplyTick, bundleContentsOf, projectOfBundle } from './unpack.ts';
import type { RunningTick } from '../journal/journal.ts';
import type { Settings } from '../config/settings.ts';
import type { Vault } from '../secrets/vault.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Releases } from '../release/releases.ts';
import type { Containers } from '../engine/containers.ts';
import type { Compose } from '../engine/compose.ts';
import { mergedFilesOf } from '../../bundle/compose/services.rules.ts';

/** What validating an unpacked bundle takes. */
export interface ValidateDependencies {
  readonly settings: Settings;
  readonly project: string;
  readonly vault: Vault;
  readonly state: StateStore;
  readonly releases: Releases;
  readonly containers: Containers;
  readonly compose: Compose;
  readonly tick: ApplyTick;
}

/** Only who made the bundle, and has signed it, can say so. */
const noEmergency: Refusal = {
  code: 'MANIFEST_INVALID',
  detail: 'agent.emergency: is not true, though the bundle is announced as an emergency',
};

/** Runs every refusal check that needs no secrets and throws all refusals together (spec §9). */
export async function validateBundle(
  deps: ValidateDependencies,
  { bundle, desired }: { bundle: Bundle; desired: DesiredState },
  signal: AbortSignal,
): Promise<void> {
  try {
    const contents = bundleContentsOf(deps);
    const host = { ...deps, state: { known: deps.state.state }, production: desired.production };
    const { plan, engineFault, isApplied, project } = await planBundle({ ...bundle, contents }, host, signal);
    deps.tick.isAppliedContent = isApplied;
    deps.tick.composeProject = { sha: bundle.sha, project };
    const refusals = desired.emergency && bundle.manifest.agent.emergency !== true ? [noEmergency] : [];
    if (refusals.length + plan.refusals.length > 0) throw refusedFault([...refusals, ...plan.refusals]);
    if (engineFault !== null) throw engineFault;
    for (const fault of plan.warnings) deps.tick.journal.warn(`refused of a new bundle: ${formatFault(fault)}`);
    tellRemarks(deps.tick, 'ignored', plan.ignored);
    tellRemarks(deps.tick, 'may not work', plan.notices.map(formatFault));
    deps.tick.journal.debug(`plan: ${plan.services.map(({ name, change }) => `${name}=${change}`).join(' ')}`);
    await deps.compose.probe(signal);
  } catch (error) {
    await deps.releases.clearStaging(bundle.sha, signal);
    throw error;
  }
}

/**
 * Renders the compose files with the secret values and validates the model against the policy (spec §12). The files and `.env`
 * are in staging, which is cleared on any error.
 */
export async function validateRenderedModel(
  deps: ValidateDependencies,
  { bundle }: { bundle: Bundle },
  signal: AbortSignal,
): Promise<void> {
  const { compose, project, vault } = deps;
  const { dir, manifest } = bundle;
  try {
    await writeWithoutSync(join(dir, '.env'), renderEnvFile(environmentOf(bundle, vault.values())), 0o600);
    const model = await compose.renderModel({ dir, files: manifest.compose, profiles: manifest.profiles }, signal);
    const context = await policyContextOf(deps, bundle, signal);
    const refusals = validateModelPolicy(model, dir, {
      manifest,
      projectName: project,
      isApplied: deps.tick.isAppliedContent,
      ...context,
      host: await policyHostOf(deps, mergedFilesOf([{ root: nodeFromJson(model) }]), signal),
    });
    const written = writtenServicesIn(model);
    const wait = validateHealthWait(written, new Map(), deps.settings.health_timeout_max_s);
    refusals.push(...(wait === null ? [] : [wait]));
    if (refusals.length > 0) throw refusedFault(refusals);
    deps.tick.writtenServices = { sha: bundle.sha, services: written };
    deps.tick.grantedPrivileges = await withoutSecrets(deps, grantedPrivilegesOf(model, dir, context.outside));
    deps.tick.serviceEdges = { sha: bundle.sha, services: serviceEdgesOf(model) };
    await recordServiceDefinitions(deps, bundle, model);
  } catch (error) {
    await deps.releases.clearStaging(bundle.sha, signal);
    throw error;
  }
}

async function policyContextOf(deps: ValidateDependencies, bundle: Bundle, signal: AbortSignal) {
  const project = await projectOfBundle(deps, bundle, signal);
  const texts = await readEnvTexts(bundle, project, signal);
  const { containers } = deps;
  const contents = bundleContentsOf(deps);
  return {
    releaseFiles: pathsOf(contents),
    executables: executablesOf(contents),
    texts,
    openedPaths: openedPaths(project),
    routes: await readRoutes(),
    ...(await containers.policyFacts()),
  };
}

/** Lines of one kind that one report has. */
const maxLines = 20;

/** Writes what nothing is refused for to the journal and the report; lines that are there already are left out. */
export function tellRemarks(tick: RunningTick, kind: string, found: readonly string[]): void {
  const lines = found.map((each) => `${kind}: ${each}`).filter((line) => !tick.remarks.includes(line));
  const more = lines.length > maxLines ? [`${kind}: and ${lines.length - maxLines} more`] : [];
  for (const line of [...lines.slice(0, maxLines), ...more]) {
    tick.journal.info(line);
    tick.remarks.push(line);
  }
}

/** The routes of this host; none when the kernel has no routing tables. Throws a Fault when they cannot be read. */
export async function readRoutes(): Promise<Route[]> {
  const [table4 = '', table6 = ''] = await Promise.all(['route', 'ipv6_route'].map(readTable));
  return parseRoutes(table4, table6);
}

async function readTable(name: string): Promise<string> {
  return (await readTextIfExists(`/proc/self/net/${name}`)) ?? '';
}
