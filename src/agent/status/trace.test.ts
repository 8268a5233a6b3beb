import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { plainOutcome } from '../../../machines/fault.ts';
import { unpainted } from '../../core/text.rules.ts';
import { hold, unhold } from '../checkIn/hold.ts';
import type { Terminal } from '../journal/terminal.ts';
import type { Trace } from '../journal/trace.rules.ts';
import { historyOf } from '../run.ts';
import { history } from './trace.ts';
import type { AgentParts } from '../createAgent.ts';

let state_dir: string;
let results: string[];
let errors: string[];
beforeEach(() => {
  state_dir = tempDir();
  [results, errors] = [[], []];
});

const out = { log: (line: string) => void results.push(line), error: (line: string) => void errors.push(line) };
const { signal: closed } = new AbortController();
const terminal: Terminal = { isInteractive: true, paint: unpainted, closed, show: async (text) => out.log(text) };
const run = ({ limit = 9, json = false } = {}) => history({ state_dir }, { limit, json }, { terminal, out });

/** Ends a tick, after one that was quiet or not. */
async function endTick(ending: Trace['ending'], wasQuiet: boolean): Promise<void> {
  const trace: Trace = {
    ...{ schema: 1, tick: 't', version: '0', env: 'eu-1', intent: 'tick', started_at: '2026-11-26T12:00:00.000Z' },
    ...{ ms: 9, exit: 0, ending, codes: [], steps: [], decisions: [] },
  };
  const deps = { settings: { state_dir }, state: { state: { applied_version: '1' } } };
  const add = historyOf(deps as unknown as AgentParts, { trace, outcome: plainOutcome(ending) });
  await add(wasQuiet);
}

it('is empty on a new host', async () => {
  expect([await run(), await run({ json: true })]).toEqual([0, 0]);
  expect(results).toEqual(['nothing that matters has happened on this host yet', '[]']);
});

it('shows the ticks that mattered and the holds, newest first', async () => {
  await endTick('applied', false);
  await hold({ state_dir }, { until: '1h', reason: 'disk swap', by: null }, out);
  await unhold({ state_dir }, out);
  await unhold({ state_dir }, out);
  for (const quiet of [true, false]) await endTick('offline', quiet);
  await endTick('converged', false);
  results = [];
  expect([await run(), await run({ limit: 2 })]).toEqual([0, 0]);
  const words = results.map((text) => text.split('\n').map((line) => line.split(/ +/)[1]));
  expect(words).toEqual([
    ['recovered', 'offline', 'unhold', 'hold', 'applied'],
    ['recovered', 'offline'],
  ]);
  expect((await stat(join(state_dir, 'history.jsonl'))).mode & 0o777).toBe(0o600);
});

it('is not even read at the end of a quiet tick after a quiet one', async () => {
  await mkdir(join(state_dir, 'history.jsonl'));
  await endTick('converged', true);
  await expect(endTick('applied', true)).rejects.toMatchObject({ name: 'Fault' });
});

it('is not required for a hold to succeed', async () => {
  await mkdir(join(state_dir, 'history.jsonl'));
  expect(await hold({ state_dir }, { until: '1h', reason: '', by: null }, out)).toBe(0);
  expect([await readdir(state_dir), errors]).toEqual([
    ['history.jsonl', 'hold.json'],
    [expect.stringMatching(/^not in the history: failed: .*history\.jsonl/)],
  ]);
});

it('survives a line that a power cut damaged', async () => {
  await endTick('applied', false);
  const path = join(state_dir, 'history.jsonl');
  await writeFile(path, `${(await readFile(path, 'utf8')).slice(0, 40)}\n`);
  await endTick('down', false);
  await run({ json: true });
  expect(JSON.parse(results.join('\n'))).toMatchObject([{ ending: 'down' }]);
});
