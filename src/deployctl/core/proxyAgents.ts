import type { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { checkServerIdentity, type PeerCertificate, type SecureContext, TLSSocket } from 'node:tls';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { keepShownChain } from '../../core/certificateAuthorities.ts';
import { type Agents, createAgents } from '../../core/connector.ts';
import type { Io } from './ctlError.ts';
import { isExempt, type Proxy, proxyOf } from './proxy.rules.ts';

/**
 * Agents that call https:// URLs through the proxy of the environment, if it is set. Calls to http:// URLs, which are
 * on this host, are always direct, because a proxy could read their token.
 */
export function createProxyAgents(context: SecureContext, env: Io['env'], pool = { keepAlive: true }): Agents {
  const direct = createAgents({ context }, { ...pool, connectTimeoutMs });
  const proxy = proxyOf(env);
  if (proxy === null) return direct;
  const tunnels = new TunnelAgent({ proxy, env, context, direct: direct.https });
  return { http: direct.http, https: tunnels };
}

interface Route {
  proxy: Proxy | { fault: string };
  env: Io['env'];
  context: SecureContext;
  direct: HttpsAgent;
}

/** Milliseconds within which a service must accept a direct connection. */
const connectTimeoutMs = 10_000;

/** Milliseconds within which a proxy must open a tunnel. */
const tunnelTimeoutMs = 30_000;

/**
 * Opens tunnels by CONNECT. The library would pass on a proxy's refusal as the service's answer; here it is an error
 * with the code `PROXY_` and the status, 0 for an answer that is not HTTP. The library logs the proxy's URL, so it never gets the credentials in it.
 */
class TunnelAgent extends HttpsProxyAgent<string> {
  readonly #route: Route;

  constructor(route: Route) {
    const { proxy, direct, context } = route;
    const headers =
      'fault' in proxy || proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization };
    const url = 'fault' in proxy ? new URL('http://proxy.invalid') : proxy.url;
    super(url, { keepAlive: direct.options.keepAlive ?? false, secureContext: context, headers });
    this.#route = route;
    this.on('proxyConnect', ({ statusCode }: { statusCode: number }) => {
      if (statusCode !== 200) throw coded(`PROXY_${statusCode || 0}`);
    });
  }

  override async connect(...[request, options]: Parameters<HttpsProxyAgent<string>['connect']>): Promise<Socket> {
    const { proxy, env, direct, context } = this.#route;
    const host = options.host ?? '';
    // The base class accepts an agent instead of a socket.
    if (isExempt(host, env)) return direct as unknown as Socket;
    if ('fault' in proxy) throw coded('PROXY_INVALID');
    const verified = {
      ...{ secureContext: context, rejectUnauthorized: true },
      // Without a name, as for an address, Node would compare the certificate with `localhost`.
      checkServerIdentity: (_: string, certificate: PeerCertificate) => checkServerIdentity(host, certificate),
    };
    const socket = await this.#withinLimit(() => super.connect(request, { ...options, ...verified }));
    if (socket instanceof TLSSocket) keepShownChain(socket, host);
    return socket;
  }

  /** Closes the connection to the proxy if the tunnel is not opened in time, or fails. */
  async #withinLimit(connect: () => Promise<Socket>): Promise<Socket> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), tunnelTimeoutMs);
    this.connectOpts = { ...this.connectOpts, signal: limit.signal };
    try {
      return await connect();
    } catch (error) {
      const isLate = limit.signal.aborted;
      limit.abort();
      if (isLate) throw coded('ETIMEDOUT');
      // The library gives no code to the end of a connection before the answer.
      throw 'code' in (error as Error) ? error : coded('ECONNRESET');
    } finally {
      clearTimeout(timer);
    }
  }

  override destroy(): void {
    super.destroy();
    this.#route.direct.destroy();
  }
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}
