/** One line of the log, with fields; values of secrets never get here. */
export type LogLine = (level: (typeof levels)[number], line: string, fields?: Record<string, unknown>) => void;

const levels = ['error', 'warn', 'info', 'debug'] as const;

/**
 * Writes the log as lines of JSON: `time` (RFC 3339), `level` and `message`, then the fields of the line. Lines less urgent
 * than `level` are left out.
 */
export function createLog(level: (typeof levels)[number], write: (line: string) => void): LogLine {
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
