import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { WriteStream } from 'node:tty';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { openTerminal } from './terminal.ts';

beforeEach(() => {
  for (const name of ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS', 'CI', 'TEAMCITY_VERSION'])
    Reflect.deleteProperty(process.env, name);
  process.env['TERM'] = 'xterm-256color';
});

/** A stream that is a terminal or not. */
function streamOf(isTTY: boolean) {
  const getColorDepth = () => WriteStream.prototype.getColorDepth(process.env);
  return Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, getColorDepth });
}

it("uses the environment's pager on a terminal", async () => {
  const [stream, file] = [streamOf(true), join(tempDir(), 'paged')];
  process.env['PAGER'] = `cat > ${file}`;
  await openTerminal(true, stream).show('text');
  expect([readFileSync(file, 'utf8'), stream.read()]).toEqual(['text\n', null]);
});

it('prevents less from starting a shell, which would run as the agent’s user', async () => {
  const file = join(tempDir(), 'secure');
  process.env['PAGER'] = `echo $LESSSECURE > ${file}`;
  await openTerminal(true, streamOf(true)).show('text');
  expect(readFileSync(file, 'utf8')).toBe('1\n');
});

it('survives a pager that is quit before it has read all', async () => {
  const listeners = process.listenerCount('SIGINT');
  process.env['PAGER'] = 'exit 1';
  await openTerminal(true, streamOf(true)).show('text\n'.repeat(1_000_000));
  expect(process.listenerCount('SIGINT')).toBe(listeners);
});

it.each([
  ['elsewhere', false, true, 'exit 1'],
  ['with --no-pager', true, false, 'exit 1'],
  ['with an empty PAGER', true, true, ''],
])('prints %s', async (_when, isTTY, paged, pager) => {
  const stream = streamOf(isTTY);
  process.env['PAGER'] = pager;
  await openTerminal(paged, stream).show('text');
  expect(stream.read()).toBe('text\n');
});

it('uses colours only on a terminal, and not with NO_COLOR', () => {
  const painted = (isTTY: boolean) => openTerminal(false, streamOf(isTTY)).paint('red', 'x');
  expect([painted(true), painted(false)]).toEqual(['\x1b[31mx\x1b[39m', 'x']);
  process.env['NO_COLOR'] = '1';
  expect(painted(true)).toBe('x');
});

it('signals that its reader has closed the stream, which is not an error', () => {
  const stream = streamOf(false);
  const { closed } = openTerminal(true, stream);
  expect(closed.aborted).toBe(false);
  stream.emit('error', new Error('write EPIPE'));
  expect(closed.aborted).toBe(true);
});
