import type { Flaw } from './invalid.ts';
import { keys } from './schema.ts';
import type { Settings } from './settings.ts';

/** A rule over several sound settings; faults are told without their lines. */
type Judgement = Omit<Flaw, 'line'>;

/** What no key can be blamed for alone: plain http beyond loopback and mesh, and two ports for one service. */
export function judgeTogether(sound: Partial<Settings>, portWritten: boolean): Judgement[] {
  const plain = (['tenancy_url', 'secretstore_url'] as const).filter((key) => isExposed(sound[key], sound.transport));
  const flaws = plain.map((key) => ({
    key,
    text: `must be ${keys[key].allowed}; http:// is allowed to loopback and over the transports sdk and proxy`,
  }));
  const port = explicitPort(sound.tenancy_url ?? '');
  if (!portWritten || port === null || sound.port === undefined || port === sound.port) return flaws;
  return [...flaws, { key: 'port', text: `must be ${port} as in tenancy_url, or be left out` }];
}

/** Both base addresses without a trailing slash; `port` and the tenancy's address name the same port afterwards. */
export function agreeOnPort(settings: Settings): Settings {
  const tenancy = new URL(settings.tenancy_url);
  const port = explicitPort(settings.tenancy_url) ?? settings.port;
  tenancy.port = String(port);
  return {
    ...settings,
    port,
    tenancy_url: withoutSlash(tenancy.href),
    secretstore_url: withoutSlash(new URL(settings.secretstore_url).href),
  };
}

function isExposed(url: string | undefined, transport: Settings['transport'] | undefined): boolean {
  if (!url?.startsWith('http://') || transport !== 'system') return false;
  const { hostname } = new URL(url);
  return !(hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname));
}

/** The port that is spelled out, even where the URL parser drops it as the scheme's own. */
function explicitPort(url: string): number | null {
  const digits = /^https?:\/\/[^/]*:(\d+)(?:\/|$)/.exec(url)?.[1];
  return digits === undefined ? null : Number(digits);
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
