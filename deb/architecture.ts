import { join } from 'node:path';
import { findPeer } from '../fixtures/world/engine/engine.ts';

/** The architectures that packages are built for, by Debian's names. */
export const architectures = ['amd64', 'arm64'] as const;

/** One of them. */
export type Architecture = (typeof architectures)[number];

/** The runtime of an architecture, and what handles its programs on the machine that builds. */
export interface Runtime {
  architecture: Architecture;
  /** The program. */
  node: string;
  strip: string;
  /** The directory of Debian's shared libraries for the architecture; null for the architecture of this machine. */
  root: string | null;
}

/** The runtime that runs this. */
export const ownRuntime: Runtime = { architecture: 'amd64', node: process.execPath, strip: 'strip', root: null };

/** The runtime of an architecture, the same version for each; fetches what is missing. */
export async function runtimeOf(architecture: Architecture): Promise<Runtime> {
  if (architecture === ownRuntime.architecture) return ownRuntime;
  const home = await findPeer(architecture, console.error);
  const node = join(home, `node_modules/node-linux-${architecture}/bin/node`);
  return { architecture, node, strip: 'aarch64-linux-gnu-strip', root: join(home, 'root') };
}

/** The command line that runs a program of the runtime's architecture on this machine: emulated where it is another. */
export function commandOf({ root }: Runtime, program: string): [string, ...string[]] {
  return root === null ? [program] : ['qemu-aarch64-static', '-L', root, program];
}

/** The file name of a package. */
export function debNameOf(name: string, version: string, architecture: Architecture): string {
  return `${name}_${version}_${architecture}.deb`;
}
