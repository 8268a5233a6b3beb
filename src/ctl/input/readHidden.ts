import { CtlError, exits } from '../ctlError.ts';
import type { Io } from '../io.ts';

/** Asks for one line on the terminal, without echo. Ctrl-C and Ctrl-D end it. */
export async function readHidden({ stdin, stderr }: Io, prompt: string): Promise<string> {
  stderr.write(`${prompt}: `);
  stdin.setRawMode?.(true);
  stdin.setEncoding('utf8');
  let line = '';
  try {
    for await (const chunk of stdin as AsyncIterable<string>) {
      for (const key of chunk) {
        if (key === '\r' || key === '\n') return line;
        if (key === '\u0003' || key === '\u0004') throw interrupted();
        line = key === '\u007f' || key === '\b' ? line.slice(0, -1) : line + key;
      }
    }
    return line;
  } finally {
    stdin.setRawMode?.(false);
    stderr.write('\n');
  }
}

function interrupted(): CtlError {
  return new CtlError({ exit: exits.failed, code: 'INTERRUPTED', message: 'nothing was given' });
}
