import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { debNameOf, runtimeOf, type Architecture } from './architecture.ts';
import { buildArguments, buildOptionsOf, type BuildOptions } from './buildOptions.ts';
import { bundleProgram, ctlBundleOptions, type ProgramBundle } from './bundle.ts';
import { ctlControl, librariesOf, tenancyControl, type ControlTexts } from './control.ts';
import { buildDebFile } from './debFile.ts';
import { writeDigest } from './digest.ts';
import type { DocumentedProgram } from './docs/programDocs.ts';
import { programDocs } from './docs/programDocs.ts';
import { ctlPage, tenancyConfigPage, tenancyPage } from './docs/servicePages.ts';
import { currentPackageVersion, readChangelog } from './packageVersion.ts';
import { tenancyPayload, tenancyScripts, type Payload } from './payload.ts';
import { buildPlainExecutable } from './program/executable.ts';
import { runScript } from './userError.ts';

/** A program that may take its time to start, and what its package has beside it. */
interface PlainPackage extends Pick<DocumentedProgram, 'noun' | 'page' | 'configPage' | 'lintianOverrides'> {
  entry: string;
  control: ControlTexts;
  payload: Payload;
  scripts: Payload;
}

const here = import.meta.dirname;

/** The packages beside the agent's. */
export const plainPackages: readonly PlainPackage[] = [
  {
    noun: 'the tenancy service',
    entry: 'src/tenancy/cli.ts',
    control: tenancyControl,
    page: tenancyPage,
    configPage: tenancyConfigPage,
    lintianOverrides: readFileSync(join(here, 'tenancy', 'lintian-overrides'), 'utf8'),
    payload: tenancyPayload(),
    scripts: tenancyScripts(),
  },
  { noun: 'deployctl', entry: 'src/deployctl/cli.ts', control: ctlControl, page: ctlPage, payload: {}, scripts: {} },
];

/** Writes each package and deployctl in one file, with their digests; returns the packages' paths. */
export async function buildPlainPackages(options: BuildOptions): Promise<string[]> {
  execFileSync('sh', [join(here, 'needs.sh'), 'build'], { stdio: 'inherit' });
  await mkdir(options.dir, { recursive: true });
  const ctlFile = join(options.dir, 'deployctl.cjs');
  await build({ ...ctlBundleOptions, outfile: ctlFile });
  await writeDigest(ctlFile);
  const files: string[] = [];
  for (const each of plainPackages) {
    const program = await bundleProgram(each.entry);
    for (const architecture of options.architectures)
      files.push(await buildPlainPackage(each, program, { ...options, architecture }));
  }
  return files;
}

async function buildPlainPackage(
  { control, payload, scripts, ...about }: PlainPackage,
  { source, inputs }: ProgramBundle,
  { dir, architecture, compression }: Pick<BuildOptions, 'dir' | 'compression'> & { architecture: Architecture },
): Promise<string> {
  const { name } = control;
  const executable = join(dir, name);
  const runtime = await runtimeOf(architecture);
  await buildPlainExecutable(executable, source, runtime);
  const changes = readChangelog();
  const packageVersion = currentPackageVersion(changes);
  const file = join(dir, debNameOf(name, packageVersion.version, architecture));
  await buildDebFile(file, {
    ...packageVersion,
    architecture,
    control,
    payload: {
      ...payload,
      ...programDocs({ ...about, name, inputs, changes, packageVersion }),
      [`/usr/bin/${name}`]: { from: executable },
    },
    libraries: await librariesOf(executable, runtime),
    scripts,
    compression,
  });
  await rm(executable);
  await writeDigest(file);
  return file;
}

if (import.meta.main)
  await runScript(async () => {
    const { values } = parseArgs({ options: buildArguments });
    for (const file of await buildPlainPackages(buildOptionsOf(values))) console.log(file);
  });
