import { codesOf, isQuiet, parseTrace, sanitizeDecision, type Decision } from './trace.ts';

const sha = '1'.repeat(64);
const ordered = (reason: string): Decision => {
  return { word: 'desired', action: 'none', desired: null, applied: null, reason };
};

describe('a stored decision', () => {
  const redact = (text: string) => text.replace('hunter2', '***');

  it.each<[string, unknown[], unknown[]]>([
    ['action', ['apply', 'none', 'down'], ['', 'apply x', 'x none']],
    ['desired', [sha, null], [`${sha}1`, sha.slice(1), `${sha.slice(1)}g`, `1${sha}`]],
    ['applied', [sha, null], ['x']],
    ['sha', [sha], ['x']],
    [
      'reason',
      ['', 'sha_changed', 'a'.repeat(20), 'drift:web,db-1.x_y', `retry:${'1'.repeat(300)}`],
      ['Sha', 'a'.repeat(21), 'drift:', 'drift:a b', `retry:${'1'.repeat(301)}`, ' retry', 'retry:1 ', ':1'],
    ],
    ['phase', ['promoted', 'a'.repeat(20)], ['', 'a'.repeat(21), 'Promoted', 'a1', '1a']],
    ['services', [['web', 'A.b_c-1', 'a'.repeat(63)]], [['', 'a'.repeat(64), '-web', 'web db', ' web']]],
    ['untouched', [['web']], [['a b']]],
    ['gone', [['web']], [['a b']]],
    [
      'signers',
      [[`key SHA256:${'a/+'.repeat(14)}0`, 'ops@example.com (https://id.example)', `${'a'.repeat(253)} (b)`]],
      [[`key SHA256:${'a'.repeat(42)}`, 'ops@example.com', 'a b (c)', 'a (b c)', `${'a'.repeat(254)} (b)`, 'a (b) ']],
    ],
    ['peer', ['tenancy', 'secretstore', 'storage'], ['tenancyx', 'xstorage', 'mesh']],
    ['error', ['HTTP_503', 'A'.repeat(64)], ['', 'A'.repeat(65), 'http', 'A b', 'a B']],
    ['seconds', [90], []],
    ['text', [], ['x']],
  ])('has admitted values only, others become ?: %s', (name, admitted, others) => {
    const stored = (value: unknown) =>
      (sanitizeDecision({ word: 'not-reverted', [name]: value }, redact) as Record<string, unknown>)[name];
    expect(admitted.map(stored)).toEqual(admitted);
    expect(others.map(stored)).toEqual(others.map((value) => (Array.isArray(value) ? value.map(() => '?') : '?')));
  });

  it('keeps its word, and hides a name with a secret in it', () => {
    const decision: Decision = { word: 'unhealthy', services: ['web', 'hunter2'] };
    expect(sanitizeDecision(decision, redact)).toEqual({ word: 'unhealthy', services: ['web', '?'] });
  });

  it('has at most 100 names', () => {
    const services = Array.from({ length: 101 }, (_, index) => `s${index}`);
    expect(sanitizeDecision({ word: 'unhealthy', services }, redact)).toEqual({
      word: 'unhealthy',
      services: services.slice(0, 100),
    });
  });
});

describe('a trace', () => {
  it.each<[boolean, Parameters<typeof isQuiet>[0]['ending'], Decision[]]>([
    [true, 'converged', []],
    [true, 'converged', [ordered(''), ordered('')]],
    [false, 'converged', [ordered('drift:web')]],
    [false, 'converged', [ordered(''), { word: 'token-replaced' }]],
    [false, 'offline', []],
    [true, 'converged', [ordered('leader:manager-1'), { word: 'deferred', by: 'leader' }]],
    [false, 'converged', [ordered('drift:web')]],
    [true, 'held', [ordered('sha_changed'), { word: 'deferred', by: 'hold' }]],
    [true, 'outsideWindow', [ordered('sha_changed'), { word: 'deferred', by: 'window' }]],
  ])('is quiet (%s) only when it converged, or waited, and nothing happened: %s, %j', (quiet, ending, decisions) => {
    expect(isQuiet({ ending, decisions: decisions.map((each) => ({ ...each, state: 'x', at_ms: 0 })) })).toBe(quiet);
  });

  it('is parsed as it was written', () => {
    const trace = { schema: 1, ending: 'applied', steps: [], decisions: [] };
    expect(parseTrace(JSON.stringify(trace))).toEqual(trace);
  });

  it.each<[string, object | null]>([
    ['null', null],
    ['a list', []],
    ['another schema', { schema: 2, ending: 'applied', steps: [], decisions: [] }],
    ['an unknown ending', { schema: 1, ending: 'toString', steps: [], decisions: [] }],
    ['no ending', { schema: 1, steps: [], decisions: [] }],
    ['no steps', { schema: 1, ending: 'applied', decisions: [] }],
    ['no decisions', { schema: 1, ending: 'applied', steps: [] }],
  ])('is rejected with %s', (_name, value) => {
    expect(parseTrace(JSON.stringify(value))).toBeNull();
  });

  it('is rejected when it is no JSON', () => {
    expect(parseTrace('')).toBeNull();
  });

  it('contains the code of every refusal, or the code of a failure', () => {
    expect(codesOf({ code: 'A_B', lines: ['refused: A_B: x', 'more', 'refused: C_D: y'] })).toEqual(['A_B', 'C_D']);
    expect(codesOf({ code: 'UP_FAILED', lines: ['failed: refused: X: y', 'refused: x: y'] })).toEqual(['UP_FAILED']);
    expect(codesOf({ code: null, lines: [] })).toEqual([]);
  });
});
