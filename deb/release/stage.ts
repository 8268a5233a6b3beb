import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createCa, type Certificate } from '../../fixtures/servers/ca.ts';
import { version } from '../../src/version.ts';

/** A built version, and a way to run the release commands on it. */
export interface ReleaseStage {
  dir: string;
  certificate: Certificate;
  /** Another build of the same version. */
  rebuild: (content: string) => Promise<void>;
  /** Runs a command of this directory, or a line of shell, with nothing in its environment but this. */
  run: (command: string | { line: string }, args: string[], env?: Record<string, string>) => Promise<Ran>;
  close: () => Promise<void>;
}

/** How a command ended; the last line of what it said on stderr. */
export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export const deb = `deployd_${version}_amd64.deb`;

/** Writes the three files of a version into a directory of its own. */
export async function openReleaseStage(): Promise<ReleaseStage> {
  const ca = createCa();
  const dir = await mkdtemp(join(tmpdir(), 'deployd-release-'));
  const caFile = join(dir, 'ca.pem');
  await writeFile(caFile, ca.pem);
  const rebuild = async (content: string) => {
    await writeFile(join(dir, deb), content);
    const digest = createHash('sha256').update(content).digest('hex');
    await writeFile(join(dir, `${deb}.sha256`), `${digest}  ${deb}\n`);
    await writeFile(join(dir, 'install.sh'), '#!/bin/sh\n');
  };
  await rebuild('a package');
  return {
    dir,
    certificate: ca.issue(['127.0.0.1']),
    rebuild,
    run: async (command, args, env = {}) => {
      const [file, words] =
        typeof command === 'string'
          ? [process.execPath, [join(import.meta.dirname, command), ...args]]
          : ['sh', ['-euc', command.line, 'sh', ...args]];
      const child = spawn(file, words, {
        env: { PATH: process.env['PATH'] ?? '', NODE_EXTRA_CA_CERTS: caFile, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      return { code: child.exitCode, stdout, stderr: stderr.trim() };
    },
    close: () => rm(dir, { recursive: true }),
  };
}
