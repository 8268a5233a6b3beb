import { Writable } from 'node:stream';
import { createRedactor } from '../secrets/redactor.ts';
import { createJournal } from './journal.ts';
import { formatProgress, LiveLine, type Progress } from './terminal.ts';

function terminal(columns = 20) {
  const sent: string[] = [];
  const write = (chunk: Buffer, _encoding: string, done: () => void) => {
    sent.push(chunk.toString());
    done();
  };
  return { stream: Object.assign(new Writable({ write }), { columns, isTTY: true }), sent: () => sent.join('') };
}

const drawn = (text: string) => `\r\x1b[2K\x1b[2m${text}\x1b[0m`;
const erased = '\r\x1b[2K';

describe('the live line', () => {
  it('is redrawn only when it changes, and never wraps', () => {
    const { stream, sent } = terminal(8);
    const line = new LiveLine(stream);
    for (const text of ['one', 'one', 'a long text']) line.show(text);
    expect(sent()).toBe(drawn('one') + drawn('a long '));
  });

  it('is erased before a journal line and drawn again below it', () => {
    const { stream, sent } = terminal();
    const line = new LiveLine(stream);
    const redact = () => createRedactor(new Set<string>());
    const journal = createJournal({
      format: 'journal',
      level: 'info',
      redact,
      stderr: stream,
      isTerminal: true,
      live: line,
    });
    journal.info('before');
    line.show('pulling');
    journal.info('a fact');
    expect(sent()).toBe(`before\n${drawn('pulling')}${erased}a fact\n${drawn('pulling')}`);
  });

  it('is erased by close and not drawn again', () => {
    const { stream, sent } = terminal();
    const line = new LiveLine(stream);
    line.show('x');
    line.close();
    line.show('y');
    line.close();
    expect(sent()).toBe(drawn('x') + erased);
  });
});

it.each<[string, number, Progress | null, string]>([
  ['unpacking', 0.4, null, 'unpacking'],
  ['pulling', 1, null, 'pulling: 1 s'],
  ['pulling', 3.9, null, 'pulling: 3 s'],
  ['pulling', 12, { done: 1, total: 3, unit: 'images' }, 'pulling: 1 of 3 images, 12 s'],
  [
    'downloading',
    2,
    { done: 1.5 * 2 ** 20, total: 3 * 2 ** 20, unit: 'bytes' },
    'downloading: 1.5 of 3.0 MiB (50 %), 2 s',
  ],
  ['downloading', 0, { done: 512, total: 1024, unit: 'bytes' }, 'downloading: 0.5 of 1.0 KiB (50 %)'],
  ['downloading', 0, { done: 2 ** 19, total: 2 ** 20 - 1, unit: 'bytes' }, 'downloading: 512.0 of 1024.0 KiB (50 %)'],
  ['downloading', 0, { done: 2 ** 19, total: 2 ** 20, unit: 'bytes' }, 'downloading: 0.5 of 1.0 MiB (50 %)'],
  ['downloading', 0, { done: 0, total: 0, unit: 'bytes' }, 'downloading: 0.0 of 0.0 KiB (100 %)'],
])('%s after %d s', (state, seconds, progress, text) => {
  expect(formatProgress(state, seconds, progress)).toBe(text);
});
