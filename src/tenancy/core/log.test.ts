import { createLog } from './log.ts';

function logged(level: 'error' | 'warn' | 'info' | 'debug') {
  const lines: string[] = [];
  return { lines, log: createLog(level, (line) => void lines.push(line)) };
}

it('writes a line of JSON with time, level, message and fields', () => {
  const { lines, log } = logged('info');
  log('warn', 'not ready', { part: 'mesh', status: 503 });
  expect(lines).toHaveLength(1);
  expect(lines[0]!.endsWith('}\n')).toBe(true);
  const { time, ...entry } = JSON.parse(lines[0]!) as Record<string, unknown>;
  expect(Math.abs(Date.parse(time as string) - Date.now())).toBeLessThan(10_000);
  expect(Object.entries(entry)).toEqual([
    ['level', 'warn'],
    ['message', 'not ready'],
    ['part', 'mesh'],
    ['status', 503],
  ]);
});

it.each([
  ['error', ['error']],
  ['warn', ['error', 'warn']],
  ['info', ['error', 'warn', 'info']],
  ['debug', ['error', 'warn', 'info', 'debug']],
] as const)('at level %s writes %j', (level, written) => {
  const { lines, log } = logged(level);
  for (const urgency of ['error', 'warn', 'info', 'debug'] as const) log(urgency, 'x');
  expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(written);
});

it('escapes characters that end a line or control a terminal', () => {
  const { lines, log } = logged('info');
  const hostile = '\n\r\x1b[2J\x7f\x9b2J\u2028\u2029"';
  log('info', hostile, { [hostile]: hostile });
  expect(lines[0]).toMatch(/^[\x20-\x7e]*\n$/);
  expect(JSON.parse(lines[0]!)).toMatchObject({ message: hostile, [hostile]: hostile });
});
