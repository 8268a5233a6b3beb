import { execFileSync } from 'node:child_process';
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Writable } from 'node:stream';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { createJournal, type Journal, type JournalOptions } from './journal.ts';
import { createRedactor } from '../secrets/redactor.ts';
import { createSink } from './terminal.ts';

const redactor = createRedactor(['hunter2', 'first line\nsecond "line"', 'put together=7']);

/** A journal and its captured output. */
function captureJournal(options: Partial<JournalOptions> = {}): { journal: Journal; written: () => string } {
  const chunks: string[] = [];
  const stderr = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk.toString());
      done();
    },
  });
  const journal = createJournal({
    format: 'journal',
    level: 'debug',
    redact: () => redactor,
    stderr,
    isTerminal: false,
    journalStream: undefined,
    ...options,
  });
  return { journal, written: () => chunks.join('') };
}

function text(log: (journal: Journal) => void, options: Partial<JournalOptions> = {}): string {
  const { journal, written } = captureJournal(options);
  log(journal);
  return written();
}

describe('a journal line', () => {
  test.each([
    ['is written unchanged', (j: Journal) => j.info('token ABSENT'), 'token ABSENT'],
    [
      'has its fields at the end',
      (j: Journal) => j.info('pulled', { images: 3, ok: true, at: null }),
      'pulled images=3 ok=true at=null',
    ],
    [
      'quotes a field if needed',
      (j: Journal) => j.info('x', { a: 'b c', d: '', e: 'f="g"' }),
      'x a="b c" d="" e="f=\\"g\\""',
    ],
    ['has the id of its tick', (j: Journal) => j.forTick('t-1').info('x', { a: 1 }), 'x a=1 tick=t-1'],
    [
      'has no line breaks',
      (j: Journal) => j.info('a\nb\r\tc\u2028d\u001b[31m', { e: 'f\n' }),
      'a\\nb\\r\\tc\\u2028d\\u001b[31m e="f\\n"',
    ],
    ['contains no secret', (j: Journal) => j.info('is hunter2!', { a: 'hunter2' }), 'is [REDACTED]! a=[REDACTED]'],
    ['contains no multi-line secret', (j: Journal) => j.info('<first line\nsecond "line">'), '<[REDACTED]>'],
    [
      'contains no secret that only formatting assembles',
      (j: Journal) => j.info('is put', { together: 7 }),
      'is [REDACTED]',
    ],
  ])('%s', (_what, log, line) => {
    expect(text(log)).toBe(`${line}\n`);
  });

  it("is written for each line of another program's output", () => {
    const output = 'one\ntwo hunter2\r\nfirst line\nsecond "line"\n\nlast\n\n';
    expect(text((journal) => journal.forTick('t').block('warn', output))).toBe(
      ['one', 'two [REDACTED]', '[REDACTED]', '', 'last'].map((line) => `| ${line} tick=t\n`).join(''),
    );
  });

  it('is dropped below the level', () => {
    const all = (journal: Journal) =>
      (['error', 'warn', 'info', 'debug'] as const).forEach((level) => journal[level](level));
    expect(text(all, { level: 'warn' })).toBe('error\nwarn\n');
    expect(text(all, { level: 'debug' })).toBe('error\nwarn\ninfo\ndebug\n');
  });

  it('is redacted with the secrets known at the time of writing', () => {
    let known: string[] = [];
    const { journal, written } = captureJournal({ redact: () => createRedactor(known) });
    journal.info('new-secret');
    known = ['new-secret'];
    journal.info('new-secret');
    expect(written()).toBe('new-secret\n[REDACTED]\n');
  });
});

describe('the json format', () => {
  it('writes one object per line', () => {
    const lines = text((journal) => journal.forTick('t').warn('a\n"hunter2"', { n: 1, s: 'x hunter2', z: null }), {
      format: 'json',
    });
    expect(lines.split('\n')).toHaveLength(2);
    expect(JSON.parse(lines)).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      level: 'warn',
      message: 'a\n"[REDACTED]"',
      fields: { n: 1, s: 'x [REDACTED]', z: null, tick: 't' },
    });
  });

  it('stays valid JSON when a secret contains its punctuation', () => {
    const redact = () => createRedactor(['":"x","level']);
    const line = text((journal) => journal.info('m', { y: 'z', authorization: 'x' }), { format: 'json', redact });
    expect(JSON.parse(line)).toMatchObject({ level: 'info', fields: {} });
  });
});

