import { BlockList, isIP, isIPv6 } from 'node:net';
import type { Io } from './ctlError.ts';

/** A proxy without its credentials, and the header that contains them. */
export interface Proxy {
  url: URL;
  authorization: string | null;
}

/**
 * The proxy for calls to https:// URLs, null if there is none. Uses curl's variables: `https_proxy`, otherwise
 * `all_proxy`. A lower-case name takes precedence over an upper-case one, and an empty value counts as not set. For
 * an invalid value, returns the fault; it contains the variable's name and never its value, which may contain a password.
 */
export function proxyOf(env: Io['env']): Proxy | null | { fault: string } {
  const names = ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'];
  const name = names.find((one) => isSet(env[one]));
  return name === undefined
    ? null
    : (parseProxy(env[name] ?? '') ?? { fault: `${name} is not an http:// or https:// URL` });
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== '';
}

function parseProxy(text: string): Proxy | null {
  const written = text.trim();
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(written) ? written : `http://${written}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null;
  const credentials = credentialsOf(url);
  if (credentials === null) return null;
  const authorization = credentials === ':' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`;
  const plain = new URL(`${url.protocol}//${url.host}`);
  // Use curl's default port 1080: the URL class drops a port that is the default of its scheme.
  if (plain.protocol === 'http:' && plain.port === '' && !/:80\/*$/.test(written)) plain.port = '1080';
  return { url: plain, authorization };
}

function credentialsOf({ username, password }: URL): string | null {
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  } catch {
    return null;
  }
}

/**
 * Whether a host is called without the proxy, by curl's rules for `no_proxy`: `*`, or a list of names, addresses and
 * address ranges such as 10.0.0.0/8. A name includes its subdomains. Names are not resolved, and `localhost` must be
 * listed too.
 */
export function isExempt(hostname: string, env: Io['env']): boolean {
  const list = isSet(env['no_proxy']) ? env['no_proxy'] : env['NO_PROXY'];
  const host = plainHost(hostname);
  const entries = (list ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  return entries.some(
    (entry) => entry === '*' || (isIP(host) > 0 ? holdsAddress(entry, host) : holdsName(entry, host)),
  );
}

function plainHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

function holdsName(entry: string, host: string): boolean {
  const name = plainHost(entry).replace(/^\./, '');
  return name !== '' && (host === name || host.endsWith(`.${name}`));
}

function holdsAddress(entry: string, host: string): boolean {
  const [address = '', bits] = plainHost(entry).split('/');
  const type = isIPv6(host) ? 'ipv6' : 'ipv4';
  const most = type === 'ipv6' ? 128 : 32;
  if (isIP(address) !== isIP(host) || (bits !== undefined && !/^\d{1,3}$/.test(bits)) || Number(bits ?? 0) > most)
    return false;
  const range = new BlockList();
  range.addSubnet(address, bits === undefined ? most : Number(bits), type);
  return range.check(host, type);
}
