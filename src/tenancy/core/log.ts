/** Writes one line of the log, with fields; never pass values of secrets. */
export type LogLine = (level: (typeof levels)[number], line: string, fields?: Record<string, unknown>) => void;

const levels = ['error', 'warn', 'info', 'debug'] as const;

/**
 * Writes the log as lines of JSON: `time` (RFC 3339), `level` and `message`, then the fields of the line. Omits lines
 * that are less urgent than `level`.
 */
export function createLog(level: (typeof levels)[number], write: (line: string) => void): LogLine {
  const least = levels.indexOf(level);
  return (urgency, message, fields) => {
    if (levels.indexOf(urgency) > least) return;
    const entry = { time: new Date().toISOString(), level: urgency, message, ...fields };
    write(`${JSON.stringify(entry).replaceAll(/[\x7f-\x9f\u2028\u2029]/g, escaped)}\n`);
  };
}

/** Escapes characters that are valid in JSON but can control a terminal. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
