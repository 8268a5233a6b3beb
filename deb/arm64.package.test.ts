import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { emulatedProgram } from '../fixtures/world/emulatedProgram.ts';
import { type Lab, type LabHost, openLab } from '../fixtures/world/network/lab.ts';
import { tempDir } from '../fixtures/world/tempDir.ts';
import type { Architecture } from './architecture.ts';
import { debOf } from './builtPackage.ts';

const run = promisify(execFile);

let lab: Lab;
let host: LabHost;
beforeAll(async () => {
  process.env['DEPLOYD_TEST_AGENT'] = JSON.stringify(await emulatedProgram('deployd', tempDir()));
  lab = await openLab();
  // Limits of calls are not the subject, and an emulated handshake takes seconds on a busy machine.
  const limits = { connect_timeout_s: 60, http_timeout_s: 120, download_stall_s: 120, download_timeout_s: 300 };
  host = await lab.host({ config: limits });
}, 300_000);
afterAll(() => lab.close());

/** A file of the control archive of the agent's package, in lines. */
async function control(architecture: Architecture, file: string): Promise<string[]> {
  return (await run('dpkg-deb', ['--info', debOf('deployd', architecture), file])).stdout.trim().split('\n');
}

it('the package for arm64 differs from the one for amd64 in program and build record alone', async () => {
  const differing = async (file: string) => {
    const theirs = await control('amd64', file);
    return (await control('arm64', file)).filter((line) => !theirs.includes(line));
  };
  expect(await differing('control')).toEqual(['Architecture: arm64', expect.stringMatching(/^Installed-Size: /)]);
  expect((await differing('md5sums')).map((line) => line.split('  ')[1])).toEqual([
    'usr/bin/deployd',
    'usr/share/doc/deployd/build.json',
  ]);
  for (const script of ['postinst', 'prerm', 'postrm', 'conffiles']) expect(await differing(script)).toEqual([]);
});

/** The processor is emulated, and only the processor: a program takes ten times as long. `npm run test:arm64` has more. */
it('the program for arm64, emulated, applies a bundle, and prints its version and architecture', async () => {
  host.announce();
  expect(await host.tick()).toMatchObject({ code: 0, reports: ['applied'], failedCalls: [] });
  const told = { agent: { version: manifest.version }, host: { arch: 'arm64', os: 'linux' } };
  // A long wait checks in again.
  expect(lab.world.tenancy.checkIns[0]).toMatchObject(told);
});
