import { spawnSync } from 'node:child_process';

/** Evaluates an expression in a process without free file descriptors; returns the result as text. */
function withoutDescriptors(module: string, expression: string): string {
  const script = `
    import { closeSync, openSync } from 'node:fs';
    import * as it from ${JSON.stringify(new URL(module, import.meta.url).href)};
    const ask = () => ${expression}.then(() => 'found', (error) => error.message);
    const [whole, held] = [await ask(), []];
    try { for (;;) held.push(openSync('/dev/null')); } catch {}
    const answer = await ask();
    for (const fd of held) closeSync(fd);
    console.log(JSON.stringify({ whole, answer }));`;
  const argv = ['--nofile=64', process.execPath, '--input-type=module', '--eval', script];
  const { stdout, stderr } = spawnSync('prlimit', argv, { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { whole, answer } = JSON.parse(stdout) as { whole: string; answer: string };
  expect(whole).toBe('found');
  return answer;
}

describe('without free file descriptors', () => {
  it('reading the routes fails instead of returning none, which would approve any subnet', () => {
    expect(withoutDescriptors('../apply/validate.ts', 'it.readRoutes()')).toBe(
      'failed: cannot read /proc/self/net/route: EMFILE',
    );
  });

  it('terminating orphans fails instead of assuming that no orphans exist', () => {
    expect(withoutDescriptors('../engine/composeProgram.ts', `it.terminateOrphans('deployd-x', '/')`)).toMatch(
      /^failed: cannot read \/proc.*: EMFILE$/,
    );
  });
});
