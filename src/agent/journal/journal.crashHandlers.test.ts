import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';

let dir: string;
beforeEach(() => (dir = tempDir()));

/** Runs a script with crash handlers that redact KNOWN; UNKNOWN stands for secrets that the redactor does not know. */
function crash(body: string, target = 'process.stderr'): { status: number | null; stdout: string; stderr: string } {
  const file = path.join(dir, 'script.mjs');
  const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  writeFileSync(
    file,
    `import { installCrashHandlers } from ${module('./journal.ts')};
     import { createJournal } from ${module('./journal.ts')};
     import { createRedactor } from ${module('../secrets/redactor.ts')};
     const redact = () => createRedactor(['KNOWN', 'script.mjs']);
     const journal = () => createJournal({ format: 'journal', level: 'info', redact, stderr: process.stderr, isTerminal: false });
     installCrashHandlers(${target}, redact);
     setTimeout(() => console.log('went on'), 60_000);
     ${body}`,
  );
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('a crash', () => {
  test.each([
    ['an error', `throw new TypeError('UNKNOWN KNOWN')`, 'TypeError'],
    ['a message of several lines', `throw new Error('UNKNOWN\\n    at UNKNOWN (/UNKNOWN:1:1)')`, 'Error'],
    [
      'a message changed later',
      `const e = new RangeError('UNKNOWN'); e.message = 'UNKNOWN too'; throw e`,
      'RangeError',
    ],
    ['a name of its own', `throw Object.assign(new Error('UNKNOWN'), { name: 'UNKNOWN' })`, 'Error'],
    [
      'own properties',
      `throw Object.assign(new Error('x'), { options: { headers: { authorization: 'UNKNOWN' } } })`,
      'Error',
    ],
    ['a cause', `throw new Error('UNKNOWN', { cause: new Error('UNKNOWN') })`, 'Error'],
    ['several errors', `throw new AggregateError([new Error('UNKNOWN'), 'UNKNOWN'], 'UNKNOWN')`, 'AggregateError'],
    ['an error of its own class', `class Refused extends Error {}; throw new Refused('UNKNOWN')`, 'Refused'],
    ['a rejection', `Promise.reject(new SyntaxError('UNKNOWN'))`, 'SyntaxError'],
    ['a rejected string', `await Promise.reject('UNKNOWN')`, 'string'],
    ['a thrown object', `throw { secret: 'UNKNOWN' }`, 'object'],
    ['nothing thrown', `throw undefined`, 'undefined'],
    ['no stack', `throw Object.assign(new Error('UNKNOWN'), { stack: undefined })`, 'Error'],
    ['a false stack', `throw Object.assign(new Error('UNKNOWN'), { stack: 'UNKNOWN UNKNOWN' })`, 'Error'],
  ])('with %s is one line without the error message, and exit code 1', (_what, body, kind) => {
    const { status, stdout, stderr } = crash(body);
    expect(stderr).toMatch(new RegExp(`^failed: internal error \\(${kind}\\)( at .*)?\\n$`));
    expect(stderr).not.toMatch(/KNOWN/);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  });

  it('names the stack frames, redacted', () => {
    const { stderr } = crash(`function broken() { throw new Error('UNKNOWN'); }\nbroken();`);
    expect(stderr).toMatch(
      /^failed: internal error \(Error\) at broken \(file:.*\/\[REDACTED\]:8:\d+\), file:.*\/\[REDACTED\]:9:1\b/,
    );
  });

  it('is logged even when the error cannot be read', () => {
    const { status, stderr } = crash(
      `throw Object.defineProperty(new Error(), 'stack', { get() { throw new Error('UNKNOWN'); } })`,
    );
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'failed: internal error\n' });
  });

  it('uses the journal if there is one', () => {
    const { status, stderr } = crash(`throw new TypeError('UNKNOWN')`, 'journal()');
    expect(stderr).toMatch(/^failed: internal error \(TypeError\) at [^\n]*\[REDACTED\][^\n]*\n$/);
    expect(status).toBe(1);
  });
});
