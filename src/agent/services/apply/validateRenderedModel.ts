import { join } from 'node:path';
import { refusedFault } from '../../../../machines/fault.ts';
import type { Bundle } from '../../../../machines/types.ts';
import { readRoutes } from '../../adapters/host/routes.ts';
import { writeWithoutSync } from '../../adapters/files/durableFiles.ts';
import { nodeFromJson } from '../../../bundle/compose/composeNode.rules.ts';
import { openedPaths } from '../../../bundle/compose/composeContents.rules.ts';
import { validateModelPolicy } from '../../../bundle/policy/composePolicy.rules.ts';
import { grantedPrivilegesOf } from '../../rules/createdContainers/grantedPrivileges.ts';
import { validateHealthWait } from '../../../bundle/plan/waitPlan.rules.ts';
import { writtenServicesIn } from '../../rules/release/serviceFacts.ts';
import { renderEnvFile } from '../../rules/bundle/envFile.ts';
import { serviceEdgesOf } from '../../rules/release/serviceEdges.ts';
import { executablesOf, pathsOf } from '../../../bundle/archive/inventory.rules.ts';
import { withoutSecrets } from '../release/grantedPrivileges.ts';
import { recordServiceDefinitions } from '../release/oneShots.ts';
import type { Dependencies } from '../dependencies.ts';
import { readComposeFiles, readEnvTexts } from '../../../bundle/compose/composeFiles.ts';
import { policyHostOf } from './policyHost.ts';
import { environmentOf } from './environment.ts';
import { bundleContentsOf } from './unpack.ts';

/**
 * Renders the compose files with the secret values and validates the model against the policy (spec §12). The files and `.env`
 * are in staging, which is cleared on any error.
 */
export async function validateRenderedModel(
  deps: Dependencies,
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
      host: await policyHostOf(deps, [{ root: nodeFromJson(model) }], signal),
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

async function policyContextOf(deps: Dependencies, bundle: Bundle, signal: AbortSignal) {
  const { files } = await readComposeFiles(bundle, signal);
  const texts = await readEnvTexts(bundle, files, signal);
  const { containers } = deps;
  const contents = bundleContentsOf(deps);
  return {
    releaseFiles: pathsOf(contents),
    executables: executablesOf(contents),
    texts,
    openedPaths: openedPaths(files),
    routes: await readRoutes(),
    ...(await containers.policyFacts()),
  };
}
