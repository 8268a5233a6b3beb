import { failure } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { run, unstartable } from './process.ts';

/** A program and its first arguments. */
export type Argv = [string, ...string[]];

/** By where the host's packages come from. */
const CURE =
  'install docker-compose-plugin (from Docker), docker-compose-v2 (Ubuntu) or docker-compose (Debian 13), or set compose:';
const OLDEST = [2, 20] as const;
const PROBE_TIMEOUT_S = 20;

/** Looks once, for all who ask, until that is forgotten; a failed look is not kept. */
export function createFinder(look: (signal: AbortSignal) => Promise<Argv>) {
  let known: { program: Promise<Argv>; inVain: AbortController } | null = null;
  const begin = (signal: AbortSignal) => {
    const inVain = new AbortController();
    const program = look(AbortSignal.any([signal, inVain.signal])).catch((error: unknown) => {
      known = null;
      throw error;
    });
    return { program, inVain };
  };
  return {
    find: (signal: AbortSignal) => (known ??= begin(signal)).program,
    forget: async () => {
      known?.inVain.abort();
      await known?.program.catch(() => undefined);
      known = null;
    },
  };
}

/** The first compose of the host that is new enough. Throws `COMPOSE_UNSUPPORTED` with what was seen instead. */
export async function findProgram(
  settings: Settings,
  how: { env: Record<string, string>; cwd: string; redactor: Redactor },
  signal: AbortSignal,
): Promise<Argv> {
  const candidates: Argv[] =
    settings.compose === 'auto' ? [['docker', 'compose'], ['docker-compose']] : [[settings.compose]];
  const seen: string[] = [];
  for (const argv of candidates) {
    const { rc, unstarted, stdout } = await run(
      { ...how, argv: [...argv, 'version', '--short'], timeoutS: PROBE_TIMEOUT_S },
      signal,
    );
    const version = /(\d+)\.(\d+)\.\d+/.exec(stdout);
    if (rc === 0 && version && isSupported(Number(version[1]), Number(version[2]))) return argv;
    const found = unstarted === null ? `is ${rc === 0 && version ? version[0] : 'missing'}` : unstartable(unstarted);
    seen.push(`${argv.join(' ')} ${found}`);
  }
  const need = `compose ${OLDEST.join('.')} or newer is needed, but ${seen.join(', ')}`;
  throw failure('COMPOSE_UNSUPPORTED', `${need}; ${CURE}`);
}

function isSupported(major: number, minor: number): boolean {
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}
