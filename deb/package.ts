import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleProgram, type ProgramBundle } from './bundle.ts';
import { agentControl, librariesOf } from './control.ts';
import { currentPackageVersion, readChangelog, type ChangelogEntry, type PackageVersion } from './packageVersion.ts';
import { buildExecutable } from './program/executable.ts';
import { digestOf, writeDigest } from './digest.ts';
import { agentConfigPage, agentPage } from './docs/agentPages.ts';
import { programDocs } from './docs/programDocs.ts';
import { runScript } from './userError.ts';
import { buildDebFile, type Compression } from './debFile.ts';
import { staticPayload, maintainerScripts, type Payload } from './payload.ts';
import { createCodeCache, openCodeCache } from './program/codeCache.ts';

const here = import.meta.dirname;

/** Options of a build. */
export interface PackageOptions {
  /** Output directory. */
  dir: string;
  /** An existing code cache; without it a new one is recorded. */
  cacheFile?: string | undefined;
  compression?: Compression;
}

/** Writes the package, its digest, its code cache and the installer; returns the package's path. */
export async function buildPackage({ dir, cacheFile, compression = 'release' }: PackageOptions): Promise<string> {
  execFileSync('sh', [join(here, 'needs.sh'), 'build'], { stdio: 'inherit' });
  await mkdir(dir, { recursive: true });
  const bundle = await bundleProgram('src/agent/cli.ts');
  const cache = cacheFile === undefined ? await createCodeCache(bundle.source) : await readFile(cacheFile);
  const executable = join(dir, 'deployd');
  await buildExecutable(executable, { source: bundle.source, cache: openCodeCache(cache, bundle.source) });

  const changes = readChangelog();
  const packageVersion = currentPackageVersion(changes);
  const generated = generatedPayload({ bundle, cache, changes, packageVersion });
  const payload = { ...staticPayload(), ...generated, '/usr/bin/deployd': { from: executable } };
  const file = join(dir, `deployd_${packageVersion.version}_amd64.deb`);
  const libraries = await librariesOf(executable);
  await buildDebFile(file, {
    ...packageVersion,
    control: agentControl,
    payload,
    libraries,
    scripts: maintainerScripts(),
    compression,
  });
  await rm(executable);

  await writeDigest(file);
  await writeFile(join(dir, `deployd_${packageVersion.version}.cache`), cache);
  await copyFile(join(here, '..', 'install', 'install.sh'), join(dir, 'install.sh'));
  return file;
}

interface GeneratedInputs {
  bundle: ProgramBundle;
  cache: Buffer;
  changes: ChangelogEntry[];
  packageVersion: PackageVersion;
}

/** Files that are generated from the agent: its documentation, and the build record. */
function generatedPayload({ bundle, cache, changes, packageVersion }: GeneratedInputs): Payload {
  const buildRecord = {
    ...packageVersion,
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
    const { values } = parseArgs({
      options: {
        cache: { type: 'string' },
        output: { type: 'string', default: 'build/package' },
        quick: { type: 'boolean', default: false },
      },
    });
    const { cache, output, quick } = values;
    const compression = quick ? 'quick' : 'release';
    console.log(await buildPackage({ dir: output, cacheFile: cache, compression }));
  });
