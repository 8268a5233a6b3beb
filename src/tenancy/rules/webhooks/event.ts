import type { EventType, WebhookEvent } from '../../../protocol/webhooks.ts';
import { reasonOf } from './reason.ts';
import type { BackendRow, BundleRow } from '../../store/database.ts';

/** The code of an event that trouble or silence ends because the backend retires. */
export const RETIRED = 'RETIRED';

/** What has happened, with the rows that it is about. */
export interface Occurrence {
  type: EventType;
  /** Milliseconds since 1970. */
  now: number;
  env: string;
  backend?: Pick<BackendRow, 'id' | 'site' | 'check_in'>;
  bundle?: Pick<BundleRow, 'sha256' | 'name' | 'version' | 'sequence'> | null;
  /** As a host reports it. */
  code?: string | null;
  /** The detail of its report, of which the message tells what `reasonOf` finds. */
  detail?: string | null;
  rollout?: WebhookEvent['data']['rollout'];
}

/** The event that tells of an occurrence: codes, names, and causes in our own words, never what a host has printed. */
export function eventOf({
  type,
  now,
  env,
  backend,
  bundle,
  code = null,
  detail = null,
  rollout = null,
}: Occurrence): WebhookEvent {
  return {
    type,
    timestamp: new Date(now).toISOString(),
    data: {
      env,
      backend: backend ? { id: backend.id, site: oneLine(backend.site), host: hostOf(backend.check_in) } : null,
      bundle: bundle ? bundleOf(bundle) : null,
      code: code !== null && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : null,
      reason: reasonOf(detail),
      rollout,
    },
  };
}

/** The event of a test of a webhook. */
export function testEvent(env: string | null, now: number): WebhookEvent {
  const nothing = { backend: null, bundle: null, code: null, reason: null, rollout: null };
  return { type: 'webhook.test', timestamp: new Date(now).toISOString(), data: { env, ...nothing } };
}

function hostOf(checkIn: BackendRow['check_in']): string | null {
  return checkIn && oneLine((JSON.parse(checkIn) as { host: { name: string } }).host.name);
}

/** A bundle as messages tell it. */
export function bundleOf({ sha256, name, version, sequence }: NonNullable<Occurrence['bundle']>) {
  return { sha256, name: oneLine(name), version: oneLine(version), sequence };
}

/** Longest name, in UTF-16 code units; a host name of DNS is shorter. */
const MAX_NAME = 253;

/** A name without control and format characters, which could reorder or hide what follows. */
export function oneLine(name: string): string {
  return name.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, MAX_NAME);
}
