import { spawnSync } from 'node:child_process';

/** Runs an expression where no descriptor is left; what it came to, as text. */
function withoutDescriptors(module: string, expression: string): string {
  const script = `
    import { closeSync, openSync } from 'node:fs';
    import * as it from ${JSON.stringify(new URL(module, import.meta.url).href)};
    const ask = () => ${expression}.then(() => 'found', (error) => error.message);
    const [whole, held] = [await ask(), []];
    try { for (;;) held.push(openSync('/dev/null')); } catch {}
    const told = await ask();
    for (const fd of held) closeSync(fd);
    console.log(JSON.stringify({ whole, told }));`;
  const argv = ['--nofile=64', process.execPath, '--input-type=module', '--eval', script];
  const { stdout, stderr } = spawnSync('prlimit', argv, { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { whole, told } = JSON.parse(stdout) as { whole: string; told: string };
  expect(whole).toBe('found');
  return told;
}

describe('where no descriptor is left', () => {
  it('the routes of the host are not taken for none, by which a subnet would be judged', () => {
    expect(withoutDescriptors('../host/routes.ts', 'it.readRoutes()')).toBe(
      'failed: cannot read /proc/self/net/route: EMFILE',
    );
  });

  it('a compose of a killed tick is not taken for gone', () => {
    expect(withoutDescriptors('../compose/orphans.ts', `it.endOrphans('deployd-x', '/')`)).toMatch(
      /^failed: cannot read \/proc.*: EMFILE$/,
    );
  });
});
