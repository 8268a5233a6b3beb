import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { sampleOf, tellSample } from '../fixtures/world/sampling/sample.ts';
import { tempDir } from '../fixtures/world/tempDir.ts';
import { architectures, type Architecture } from './architecture.ts';
import { debOf } from './builtPackage.ts';
import { currentPackageVersion, readChangelog } from './packageVersion.ts';
import { buildRpmFile, rpmNameOf } from './rpmFile.ts';
import type { Payload } from './payload.ts';

const run = promisify(execFile);
const dir = tempDir();

beforeAll(() => run('sh', ['deb/needs.sh', 'build', 'rpmlint']), 300_000);

/** The rpm package with the files that the built `.deb` installs. */
async function buildRpm(architecture: Architecture): Promise<string> {
  const root = join(dir, architecture);
  await run('dpkg-deb', ['-x', debOf('deployd', architecture), root]);
  const files = globSync('**', { cwd: root, withFileTypes: true }).filter((entry) => entry.isFile());
  const sources = files.map(({ parentPath, name }) => join(parentPath, name));
  const payload: Payload = Object.fromEntries(sources.map((from) => [join('/', relative(root, from)), { from }]));
  const changes = readChangelog();
  const packageVersion = currentPackageVersion(changes);
  const file = join(dir, rpmNameOf(packageVersion.version, architecture));
  await buildRpmFile(file, { ...packageVersion, architecture, payload, compression: 'quick', changes });
  return file;
}

/** Both hold the same files but for program and build record, as deb/arm64.package.test.ts shows of the `.deb`. */
const tested = sampleOf(architectures, 1);
tellSample('architectures of the rpm', tested, architectures);

it.each(tested)(
  'the rpm for %s passes rpmlint without an error or a warning',
  async (architecture) => {
    const { stdout } = await run('rpmlint', ['--rpmlintrc', 'deb/rpmlintrc', await buildRpm(architecture)]);
    expect(stdout.split('\n').filter((line) => / [EWI]: /.test(line))).toEqual([]);
    expect(stdout).toMatch(/ 0 errors, 0 warnings/);
  },
  300_000,
);
