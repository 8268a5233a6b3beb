import type { Journal } from './journal.ts';
import type { Redactor } from '../secrets/redaction/redactor.ts';
import { writeThrough, type Stderr } from './sink.ts';

/** Maximum number of stack frames in a crash line. */
const maxFrames = 4;

/**
 * Ends the process with exit code 1 on any uncaught error, after one redacted line with the class and the stack frames of the error.
 * The message is omitted, since that of a foreign error may contain the bearer token (spec §14).
 */
export function installCrashHandlers(target: Pick<Journal, 'error'> | Stderr, redact: () => Redactor): void {
  const print = (line: string) => ('error' in target ? target.error(line) : writeThrough(target, `${line}\n`));
  const crash = (error: unknown) => {
    try {
      print(redact().redact(crashLine(error)));
    } catch {
      print('failed: internal error');
    } finally {
      process.exit(1);
    }
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}

function crashLine(error: unknown): string {
  if (!(error instanceof Error)) return `failed: internal error (${typeof error})`;
  return [`failed: internal error (${classNameOf(error)})`, framesOf(error).join(', ')]
    .filter((part) => part !== '')
    .join(' at ');
}

/** The name of the error's class; the property `name` may contain anything. */
function classNameOf(error: Error): string {
  const kind = error.constructor.name;
  return /^[A-Za-z_]\w{0,40}$/.test(kind) ? kind : 'Error';
}

/** The first stack frames: the lines after the message. */
function framesOf({ stack, message }: Error): string[] {
  const text = stack ?? '';
  const lines = text.slice(Math.max(0, text.indexOf(message)) + message.length).split('\n');
  const frames = lines.slice(lines.findLastIndex((line) => !line.startsWith('    at ')) + 1);
  return frames
    .map((frame) => frame.slice('    at '.length))
    .filter((frame) => /:\d+:\d+\)?$/.test(frame))
    .slice(0, maxFrames);
}
