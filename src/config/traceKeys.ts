import { isUnencrypted } from './addresses.ts';
import type { KeyProblem } from './configInvalid.ts';
import { optional, type ConfigKey } from './keyTable.ts';
import { absolutePath, nullable, serviceUrl } from './valueTypes.ts';

/** Where a program sends its traces; the same keys for agent and tenancy service. */
export interface TraceSettings {
  /** URL that takes traces by OTLP/HTTP; null: none are sent. */
  readonly otlp_endpoint: string | null;
  /** PEM file of the authorities that it is trusted by; null for those of the system. */
  readonly ca: string | null;
}

/** The keys of traces (spec §21). */
export const traceKeys = {
  'traces.otlp_endpoint': optional(
    nullable(serviceUrl),
    null,
    'URL of an OpenTelemetry collector for traces by OTLP/HTTP, usually `…/v1/traces`; default: no traces are sent.',
  ),
  'traces.ca': optional(
    nullable(absolutePath),
    null,
    'PEM file with the certificate authority of the collector; default: those of the system.',
  ),
} as const satisfies Record<string, ConfigKey>;

/** Traces are sent without encryption to this host only, whatever the transport of other calls. */
export function traceProblems(traces: TraceSettings | undefined): KeyProblem[] {
  const key = 'traces.otlp_endpoint';
  if (!isUnencrypted(traces?.otlp_endpoint)) return [];
  return [{ key, message: `must be ${traceKeys[key].allowed}; http:// is allowed to loopback` }];
}
