import type { TenancySettings } from '../config/settings.ts';
import type { LogLine } from '../core/dependencies.ts';

const levels = ['error', 'warn', 'info', 'debug'] as const;

/**
 * Writes the log as lines of JSON: `time` (RFC 3339), `level` and `message`, then the fields of the line. Lines less urgent
 * than `level` are left out.
 */
export function createLog(level: TenancySettings['log']['level'], write: (line: string) => void): LogLine {
  const least = levels.indexOf(level);
  return (urgency, message, fields) => {
    if (levels.indexOf(urgency) > least) return;
    const entry = { time: new Date().toISOString(), level: urgency, message, ...fields };
    write(`${JSON.stringify(entry).replaceAll(/[\x7f-\x9f\u2028\u2029]/g, escaped)}\n`);
  };
}

/** Characters that JSON allows in a line, and a terminal may take for a command. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
