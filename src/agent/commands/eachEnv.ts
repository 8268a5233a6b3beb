import type { ToldError } from '../../core/commandLine.ts';
import { namedEnvOf } from '../config/namedEnvs.ts';
import type { Output } from './status.ts';

/** How the results of the envs are put together. */
export interface EachEnvOptions {
  json: boolean;
  /** The word of the output as JSON that tells whether all is well with an env. */
  verdict: 'in_sync' | 'well';
}

/** Runs a command by one configuration; resolves to its exit code. */
export type RunForEnv = (configFile: string, out: Output) => Promise<number>;

type Means = EachEnvOptions & {
  /** How an error ends a command; null for a bug. */
  tell: (error: unknown) => ToldError | null;
  out: Output;
};

/** Runs a command for each configuration of a host (spec §22.2), one below the other; the exit code is the worst. */
export async function eachEnv(configFiles: readonly string[], means: Means, run: RunForEnv): Promise<number> {
  const { json, out, verdict } = means;
  const exits: number[] = [];
  const envs: object[] = [];
  for (const [index, file] of configFiles.entries()) {
    const lines: string[] = [];
    const target = { log: (line: string) => void lines.push(line), error: out.error };
    exits.push(await runOne(file, { ...means, out: target }, run));
    if (json) envs.push({ config: file, ...resultIn(lines, verdict) });
    else out.log([...(index > 0 ? [''] : []), titleOf(file), ...lines].join('\n'));
  }
  const worst = Math.max(...exits);
  if (json) out.log(JSON.stringify({ [verdict]: worst === 0, envs }, null, 2));
  return worst;
}

async function runOne(file: string, { tell, out }: Means, run: RunForEnv): Promise<number> {
  try {
    return await run(file, out);
  } catch (error) {
    const told = tell(error);
    if (told === null) throw error;
    for (const line of told.lines) out.error(line);
    return told.exit;
  }
}

/** What the command printed; a configuration that it could not use is not well, and told beside. */
function resultIn(lines: readonly string[], verdict: string): object {
  return lines.length === 0 ? { [verdict]: false } : (JSON.parse(lines.join('\n')) as object);
}

function titleOf(file: string): string {
  const env = namedEnvOf(file);
  return `${env === null ? 'deployd' : `deployd@${env}`}.service, ${file}`;
}
