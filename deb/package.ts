import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { program } from '../src/agent/cli.ts';
import { bundleOf, type Bundle } from './bundle.ts';
import { debianChangelog } from './changelog.ts';
import { completionsOf } from './completions.ts';
import { librariesOf, maintainer } from './control.ts';
import { copyrightOf } from './copyright.ts';
import { currentEdition, readChanges, type Change, type Edition } from './edition.ts';
import { buildExecutable } from './executable.ts';
import { commandPage, configPage } from './manual.ts';
import { carryOut } from './mishap.ts';
import { pack } from './pack.ts';
import { fixedPayload, maintainerScripts, type Payload } from './tree.ts';
import { makeCache, openCache } from './warm.ts';

const here = import.meta.dirname;

/** How a build differs from that of a release. */
export interface Wish {
  /** Where everything is written. */
  dir: string;
  /** A code cache that was made before; a new one where left out. */
  cacheFile?: string | undefined;
  /** Of xz: 1 is fast, 6 is what is released. */
  level?: number;
}

/** Builds the package, its digest, the code cache it was made with, and the installer; returns the package's path. */
export async function buildPackage({ dir, cacheFile, level = 6 }: Wish): Promise<string> {
  execFileSync('sh', [join(here, 'needs.sh'), 'build'], { stdio: 'inherit' });
  await mkdir(dir, { recursive: true });
  const bundle = await bundleOf('src/agent/cli.ts');
  const cache = cacheFile === undefined ? await makeCache(bundle.source) : await readFile(cacheFile);
  const executable = join(dir, 'deployd');
  await buildExecutable(executable, { source: bundle.source, cache: openCache(cache, bundle.source) });

  const changes = readChanges();
  const edition = currentEdition(changes);
  const own = ownPayload({ bundle, cache, changes, edition });
  const payload = { ...fixedPayload(), ...own, '/usr/bin/deployd': { from: executable } };
  const file = join(dir, `deployd_${edition.version}_amd64.deb`);
  const libraries = await librariesOf(executable);
  await pack(file, { ...edition, payload, libraries, scripts: maintainerScripts(), level });
  await rm(executable);

  await writeFile(`${file}.sha256`, `${digestOf(await readFile(file))}  ${basename(file)}\n`);
  await writeFile(join(dir, `deployd_${edition.version}.cache`), cache);
  await copyFile(join(here, '..', 'install', 'install.sh'), join(dir, 'install.sh'));
  return file;
}

interface Parts {
  bundle: Bundle;
  cache: Buffer;
  changes: Change[];
  edition: Edition;
}

/** What is made of the agent itself: its manual, completions, licences and changes, and what it was built from. */
function ownPayload({ bundle, cache, changes, edition }: Parts): Payload {
  const { bash, zsh, fish } = completionsOf(program);
  const built = {
    ...edition,
    node: process.version,
    source: digestOf(bundle.source),
    cache: digestOf(cache),
  };
  return {
    '/usr/share/man/man1/deployd.1.gz': { text: commandPage(program, edition), gzip: true },
    '/usr/share/man/man5/deployd.yaml.5.gz': { text: configPage(edition), gzip: true },
    '/usr/share/bash-completion/completions/deployd': { text: bash },
    '/usr/share/zsh/vendor-completions/_deployd': { text: zsh },
    '/usr/share/fish/vendor_completions.d/deployd.fish': { text: fish },
    '/usr/share/doc/deployd/copyright': { text: copyrightOf(bundle.inputs) },
    '/usr/share/doc/deployd/changelog.gz': { text: debianChangelog(changes, { ...edition, maintainer }), gzip: true },
    '/usr/share/doc/deployd/build.json': { text: `${JSON.stringify(built, null, 2)}\n` },
    '/usr/share/lintian/overrides/deployd': { from: join(here, 'lintian-overrides') },
  };
}

function digestOf(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex');
}

if (import.meta.main)
  await carryOut(async () => {
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
