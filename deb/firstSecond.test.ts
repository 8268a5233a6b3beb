import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Has a runtime rest its helpers, and then tell what it says of its compilers. */
function told(script: string): boolean[][] {
  const text = `
    import { restHelpers } from '${join(import.meta.dirname, 'firstSecond.ts')}';
    const awake = () => [%IsSparkplugEnabled(), %IsMaglevEnabled(), %IsTurbofanEnabled()].map(Boolean);
    const told = [awake()];
    restHelpers();
    told.push(awake());
    const tell = () => console.log(JSON.stringify([...told, awake()]));
    ${script}`;
  const args = ['--allow-natives-syntax', '--input-type=module', '--eval', text];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toBe(''); // where it would say that it does not know a flag
  return JSON.parse(stdout) as boolean[][];
}

const [rest, wake] = [Array(3).fill(false), Array(3).fill(true)];

test('the compilers rest for the first second, and are there from then on', () => {
  expect(told('setTimeout(tell, 1000);')).toEqual([wake, rest, wake]);
});

test('a program that has ended its work before does not wait for them', () => {
  expect(told(`process.once('exit', tell);`)).toEqual([wake, rest, rest]);
});
