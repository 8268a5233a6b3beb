import { Writable } from 'node:stream';
import { createRedactor } from '../secrets/redaction/redactor.ts';
import { createJournal } from './journal.ts';
import { LiveLine } from './liveLine.ts';

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
