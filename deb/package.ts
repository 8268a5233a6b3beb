import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { debNameOf, runtimeOf, type Architecture } from './architecture.ts';
import { buildArguments, buildOptionsOf, type Format } from './buildOptions.ts';
import { bundleProgram, type ProgramBundle } from './bundle.ts';
import { agentControl, librariesOf } from './control.ts';
import { currentPackageVersion, readChangelog, type ChangelogEntry, type PackageVersion } from './packageVersion.ts';
import { buildExecutable } from './program/executable.ts';
import { digestOf, writeDigest } from './digest.ts';
import { agentConfigPage, agentPage } from './docs/agentPages.ts';
import { programDocs } from './docs/programDocs.ts';
import { runScript, UserError } from './userError.ts';
import { buildDebFile, type Compression } from './debFile.ts';
import { buildRpmFile, rpmNameOf, type RpmContents } from './rpmFile.ts';
import { staticPayload, maintainerScripts, type Payload } from './payload.ts';
import { createCodeCache, openCodeCache } from './program/codeCache.ts';

const here = import.meta.dirname;

/** Options of a build. */
export interface PackageOptions {
  /** Output directory. */
  dir: string;
  architecture?: Architecture;
  /** Debian's by default. */
  formats?: readonly Format[];
  /** An existing code cache; without it a new one is recorded. */
  cacheFile?: string | undefined;
  compression?: Compression;
}

/** Writes the package in each format, with its digest, its code cache and the installer; returns the packages' paths. */
export async function buildPackage({
  dir,
  architecture = 'amd64',
  formats = ['deb'],
  cacheFile,
  compression = 'release',
}: PackageOptions): Promise<string[]> {
  execFileSync('sh', [join(here, 'needs.sh'), 'build'], { stdio: 'inherit' });
  await mkdir(dir, { recursive: true });
  const runtime = await runtimeOf(architecture);
  const bundle = await bundleProgram('src/agent/cli.ts');
  const cache = cacheFile === undefined ? await createCodeCache(bundle.source, runtime) : await readFile(cacheFile);
  const executable = join(dir, 'deployd');
  const { source } = bundle;
  await buildExecutable(executable, { source, cache: openCodeCache(cache, source, runtime), runtime });

  const changes = readChangelog();
  const packageVersion = currentPackageVersion(changes);
  const generated = generatedPayload({ architecture, bundle, cache, changes, packageVersion });
  const payload = { ...staticPayload(), ...generated, '/usr/bin/deployd': { from: executable } };
  const contents = { ...packageVersion, architecture, payload, compression, changes };
  const files: string[] = [];
  for (const format of formats) files.push(await builders[format](dir, contents));
  await rm(executable);

  for (const file of files) await writeDigest(file);
  await writeFile(join(dir, cacheNameOf(packageVersion.version, architecture)), cache);
  await copyFile(join(here, '..', 'install', 'install.sh'), join(dir, 'install.sh'));
  return files;
}

/** How the package is written in each format; returns its path. */
const builders: Record<Format, (dir: string, contents: RpmContents) => Promise<string>> = {
  deb: async (dir, contents) => {
    const file = join(dir, debNameOf('deployd', contents.version, contents.architecture));
    const libraries = await librariesOf(join(dir, 'deployd'), await runtimeOf(contents.architecture));
    await buildDebFile(file, { ...contents, control: agentControl, libraries, scripts: maintainerScripts() });
    return file;
  },
  rpm: async (dir, contents) => {
    const file = join(dir, rpmNameOf(contents.version, contents.architecture));
    await buildRpmFile(file, contents);
    return file;
  },
};

/** The file of a code cache beside its package. */
export function cacheNameOf(version: string, architecture: Architecture): string {
  return `deployd_${version}_${architecture}.cache`;
}

interface GeneratedInputs {
  architecture: Architecture;
  bundle: ProgramBundle;
  cache: Buffer;
  changes: ChangelogEntry[];
  packageVersion: PackageVersion;
}

/** Files that are generated from the agent: its documentation, and the build record. */
function generatedPayload({ architecture, bundle, cache, changes, packageVersion }: GeneratedInputs): Payload {
  const buildRecord = {
    ...packageVersion,
    architecture,
    node: process.version,
    source: digestOf(bundle.source),
    cache: digestOf(cache),
  };
  const docs = programDocs({
    name: 'deployd',
    noun: 'the agent',
    inputs: bundle.inputs,
    page: agentPage,
    configPage: agentConfigPage,
    lintianOverrides: readFileSync(join(here, 'lintian-overrides'), 'utf8'),
    changes,
    packageVersion,
  });
  return { ...docs, '/usr/share/doc/deployd/build.json': { text: `${JSON.stringify(buildRecord, null, 2)}\n` } };
}

if (import.meta.main)
  await runScript(async () => {
    const { values } = parseArgs({ options: { ...buildArguments, cache: { type: 'string' } } });
    const { architectures, ...options } = buildOptionsOf(values);
    if (values.cache !== undefined && architectures.length > 1)
      throw new UserError('--cache: a code cache is of one architecture; name it by --architecture');
    for (const architecture of architectures)
      for (const file of await buildPackage({ ...options, architecture, cacheFile: values.cache })) console.log(file);
  });
