import { architectures, type Architecture } from './architecture.ts';
import type { Compression } from './debFile.ts';
import { UserError } from './userError.ts';

/** Options of every command that builds packages, for `parseArgs`. */
export const buildArguments = {
  output: { type: 'string', default: 'build/package' },
  quick: { type: 'boolean', default: false },
  architecture: { type: 'string', multiple: true },
} as const;

/** What they mean. */
export interface BuildOptions {
  /** Output directory. */
  dir: string;
  architectures: readonly Architecture[];
  compression: Compression;
}

/** The options of a command line; all architectures unless some are named. */
export function buildOptionsOf({ output, quick, architecture: asked = [...architectures] }: Values): BuildOptions {
  const chosen = architectures.filter((each) => asked.includes(each));
  if (chosen.length < asked.length)
    throw new UserError(`--architecture ${asked.join(', ')}: packages are for ${architectures.join(' and ')}`);
  return { dir: output, architectures: chosen, compression: quick ? 'quick' : 'release' };
}

interface Values {
  output: string;
  quick: boolean;
  architecture?: string[];
}
