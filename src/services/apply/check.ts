import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { refused } from '../../../machines/fault.ts';
import { refusalCodes, type Bundle, type Refusal } from '../../../machines/words.ts';
import { filesystemsOf } from '../../adapters/filesystems.ts';
import { servicesOf } from '../../rules/compose/contents.ts';
import type { ComposeFile } from '../../rules/compose/tree.ts';
import { judgeCompose } from '../../rules/compose/judge.ts';
import { judgeDisk } from '../../rules/disk.ts';
import { judgeRollback } from '../../rules/rollback.ts';
import { judgeSecretPaths } from '../../rules/secretPath.ts';
import { judgeVariables } from '../../rules/variables.ts';
import { judgeVolumes } from '../../rules/volumeDrift.ts';
import type { Tools } from '../tools.ts';
import { contentsOf, labelTextsOf, readComposeFiles } from './composeFiles.ts';

/** Judges everything that must not run, tells it all at once and starts nothing (spec §9). */
export async function check(tools: Tools, { bundle }: { bundle: Bundle }, signal: AbortSignal): Promise<void> {
  try {
    const { files, refusals } = await readComposeFiles(bundle);
    const judged = merged([...refusals, ...(await judge(tools, bundle, files))]);
    if (judged.length > 0) throw refused(judged);
    await tools.compose.probe(signal);
  } catch (error) {
    await rm(bundle.dir, { recursive: true, force: true });
    throw error;
  }
}

/** One refusal a code, in the order in which they are told (spec §9.1). */
function merged(refusals: Refusal[]): Refusal[] {
  return refusalCodes.flatMap((code) => {
    const details = refusals.filter((each) => each.code === code).map(({ detail }) => detail);
    return details.length > 0 ? [{ code, detail: details.join('; ') }] : [];
  });
}

async function judge(tools: Tools, bundle: Bundle, files: ComposeFile[]): Promise<Refusal[]> {
  const { manifest, dir } = bundle;
  const facts = { releaseFiles: await contentsOf(dir), labelFiles: await labelTextsOf(bundle, files) };
  const judged = [
    judgeSecretPaths(manifest),
    judgeVariables(files, manifest),
    ...judgeCompose(files, { manifest, projectName: tools.project, ...facts }),
    judgeRollback(manifest, tools.state.state.highest_sequence),
  ];
  const refusals = judged.filter((each) => each !== null);
  if (refusals.length > 0 && !(await tools.containers.answers())) return refusals;
  return [...refusals, ...(await judgeHost(tools, bundle, files))];
}

/** The checks that look at the engine: volumes that would diverge, and room for what a pull brings. */
async function judgeHost(tools: Tools, { manifest }: Bundle, files: ComposeFile[]): Promise<Refusal[]> {
  const { containers, project, settings } = tools;
  const diverged = judgeVolumes(servicesOf(files).volumes, await containers.volumes(), project);
  const filesystems = await filesystemsOf([...(await pullTargets(tools)), ...settings.disk.paths]);
  const { headroom_bytes: headroomBytes } = settings.disk;
  const full = judgeDisk({ needBytes: manifest.disk_need_bytes, headroomBytes, filesystems });
  return [diverged, full].filter((each) => each !== null);
}

/** Every directory that a pull may fill: the engine's data root and, with the containerd store, containerd's own. */
async function pullTargets({ containers }: Tools): Promise<string[]> {
  const { rootDir, containerdStore } = await containers.info();
  if (!containerdStore) return [rootDir];
  return [rootDir, await containerdRoot(), join(rootDir, 'containerd', 'daemon')];
}

async function containerdRoot(): Promise<string> {
  const config = await readFile('/etc/containerd/config.toml', 'utf8').catch(() => '');
  return /^\s*root\s*=\s*["']([^"']+)["']/m.exec(config)?.[1] ?? '/var/lib/containerd';
}
