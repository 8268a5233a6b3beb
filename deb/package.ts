import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { program } from '../src/agent/cli.ts';
import { bundleProgram, type ProgramBundle } from './bundle.ts';
import { debianChangelog } from './docs/debianChangelog.ts';
import { completionsOf } from './docs/completions.ts';
import { librariesOf, maintainer } from './control.ts';
import { copyrightOf } from './docs/copyright.ts';
import { currentPackageVersion, readChangelog, type ChangelogEntry, type PackageVersion } from './packageVersion.ts';
import { buildExecutable } from './program/executable.ts';
import { agentConfigPage, agentPage } from './docs/agentPages.ts';
import { configPage, programPage } from './docs/manPages.ts';
import { runScript } from './userError.ts';
import { buildDebFile } from './debFile.ts';
import { staticPayload, maintainerScripts, type Payload } from './payload.ts';
import { createCodeCache, openCodeCache } from './program/codeCache.ts';

const here = import.meta.dirname;

/** Options of a build. */
export interface PackageOptions {
  /** Output directory. */
  dir: string;
  /** An existing code cache; without it a new one is recorded. */
  cacheFile?: string | undefined;
  /** Compression level of xz: 1 is fastest, 6 is the release's. */
  level?: number;
}

/** Writes the package, its digest, its code cache and the installer; returns the package's path. */
export async function buildPackage({ dir, cacheFile, level = 6 }: PackageOptions): Promise<string> {
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
  await buildDebFile(file, { ...packageVersion, payload, libraries, scripts: maintainerScripts(), level });
  await rm(executable);

  await writeFile(`${file}.sha256`, `${digestOf(await readFile(file))}  ${basename(file)}\n`);
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

/** Files that are generated from the agent: manual, completions, licences, changelog and build record. */
function generatedPayload({ bundle, cache, changes, packageVersion }: GeneratedInputs): Payload {
  const { bash, zsh, fish } = completionsOf(program);
  const buildRecord = {
    ...packageVersion,
    node: process.version,
    source: digestOf(bundle.source),
    cache: digestOf(cache),
  };
  return {
    '/usr/share/man/man1/deployd.1.gz': { text: programPage(agentPage, packageVersion), gzip: true },
    '/usr/share/man/man5/deployd.yaml.5.gz': { text: configPage(agentConfigPage, packageVersion), gzip: true },
    '/usr/share/bash-completion/completions/deployd': { text: bash },
    '/usr/share/zsh/vendor-completions/_deployd': { text: zsh },
    '/usr/share/fish/vendor_completions.d/deployd.fish': { text: fish },
    '/usr/share/doc/deployd/copyright': { text: copyrightOf(bundle.inputs) },
    '/usr/share/doc/deployd/changelog.gz': {
      text: debianChangelog(changes, { ...packageVersion, maintainer }),
      gzip: true,
    },
    '/usr/share/doc/deployd/build.json': { text: `${JSON.stringify(buildRecord, null, 2)}\n` },
    '/usr/share/lintian/overrides/deployd': { from: join(here, 'lintian-overrides') },
  };
}

function digestOf(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex');
}

if (import.meta.main)
  await runScript(async () => {
    const { values } = parseArgs({
      options: {
        cache: { type: 'string' },
        output: { type: 'string', default: 'build/package' },
        level: { type: 'string' },
      },
    });
    const { cache, output, level = '6' } = values;
    console.log(await buildPackage({ dir: output, cacheFile: cache, level: Number(level) }));
  });
