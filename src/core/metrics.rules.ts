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

/** Media type of the result of `formatOpenMetrics`. */
export const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Media type of the result of `formatPrometheusText`. */
export const prometheusTextType = 'text/plain; version=0.0.4; charset=utf-8';

/** A family of values that only rise. */
export function counter(name: string, help: string, samples: Sample[]): MetricFamily {
  return { name, type: 'counter', help, samples: samples.map((sample) => ({ ...sample, suffix: '_total' })) };
}

/** A family with one sample, whose labels describe something. */
export function info(name: string, help: string, labels: Record<string, string>): MetricFamily {
  return { name, type: 'info', help, samples: [{ suffix: '_info', labels, value: 1 }] };
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
export function formatOpenMetrics(families: readonly MetricFamily[]): string {
  const lines = families.flatMap((family) => formatFamily(family, family.name, family.type));
  return [...lines, '# EOF', ''].join('\n');
}

/**
 * Writes families in the text form of Prometheus, 0.0.4, which the textfile collector reads: it names a counter with its
 * suffix, and knows no type `info`.
 */
export function formatPrometheusText(families: readonly MetricFamily[]): string {
  const lines = families.flatMap((family) => {
    const { name, type } = family;
    if (type === 'counter') return formatFamily(family, `${name}_total`, type);
    return type === 'info' ? formatFamily(family, `${name}_info`, 'gauge') : formatFamily(family, name, type);
  });
  return [...lines, ''].join('\n');
}

function formatFamily({ name, help, samples }: MetricFamily, title: string, type: string): string[] {
  return [
    `# TYPE ${title} ${type}`,
    `# HELP ${title} ${escaped(help)}`,
    ...samples.map((sample) => formatSample(name, sample)),
  ];
}

function formatSample(name: string, { suffix = '', labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`);
  return `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
