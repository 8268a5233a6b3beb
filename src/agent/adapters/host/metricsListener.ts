import { once } from 'node:events';
import { unlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { statIfExists } from '../files/ifExists.ts';
import { prometheusTextType } from '../../../core/metrics.rules.ts';

/** A listener that shows metrics to whoever asks. */
export interface MetricsListener {
  close: () => Promise<void>;
}

/**
 * Answers `GET /metrics` with the text of the moment (spec §20.2), at `http://127.0.0.1:PORT`, `http://[::1]:PORT` or
 * `unix:///PATH`; a socket that an earlier process left is replaced, and nothing else. Throws the error of the system.
 */
export async function listenForMetrics(address: string, text: () => string): Promise<MetricsListener> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end('the metrics are at /metrics\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') return void response.writeHead(405).end();
    response.writeHead(200, { 'content-type': prometheusTextType }).end(text());
  });
  server.requestTimeout = 10_000;
  const place = placeOf(address);
  if ('path' in place && (await statIfExists(place.path))?.isSocket()) await unlink(place.path);
  server.listen(place);
  await once(server, 'listening');
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** An address as the system wants it. */
function placeOf(address: string): { path: string } | { host: string; port: number } {
  if (address.startsWith('unix://')) return { path: address.slice('unix://'.length) };
  const [host = '', port] = address.slice('http://'.length).split(/:(?=\d+$)/);
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
