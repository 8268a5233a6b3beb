import { failedFault } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import { isInRange, type ComposeRange, type ComposeVersion } from '../../rules/compose/composeRange.ts';
import type { Redactor } from '../../secrets/redaction/redactor.ts';
import { runProgram, formatStartError } from '../host/childProcess.ts';

/** A program and its first arguments. */
export type Argv = [string, ...string[]];

/** A compose program that works with the engine. */
export interface ComposeProgram {
  argv: Argv;
  version: ComposeVersion;
}

/** The package name depends on the repository that the host uses. */
const INSTALL_HINT =
  'install docker-compose-plugin (from Docker), docker-compose-v2 (Ubuntu) or docker-compose (Debian 13), or set compose:';
const PROBE_TIMEOUT_S = 20;

/** Runs `discover` once for all callers, until `resetDiscovery`; a failed discovery is not cached. */
export function createProgramFinder(discover: (signal: AbortSignal) => Promise<ComposeProgram>) {
  let cached: { program: Promise<ComposeProgram>; abandoned: AbortController } | null = null;
  const start = (signal: AbortSignal) => {
    const abandoned = new AbortController();
    const program = discover(AbortSignal.any([signal, abandoned.signal])).catch((error: unknown) => {
      cached = null;
      throw error;
    });
    return { program, abandoned };
  };
  return {
    find: (signal: AbortSignal) => (cached ??= start(signal)).program,
    resetDiscovery: async () => {
      cached?.abandoned.abort();
      await cached?.program.catch(() => undefined);
      cached = null;
    },
  };
}

/** The first compose program on the host that is of the range. Throws `COMPOSE_UNSUPPORTED`, which names what was found instead. */
export async function findComposeProgram(
  settings: Settings,
  { range, ...options }: { env: Record<string, string>; cwd: string; redactor: Redactor; range: ComposeRange },
  signal: AbortSignal,
): Promise<ComposeProgram> {
  const candidates: Argv[] =
    settings.compose === 'auto' ? [['docker', 'compose'], ['docker-compose']] : [[settings.compose]];
  const rejected: string[] = [];
  for (const argv of candidates) {
    const { rc, startError, stdout } = await runProgram(
      { ...options, argv: [...argv, 'version', '--short'], timeoutS: PROBE_TIMEOUT_S },
      signal,
    );
    const version = /(\d+)\.(\d+)\.\d+/.exec(stdout);
    const numbers = [Number(version?.[1]), Number(version?.[2])] as const;
    if (rc === 0 && version && isInRange(numbers, range)) return { argv, version: numbers };
    const found =
      startError === null ? `is ${rc === 0 && version ? version[0] : 'missing'}` : formatStartError(startError);
    rejected.push(`${argv.join(' ')} ${found}`);
  }
  throw failedFault('COMPOSE_UNSUPPORTED', `${range.requirement}, but ${rejected.join(', ')}; ${INSTALL_HINT}`);
}
