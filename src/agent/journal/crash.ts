import type { Journal } from './journal.ts';
import type { Redactor } from '../secrets/redact.ts';
import { writeThrough, type Stderr } from './sink.ts';

/** Frames of the stack that a crash line tells. */
const framesTold = 4;

/**
 * Ends the process with exit code 1 on any error that nobody caught, after one redacted line: kind and place of the
 * error, never its message, which in foreign errors may hold the bearer (spec §14).
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
  return [`failed: internal error (${kindOf(error)})`, framesOf(error).join(', ')]
    .filter((part) => part !== '')
    .join(' at ');
}

/** The name of the error's class, which comes from code; its own `name` may hold anything. */
function kindOf(error: Error): string {
  const kind = error.constructor.name;
  return /^[A-Za-z_]\w{0,40}$/.test(kind) ? kind : 'Error';
}

/** The places of the first frames, from the lines after the message. */
function framesOf({ stack, message }: Error): string[] {
  const text = stack ?? '';
  const lines = text.slice(Math.max(0, text.indexOf(message)) + message.length).split('\n');
  const frames = lines.slice(lines.findLastIndex((line) => !line.startsWith('    at ')) + 1);
  return frames
    .map((frame) => frame.slice('    at '.length))
    .filter((frame) => /:\d+:\d+\)?$/.test(frame))
    .slice(0, framesTold);
}
