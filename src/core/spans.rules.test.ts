import { formatTraceparent, parseTraceparent } from './spans.rules.ts';

const [traceId, spanId] = ['6b9f0b5c0000400080000000000000aa', 'b7ad6b7169203331'];

it('is read as written', () => {
  expect(parseTraceparent(formatTraceparent({ traceId, spanId }))).toEqual({ traceId, spanId, isSampled: true });
});

it.each([
  ['00', true],
  ['01', false],
  ['02', true],
  ['03', false],
])('flags %s: dropped %s', (flags, isDropped) => {
  expect(parseTraceparent(`00-${traceId}-${spanId}-${flags}`)?.isSampled).toBe(!isDropped);
});

it('may be of a later version, which may have more fields', () => {
  for (const header of [`01-${traceId}-${spanId}-01`, `cc-${traceId}-${spanId}-01-what-the-future-brings`])
    expect(parseTraceparent(header)).toMatchObject({ traceId, spanId });
});

it.each([
  undefined,
  '',
  'hello',
  [`00-${traceId}-${spanId}-01`, `00-${traceId}-${spanId}-01`],
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-more`,
  `01-${traceId}-${spanId}-01more`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-01\n`,
])('%j is ignored', (header) => {
  expect(parseTraceparent(header)).toBeNull();
});
