import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/tempDir.ts';
import { freePort } from '../../../fixtures/world/wait.ts';
import { emptyState } from '../rules/state/state.ts';
import type { Trace } from '../rules/trace/trace.ts';
import type { Dependencies } from '../services/dependencies.ts';
import { openMetricsOutput } from './metricsOutput.ts';

const trace: Trace = {
  ...{ schema: 1, tick: 't', version: '0.3.0', env: 'eu-1', intent: 'tick', started_at: '2026-11-26T08:00:00.000Z' },
  ...{ ms: 1500, ending: 'converged', exit: 0, codes: [], steps: [], decisions: [] },
};
const twice = 'deployd_ticks_total{outcome="converged"} 2';

const plain = '/etc/deployd/config.yaml';

function depsFor(textfile: string | null, paths: string[], warnings: string[] = []): Dependencies {
  return {
    settings: {
      config_file: plain,
      metrics: { textfile },
      traces: { otlp_endpoint: null },
      state_dir: tempDir(),
      disk: { paths },
    },
    state: { isUnknown: false, state: emptyState('eu-1') },
    tick: { containers: [] },
    journal: { warn: (line: string) => void warnings.push(line) },
  } as unknown as Dependencies;
}

it('counts on in the file from process to process, whatever the names of the paths', async () => {
  const file = join(tempDir(), 'deployd.prom');
  for (let process = 1; process <= 2; process++) {
    const metrics = await openMetricsOutput(depsFor(file, [`/proc/"\n${twice.replace('2', '7')}`]), null);
    await metrics.publish(trace, null);
    await metrics.publish({ ...trace, ending: 'busy' }, null);
    await metrics.close();
  }
  const lines = (await readFile(file, 'utf8')).split('\n');
  expect(lines.filter((line) => line.startsWith('deployd_ticks_total{outcome="converged"}'))).toEqual([twice]);
});

it('names a named env in each of its metrics, and counts on in them', async () => {
  const file = join(tempDir(), 'shop.prom');
  const deps = depsFor(file, ['/']);
  Object.assign(deps.settings, { config_file: '/etc/deployd-envs/shop-eu/config.yaml' });
  for (let process = 1; process <= 2; process++) {
    const metrics = await openMetricsOutput(deps, null);
    await metrics.publish(trace, null);
    await metrics.close();
  }
  const samples = (await readFile(file, 'utf8')).split('\n').filter((line) => /^\w/.test(line));
  expect(samples.length).toBeGreaterThan(20);
  expect(samples.filter((line) => !line.includes('env="shop-eu"}'))).toEqual([]);
  expect(samples).toContain('deployd_ticks_total{outcome="converged",env="shop-eu"} 2');
});

it.each(['a file that cannot be written', 'no file'])('counts on in what it shows, with %s', async (what) => {
  const [warnings, unwritable] = [[] as string[], join(tempDir(), 'none', 'deployd.prom')];
  const url = `http://127.0.0.1:${await freePort()}`;
  const deps = depsFor(what === 'no file' ? null : unwritable, [], warnings);
  const metrics = await openMetricsOutput(deps, url);
  for (let tick = 1; tick <= 2; tick++) await metrics.publish(trace, null);
  const shown = await (await fetch(`${url}/metrics`)).text();
  await metrics.close();
  expect(shown).toContain(`${twice}\n`);
  expect(warnings.filter((line) => line.includes(unwritable))).toHaveLength(what === 'no file' ? 0 : 2);
});
