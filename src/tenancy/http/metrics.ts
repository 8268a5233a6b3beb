/** One value of a metric, under its labels. */
export interface Sample {
  suffix?: string;
  labels?: Record<string, string | number>;
  value: number;
}

/** All values of a metric. */
export interface MetricFamily {
  /** Without `_total`. */
  name: string;
  type: 'counter' | 'gauge' | 'histogram' | 'info';
  help: string;
  samples: Sample[];
}

/** Media type of what `formatMetrics` returns. */
export const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** A family of values that only rise. */
export function counter(name: string, help: string, samples: Sample[]): MetricFamily {
  return { name, type: 'counter', help, samples: samples.map((sample) => ({ ...sample, suffix: '_total' })) };
}

/** A family of values that rise and fall. */
export function gauge(name: string, help: string, samples: Sample[]): MetricFamily {
  return { name, type: 'gauge', help, samples };
}

/** Samples of a record, with its keys as a label. */
export function samplesBy(label: string, values: Record<string, number>): Sample[] {
  return Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
}

/** Writes families in the text form of OpenMetrics 1.0. */
export function formatMetrics(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, type, help, samples }) => [
    `# TYPE ${name} ${type}`,
    `# HELP ${name} ${escaped(help)}`,
    ...samples.map((sample) => formatSample(name, sample)),
  ]);
  return [...lines, '# EOF', ''].join('\n');
}

function formatSample(name: string, { suffix = '', labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`);
  return `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
