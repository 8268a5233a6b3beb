import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Whether V8's compilers are enabled before `deferHelperThreads`, after it, and when `script` calls `report`. */
function compilerStates(script: string): boolean[][] {
  const text = `
    import { deferHelperThreads } from '${join(import.meta.dirname, 'startupThreads.ts')}';
    const enabled = () => [%IsSparkplugEnabled(), %IsMaglevEnabled(), %IsTurbofanEnabled()].map(Boolean);
    const states = [enabled()];
    deferHelperThreads();
    states.push(enabled());
    const report = () => console.log(JSON.stringify([...states, enabled()]));
    ${script}`;
  const args = ['--allow-natives-syntax', '--input-type=module', '--eval', text];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toBe(''); // an unknown flag would be reported here
  return JSON.parse(stdout) as boolean[][];
}

const [compilersOff, compilersOn] = [Array(3).fill(false), Array(3).fill(true)];

test('the compilers are disabled for the first second, and enabled afterwards', () => {
  expect(compilerStates('setTimeout(report, 1000);')).toEqual([compilersOn, compilersOff, compilersOn]);
});

test('a program that ends earlier does not wait for them', () => {
  expect(compilerStates(`process.once('exit', report);`)).toEqual([compilersOn, compilersOff, compilersOff]);
});
