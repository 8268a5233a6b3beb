import { architectures, type Architecture } from './architecture.ts';
import type { Compression } from './debFile.ts';
import { UserError } from './userError.ts';

/** Options of every command that builds packages, for `parseArgs`. */
export const buildArguments = {
  output: { type: 'string', default: 'build/package' },
  quick: { type: 'boolean', default: false },
  architecture: { type: 'string', multiple: true },
  format: { type: 'string', multiple: true },
} as const;

/** The formats of packages, by the ends of their names. */
export const formats = ['deb', 'rpm'] as const;

/** One of them. */
export type Format = (typeof formats)[number];

/** The meaning of the options. */
export interface BuildOptions {
  /** Output directory. */
  dir: string;
  architectures: readonly Architecture[];
  /** For the agent's package; the others have no rpm. */
  formats: readonly Format[];
  compression: Compression;
}

/** The options of a command line; all architectures and formats unless some are named. */
export function buildOptionsOf({ output, quick, architecture, format }: Values): BuildOptions {
  return {
    dir: output,
    architectures: chosen('architecture', architectures, architecture),
    formats: chosen('format', formats, format),
    compression: quick ? 'quick' : 'release',
  };
}

function chosen<T extends string>(option: string, all: readonly T[], asked: string[] = [...all]): T[] {
  const known = all.filter((each) => asked.includes(each));
  if (known.length < asked.length)
    throw new UserError(`--${option} ${asked.join(', ')}: packages are for ${all.join(' and ')}`);
  return known;
}

interface Values {
  output: string;
  quick: boolean;
  architecture?: string[];
  format?: string[];
}
