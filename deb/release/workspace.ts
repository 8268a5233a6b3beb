import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Certificate, createCa } from '../../fixtures/world/servers/crypto/ca.ts';
import { version } from '../../src/core/commandLine.ts';
import { debNameOf } from '../architecture.ts';
import { writeDigest } from '../digest.ts';
import { digestedNames } from './releaseFiles.ts';

/** A directory with a built version, in which tests run the release commands. */
export interface ReleaseWorkspace {
  dir: string;
  certificate: Certificate;
  /** Replaces the packages by another build of the same version. */
  rebuild: (content: string) => Promise<void>;
  /** Runs a script of this directory, or a shell line, in an environment of PATH, the CA and `env` only. */
  run: (command: string | { line: string }, args: string[], env?: Record<string, string>) => Promise<CommandResult>;
  close: () => Promise<void>;
}

/** Exit code and output of a command; stderr is trimmed. */
export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The agent's package, which is published first. */
export const debName = debNameOf('deployd', version, 'amd64');
/** Every file of a version, in the order in which they are published. */
export const releaseNames = [...digestedNames(version).flatMap((name) => [name, `${name}.sha256`]), 'install.sh'];

/** Writes the files of a version into a temporary directory. */
export async function openReleaseWorkspace(): Promise<ReleaseWorkspace> {
  const ca = createCa();
  const dir = await mkdtemp(join(tmpdir(), 'deployd-release-'));
  const caFile = join(dir, 'ca.pem');
  await writeFile(caFile, ca.pem);
  const rebuild = async (content: string) => {
    for (const name of digestedNames(version)) {
      await writeFile(join(dir, name), content);
      await writeDigest(join(dir, name));
    }
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
