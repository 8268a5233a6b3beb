import { readRegularFile } from '../regularFile.ts';

/**
 * Calls `stop` once at SIGTERM, SIGINT or SIGHUP; a second SIGTERM or SIGINT has its default effect. A closing terminal
 * sends SIGHUP twice, from the system and from its shell. A process started with SIGHUP ignored (`nohup`) keeps
 * ignoring it.
 */
export function onStopSignal(stop: () => void): void {
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  if (!ignoresHangUp()) process.on('SIGHUP', stop);
}

function ignoresHangUp(): boolean {
  try {
    const status = readRegularFile('/proc/self/status').toString('latin1');
    const [, mask = '0'] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(status) ?? [];
    return (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return false; // the kernel does not report it
  }
}

/** Aborts at SIGTERM or SIGINT, so that the command can clean up. */
export function abortedBySignal(): AbortSignal {
  const stop = new AbortController();
  onStopSignal(() => stop.abort());
  return stop.signal;
}
