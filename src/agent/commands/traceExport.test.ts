import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Trace } from '../rules/trace/trace.ts';
import type { Dependencies } from '../services/dependencies.ts';
import { createTraceExport, type ExportTrace } from './traceExport.ts';

const trace: Trace = {
  ...{ schema: 1, tick: '6b9f0b5c-1111-4111-b222-fffffffffffe', version: '0.3.0', env: 'eu-1', intent: 'tick' },
  ...{
    started_at: '2026-11-26T08:00:00.000Z',
    ms: 1,
    ending: 'converged',
    exit: 0,
    codes: [],
    steps: [],
    decisions: [],
  },
};

let server: Server;
let endpoint: string;
let warnings: string[];
beforeEach(async () => {
  warnings = [];
  server = createServer((request) => void request.resume());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function open(to: string, ca: string | null = null): ExportTrace | null {
  const deps = {
    settings: { env: 'eu-1', site: 'lab', traces: { otlp_endpoint: to, ca } },
    version: '0.3.0',
    journal: { warn: (line: string) => void warnings.push(line) },
  };
  return createTraceExport(deps as unknown as Dependencies, to);
}

const received = async () => (await once(server, 'request'))[1] as ServerResponse;

it('sends one trace at a time, and skips those that end meanwhile', async () => {
  const exportTrace = open(endpoint)!;
  const first = exportTrace(trace);
  expect(await exportTrace(trace)).toBe('skipped');
  (await received()).end();
  expect(await first).toBe('exported');
  const third = exportTrace(trace);
  (await received()).end();
  expect([await third, warnings]).toEqual([
    'exported',
    [`no trace of this tick at ${endpoint}: the one before is still on its way`],
  ]);
});

it('only warns of a collector that does not take it, and goes on', async () => {
  const exportTrace = open(endpoint)!;
  const first = exportTrace(trace);
  (await received()).writeHead(503).end();
  expect([await first, warnings]).toEqual(['failed', [`no trace of this tick at ${endpoint}: HTTP_503`]]);
  const second = exportTrace(trace);
  (await received()).end();
  expect(await second).toBe('exported');
});

it('only warns of authorities that cannot be read', () => {
  expect(open('https://127.0.0.1:4318/v1/traces', '/none.pem')).toBeNull();
  expect(warnings).toEqual([
    'no trace of this tick at https://127.0.0.1:4318/v1/traces: /none.pem cannot be read (ENOENT)',
  ]);
});
