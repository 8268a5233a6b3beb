import { counter, formatOpenMetrics, formatPrometheusText, gauge, info, samplesBy } from './metrics.rules.ts';

const families = [
  info('app_build', 'Version of the "app".', { version: '1\n2' }),
  counter('app_calls', 'Calls.', samplesBy('code', { a: 1, b: 2.5 })),
  gauge('app_busy', 'Back\\slash.', [{ value: 0 }]),
];

it('writes OpenMetrics: a counter is named without its suffix, and the text has an end', () => {
  expect(formatOpenMetrics(families)).toBe(
    [
      ...['# TYPE app_build info', '# HELP app_build Version of the \\"app\\".', 'app_build_info{version="1\\n2"} 1'],
      ...['# TYPE app_calls counter', '# HELP app_calls Calls.'],
      ...['app_calls_total{code="a"} 1', 'app_calls_total{code="b"} 2.5'],
      ...['# TYPE app_busy gauge', '# HELP app_busy Back\\\\slash.', 'app_busy 0', '# EOF', ''],
    ].join('\n'),
  );
});

it('writes the text of Prometheus: every name has its samples, and version information is a gauge', () => {
  expect(formatPrometheusText(families)).toBe(
    [
      ...['# TYPE app_build_info gauge', '# HELP app_build_info Version of the \\"app\\".'],
      'app_build_info{version="1\\n2"} 1',
      ...['# TYPE app_calls_total counter', '# HELP app_calls_total Calls.'],
      ...['app_calls_total{code="a"} 1', 'app_calls_total{code="b"} 2.5'],
      ...['# TYPE app_busy gauge', '# HELP app_busy Back\\\\slash.', 'app_busy 0', ''],
    ].join('\n'),
  );
});
