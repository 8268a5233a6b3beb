import { readRegular } from '../../../platform/regularFile.ts';

/**
 * Calls `stop` once at SIGTERM, SIGINT or SIGHUP; a second SIGTERM or SIGINT has its usual effect. SIGHUP comes twice where a
 * terminal goes, from the system and from its shell; who started the process with SIGHUP ignored (`nohup`) wants it to go on.
 */
export function atStop(stop: () => void): void {
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  if (!ignoresHangUp()) process.on('SIGHUP', stop);
}

function ignoresHangUp(): boolean {
  try {
    const status = readRegular('/proc/self/status').toString('latin1');
    const [, mask = '0'] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(status) ?? [];
    return (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return false; // a kernel that does not tell
  }
}
