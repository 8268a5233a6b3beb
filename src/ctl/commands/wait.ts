import type { Command } from 'commander';
import type { Api } from '../api/client.ts';
import { path } from '../api/path.ts';
import { readPages, type Page } from '../api/pages.ts';
import type { Backend, Env } from '../api/types.ts';
import { convergenceOf, formatConvergence, type Convergence } from '../convergence.ts';
import { CtlError, exits } from '../ctlError.ts';
import { countOption } from '../input/options.ts';
import { shortSha } from '../output/sha.ts';
import { harmless } from '../output/text.ts';
import type { Result, Run, Session } from '../session.ts';

/** `deployctl wait`. */
export function addWait(program: Command, run: Run): void {
  program
    .command('wait')
    .description('until every active backend of an env, or one backend, has applied what is desired of it')
    .argument('<env-or-id>', 'an env, or the id of a backend')
    .option('--timeout <seconds>', 'how long', countOption, 900)
    .option('--interval <seconds>', 'pause between two looks', countOption, 5)
    .action(run(wait));
}

async function wait(
  session: Session,
  [target]: [string],
  { timeout, interval }: { timeout: number; interval: number },
): Promise<Result> {
  const { clock, io } = session;
  const look = isId(target) ? lookAtBackend : lookAtEnv;
  const api = await session.api();
  const deadline = clock.now() + timeout * 1000;
  const oldReports = new Set<string>();
  for (let told = '', isFirst = true; ; isFirst = false) {
    const seen = await look(api, target).catch(unlessTemporary(clock.now() >= deadline));
    if (seen !== null) {
      if (isFirst) for (const { last_report } of seen.backends) if (last_report) oldReports.add(last_report.report_id);
      const convergence = convergenceOf(seen.backends, oldReports);
      const line = formatConvergence(convergence, shortSha);
      if (convergence.waiting.length === 0) return { json: seen.json, text: line };
      if (line !== told) io.stderr.write(`${line}\n`);
      told = line;
      requireHope(convergence, clock.now() >= deadline);
    }
    await clock.sleep(Math.min(interval * 1000, Math.max(0, deadline - clock.now())));
  }
}

/** What is looked at: the API's object, and the backends in it. */
interface Seen {
  json: object;
  backends: Backend[];
}

async function lookAtEnv(api: Api, name: string): Promise<Seen> {
  const env = await api.call<Env>({ method: 'GET', path: path`/v1/envs/${name}` });
  requireDesired(env, name);
  const query = { env: name, state: 'active' };
  const call = { path: '/v1/backends', query, key: 'backends', cursor: 'after', limit: Infinity } as const;
  const json: Page<'backends', Backend> = await readPages(api, call);
  return { json, backends: json.backends };
}

async function lookAtBackend(api: Api, id: string): Promise<Seen> {
  const json = await api.call<Backend>({ method: 'GET', path: path`/v1/backends/${id}` });
  if (['retiring', 'finishing', 'retired'].includes(json.state))
    throw failure('BACKEND_RETIRED', `backend ${id} is ${json.state}`);
  requireDesired(json, id);
  return { json, backends: [json] };
}

function requireDesired({ desired_sha }: Pick<Env, 'desired_sha'>, name: string): void {
  if (desired_sha === null) throw failure('NOTHING_DESIRED', `nothing is desired of ${name}`, '`deployctl promote`');
}

/** A service that is away for a moment does not end the wait. */
function unlessTemporary(isOver: boolean) {
  return (error: unknown): null => {
    if (error instanceof CtlError && error.fields.exit === exits.temporary && !isOver) return null;
    throw error;
  };
}

function requireHope({ refused, waiting }: Convergence, isOver: boolean): void {
  const [first] = refused;
  if (first !== undefined) {
    const { code, detail } = first.last_report;
    throw failure('REFUSED', `backend ${first.id} (${first.site}) refused it: ${code ?? ''}: ${detail ?? ''}`);
  }
  if (!isOver) return;
  const late = waiting.map(({ id, site, last_report }) => `${id} (${site}, last ${last_report?.outcome ?? 'nothing'})`);
  throw failure('TIMEOUT', `still waiting for ${harmless(late.join(', '))}`, '`deployctl reports ID`');
}

function failure(code: string, message: string, remedy?: string): CtlError {
  return new CtlError({ exit: exits.failed, code, message, ...(remedy !== undefined && { remedy }) });
}

function isId(text: string): boolean {
  return /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(text);
}