describe('the pretty format', () => {
  it('has the time, the level and, on a terminal, colours', () => {
    const log = (journal: Journal) => journal.forTick('t').info('x', { a: 1 });
    expect(text(log, { format: 'pretty' })).toMatch(/^\d\d:\d\d:\d\d info {2}x a=1 tick=t\n$/);
    expect(text(log, { format: 'pretty', isTerminal: true })).toMatch(
      /^\x1b\[2m\S+\x1b\[0m \x1b\[32minfo \x1b\[0m x a=1\x1b\[2m tick=t\x1b\[0m\n$/,
    );
  });

  it('is the default on a terminal; elsewhere the journal format is', () => {
    expect(text((journal) => journal.info('x'), { format: 'auto', isTerminal: true })).toContain('info');
    expect(text((journal) => journal.info('x'), { format: 'auto', isTerminal: false })).toBe('x\n');
  });
});

describe('with a file descriptor', () => {
  let dir: string;
  beforeEach(() => (dir = tempDir()));

  function open(): { stderr: Writable & { fd: number }; file: string; id: string } {
    const file = path.join(dir, 'log');
    const fd = openSync(file, 'a');
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return { stderr: Object.assign(new Writable(), { fd }), file, id: `${dev}:${ino}` };
  }

  it('a line is written before the call returns', () => {
    const { stderr, file } = open();
    const { journal } = captureJournal({ stderr });
    for (let line = 1; line <= 100; line++) {
      journal.info('x');
      expect(readFileSync(file, 'utf8')).toHaveLength(2 * line);
    }
  });

  it('a line has a priority prefix only if systemd reads the stream', () => {
    const { stderr, file, id } = open();
    const log = (journal: Journal) =>
      (['error', 'warn', 'info', 'debug'] as const).forEach((level) => journal[level]('x'));
    log(captureJournal({ stderr, journalStream: id }).journal);
    expect(readFileSync(file, 'utf8')).toBe('<3>x\n<4>x\n<6>x\n<7>x\n');
    log(captureJournal({ stderr, journalStream: `1${id}` }).journal);
    expect(readFileSync(file, 'utf8').slice(20)).toBe('x\nx\nx\nx\n');
  });
});

describe('a slow reader', () => {
  it('delays flush', async () => {
    const chunks: string[] = [];
    const stderr = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        chunks.push(chunk.toString());
        setImmediate(done);
      },
    });
    const { journal } = captureJournal({ stderr });
    journal.info('one');
    journal.info('two');
    await journal.flush();
    expect(chunks.join('')).toBe('one\ntwo\n');
  });

  it('that closed the stream is not an error', () => {
    const closed = Object.assign(new Writable(), { fd: 1_000_000 });
    expect(() => createSink(closed).write('x')).not.toThrow();
  });

  it('delays lines for five seconds in total until it reads again; unread lines are queued', () => {
    const fifo = path.join(tempDir(), 'fifo');
    execFileSync('mkfifo', [fifo]);
    const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    const page = Buffer.alloc(65_536);
    expect(() => {
      for (;;) writeSync(fd, page);
    }).toThrow('EAGAIN');
    const queued: string[] = [];
    const write = (chunk: Buffer, _encoding: string, done: () => void) => {
      queued.push(chunk.toString());
      done();
    };
    const sink = createSink(Object.assign(new Writable({ write }), { fd }));
    const startedMs = performance.now();
    for (const line of ['one\n', 'two\n', 'three\n']) sink.write(line);
    expect(performance.now() - startedMs).toBeLessThan(6000);
    expect(queued).toEqual(['one\n', 'two\n', 'three\n']);
    readSync(fd, page);
    sink.write('four\n');
    expect(page.subarray(0, readSync(fd, page)).toString()).toBe('four\n');
    closeSync(fd);
  });
});
