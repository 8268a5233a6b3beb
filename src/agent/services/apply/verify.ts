import { join } from 'node:path';
import { refused } from '../../../../machines/fault.ts';
import type { Bundle } from '../../../../machines/words.ts';
import { readRoutes } from '../../adapters/host/routes.ts';
import { writeLazily } from '../../adapters/files/files.ts';
import { openedPaths } from '../../rules/compose/contents.ts';
import { judgeModel } from '../../rules/compose/judge.ts';
import { grantedOf } from '../../rules/created/granted.ts';
import { renderEnvFile } from '../../rules/bundle/envFile.ts';
import { pathsOf } from '../../rules/bundle/inventory.ts';
import { withoutSecrets } from '../release/granted.ts';
import { noteMade } from '../release/jobs.ts';
import type { Tools } from '../tools.ts';
import { envTextsOf, readComposeFiles } from './composeFiles.ts';
import { environmentOf } from './environment.ts';
import { unpackedContents } from './unpack.ts';

/**
 * The second look (spec §12): compose renders the files with their real values, and the policy judges what it made of
 * them. The release that is to be lies in staging, its `.env` too; where it is refused, it goes.
 */
export async function verify(tools: Tools, { bundle }: { bundle: Bundle }, signal: AbortSignal): Promise<void> {
  const { compose, project, vault } = tools;
  const { dir, manifest } = bundle;
  try {
    await writeLazily(join(dir, '.env'), renderEnvFile(environmentOf(bundle, vault.values())), 0o600);
    const model = await compose.model({ dir, files: manifest.compose }, signal);
    const refusals = judgeModel(model, dir, {
      manifest,
      projectName: project,
      ...(await contextOf(tools, bundle, signal)),
    });
    if (refusals.length > 0) throw refused(refusals);
    tools.tick.granted = await withoutSecrets(tools, grantedOf(model, dir));
    await noteMade(tools, bundle, model);
  } catch (error) {
    await tools.releases.clearStaging(bundle.sha, signal);
    throw error;
  }
}

async function contextOf(tools: Tools, bundle: Bundle, signal: AbortSignal) {
  const { files } = await readComposeFiles(bundle, signal);
  const texts = await envTextsOf(bundle, files, signal);
  const routes = await readRoutes();
  return { releaseFiles: pathsOf(unpackedContents(tools)), texts, opened: openedPaths(files), routes };
}
