import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { mergeDefaults } from '../../core/config/keyTable.ts';
import { type Paint, unpainted } from '../../core/text.rules.ts';
import { configTable, type Settings } from '../config/configKeys.ts';
import { renderEnvFile } from '../secrets/envFile.rules.ts';
import { Vault } from '../secrets/vault.ts';
import { emptyState } from '../state/state.rules.ts';
import { logs, type LogsOptions } from './logs.ts';

/** A log as its pieces; what it has before them, by `until`. */
interface StubLog {
  pieces: Buffer[];
  older?: Buffer[];
  status?: number;
  /** Pieces that come later, then the end. */
  later?: Buffer[];
  /** Pieces that come between two readings. */
  between?: Buffer[];
}

let dir: string;
let sockets: string;
let engine: Server;
let stub: Record<string, StubLog>;
let podman: boolean;
/** Called when a log is followed. */
let followed: () => void;
/** Aborted when the reader closes the stream. */
let reader: AbortController;
let results: string[];
let errors: string[];

beforeAll(async () => {
  sockets = tempDir();
  engine = createServer(({ url = '' }, response) => answer(new URL(url, 'http://engine'), response));
  engine.listen(join(sockets, 'engine.sock'));
  await once(engine, 'listening');
});
beforeEach(() => {
  dir = tempDir();
  reader = new AbortController();
  [results, errors, stub, podman, followed] = [[], [], {}, false, () => undefined];
});
afterAll(async () => {
  engine.closeAllConnections();
  engine.close();
});

function answer({ pathname, searchParams }: URL, response: ServerResponse): void {
  if (podman) response.setHeader('Libpod-API-Version', '4.3.1');
  if (pathname === '/containers/web/json') return void response.end(JSON.stringify(inspection));
  if (pathname === '/version') return void response.end('{}');
  if (pathname === '/containers/json') return void response.end(JSON.stringify(Object.keys(stub).map(entryOf)));
  const log = stub[/^\/containers\/(.*)\/logs$/.exec(pathname)?.[1] ?? ''] ?? { pieces: [] };
  const { pieces, older = [], status = 200, later = [], between = [] } = log;
  response.writeHead(status);
  const tail = podman ? Infinity : Number(searchParams.get('tail') ?? Infinity);
  for (const piece of (searchParams.has('until') ? older : pieces).slice(-tail)) response.write(piece);
  Object.assign(log, { pieces: [...pieces, ...between], between: [] });
  if (searchParams.has('follow')) for (const piece of later) response.write(piece);
  if (searchParams.has('follow')) followed();
  if (!searchParams.has('follow') || later.length > 0) response.end();
}

function entryOf(service: string) {
  const Labels = { 'com.docker.compose.service': service, 'com.docker.compose.oneoff': 'False' };
  return { Id: service, Names: [`/deployd-eu-1-${service}-1`], State: 'running', Status: 'Up 3 hours', Labels };
}

/** The container of `web`, with the query for Podman. */
const inspection = {
  ...{ Id: 'web', Name: 'deployd-eu-1-web-1', Image: 'sha256:1', RestartCount: 0, Mounts: [] },
  State: { Status: 'running', ExitCode: 0, StartedAt: '2026-11-26T12:00:00Z' },
  HostConfig: { RestartPolicy: { Name: 'no' } },
  Config: { Image: 'web:1', Labels: { 'com.docker.compose.service': 'web' } },
};

const frame = (stream: 1 | 2, text: string) => {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
};

async function run(more: Partial<LogsOptions> = {}, terminal: { isInteractive: boolean; paint: Paint } | null = null) {
  const config = { env: 'eu-1', state_dir: dir, container_host: `unix://${sockets}/engine.sock` };
  const settings = mergeDefaults(configTable, {
    ...config,
    tenancy_url: 'https://t',
    secretstore_url: 'https://s',
  }) as unknown as Settings;
  const options = {
    service: undefined,
    tail: 9,
    since: undefined,
    follow: false,
    json: false,
    vault: new Vault(),
    ...more,
  };
  const out = { log: (line: string) => void results.push(line), error: (line: string) => void errors.push(line) };
  const shown = terminal ?? { isInteractive: false, paint: unpainted };
  const show = async (text: string) => void results.push(...text.split('\n'));
  return logs(
    settings,
    { signal: new AbortController().signal, ...options },
    { terminal: { ...shown, closed: reader.signal, show }, out },
  );
}

it('shows the logs of all containers, or of one service', async () => {
  stub = { web: { pieces: [frame(1, 'a\n'), frame(2, 'b\r\n')] }, worker: { pieces: [frame(1, 'c')] } };
  expect([await run(), await run({ service: 'web', json: true })]).toEqual([0, 0]);
  expect(results).toEqual([
    'web-1    | a',
    'web-1    | b',
    'worker-1 | c',
    '{"service":"web","container":"web-1","stream":"stdout","line":"a"}',
    '{"service":"web","container":"web-1","stream":"stderr","line":"b"}',
  ]);
});

it('shows the last lines from Podman, which returns the whole log and keeps each write as a piece', async () => {
  podman = true;
  const vault = new Vault();
  vault.registerForRedaction('hunter2-secret');
  const pieces = ['a\n', 'b', 'c\n', 'd\n', 'hunter2-', 'secret\n', 'hunter2'].map((text) => frame(1, text));
  stub = { web: { pieces } };
  expect(await run({ tail: 4, vault })).toBe(0);
  expect(results).toEqual(['web-1 | d', 'web-1 | [REDACTED]', 'web-1 | ...']);
});

it('lists the existing services', async () => {
  expect(await run({ service: 'wbe' })).toBe(1);
  stub = { worker: { pieces: [] }, web: { pieces: [] } };
  expect(await run({ service: 'wbe' })).toBe(1);
  expect(errors).toEqual(['the project has no container', 'no container of a service wbe: there are web, worker']);
});

it('shows nothing if another host has applied the release and therefore has its secrets', async () => {
  const applied_sha = 'b'.repeat(64);
  await writeFile(join(dir, 'state.json'), JSON.stringify({ ...emptyState('eu-1'), applied_sha }));
  stub = { web: { pieces: [frame(1, 'a\n')] } };
  expect([await run(), results]).toEqual([1, []]);
  expect(errors).toEqual([
    `release ${applied_sha} was applied by another host: what is secret in its logs is known there`,
  ]);
});

describe('values of a release', () => {
  const secret = 'hunter2-and-more';
  beforeEach(async () => {
    const release = join(dir, 'eu-1', 'releases', 'a'.repeat(64));
    await mkdir(release, { recursive: true });
    await writeFile(join(release, '.env'), renderEnvFile(new Map([['PASSWORD', secret]])));
    const earlier = renderEnvFile(new Map([['PASSWORD', 'before-hunter1']]));
    await writeFile(join(release, '.deployd.last-good.json'), JSON.stringify({ '.env': earlier }));
    await writeFile(join(dir, 'store.token'), 'plain-store-token\n', { mode: 0o600 });
  });

  it('are redacted, also values of earlier releases and the token, wherever a line was cut into pieces', async () => {
    const pieces = [
      frame(1, `x ${secret.slice(0, 5)}`),
      frame(2, 'plain-store-token\n'),
      frame(1, `${secret.slice(5)} y\n`),
    ];
    stub = { web: { pieces: [...pieces, frame(1, 'before-hunter1')] } };
    expect(await run()).toBe(0);
    expect(results).toEqual(['web-1 | [REDACTED]', 'web-1 | x [REDACTED] y', 'web-1 | [REDACTED]']);
  });

  it.each<[string, StubLog, Partial<LogsOptions>, string[]]>([
    [
      'more pieces than asked for',
      { pieces: [frame(1, 'z\n'), frame(1, 'and-more\n'), frame(1, 'b\n')] },
      { tail: 2 },
      ['and-more', 'b'],
    ],
    ['a beginning that is not shown', { pieces: [frame(1, 'and-more\n'), frame(1, 'b\n')] }, { tail: 1 }, ['b']],
    [
      'pieces before --since',
      { pieces: [frame(1, 'and-more\n'), frame(1, 'b\n')], older: [frame(2, 'o\n')] },
      { since: '1h' },
      ['b'],
    ],
    ['nothing before --since', { pieces: [frame(1, 'a\n'), frame(1, 'b\n')] }, { since: '1h' }, ['a', 'b']],
    [
      'pieces that are printed between measuring and reading',
      { pieces: [frame(1, `a ${secret.slice(0, 8)}`)], between: [frame(1, `${secret.slice(8)}\n`), frame(1, 'b\n')] },
      { tail: 1 },
      ['a [REDACTED]', 'b'],
    ],
    ['a terminal whose line may be more', { pieces: [Buffer.from(`${'x'.repeat(20_000)}\nb\n`)] }, {}, ['b']],
    ['a terminal', { pieces: [Buffer.from(`a ${secret}\nb`)] }, {}, ['a [REDACTED]', 'b']],
    [
      'a last line that the engine cut',
      { pieces: [frame(1, `${'x'.repeat(16_380)} hunte`)] },
      {},
      [expect.stringMatching(/^x{16000,} ?\.\.\.$/) as string],
    ],
  ])('do not show in parts, with %s', async (_what, log, more, lines) => {
    stub = { web: log };
    expect(await run(more)).toBe(0);
    expect(results.map((line) => line.replace('web-1 | ', ''))).toEqual(lines);
  });

  it('hide all when they cannot be read', async () => {
    await writeFile(join(dir, 'eu-1', 'releases', 'a'.repeat(64), '.env'), 'A=b');
    stub = { web: { pieces: [frame(1, 'a\n')] } };
    expect([await run(), results]).toEqual([1, []]);
  });
});

it('follows new output, of all containers at once, also of a stream that was silent', async () => {
  stub = {
    web: { pieces: [frame(1, 'z\n'), frame(1, 'a\n')], later: [frame(2, 'first\n'), frame(1, 'b\n')] },
    worker: { pieces: [], later: [frame(1, 'c\n')] },
  };
  expect(await run({ follow: true, tail: 1 })).toBe(0);
  expect(results.filter((line) => line.startsWith('web'))).toEqual([
    'web-1    | a',
    'web-1    | first',
    'web-1    | b',
  ]);
  expect(results).toContain('worker-1 | c');
});

it.each(['a signal', 'the end of its reader'])('ends at %s', async (what) => {
  stub = { web: { pieces: [frame(1, 'a\n')] } };
  const stop = new AbortController();
  followed = () => (what === 'a signal' ? stop : reader).abort();
  expect(await run({ follow: true, signal: stop.signal })).toBe(0);
  expect(errors).toEqual([]);
});

it('escapes lines for a terminal, and marks lines of stderr', async () => {
  stub = { web: { pieces: [frame(1, '\x1b[2Ja\n'), frame(2, 'b\n')] } };
  await run({}, { isInteractive: true, paint: (style, text) => `<${style}>${text}` });
  await run();
  expect(results).toEqual(['<dim>web-1 |  [2Ja', '<yellow>web-1 | b', 'web-1 | \x1b[2Ja', 'web-1 | b']);
});

it('names the log that it could not show', async () => {
  stub = { a: { pieces: [], status: 501 }, b: { pieces: [frame(1, 'x\n')] } };
  expect(await run()).toBe(1);
  expect([results, errors]).toEqual([
    ['b-1 | x'],
    [expect.stringMatching(/^the log of a-1 cannot be shown: .*the container engine answers 501/)],
  ]);
  expect(await run({ since: 'yesterday' })).toBe(1);
  expect(errors[1]).toMatch(/^--since yesterday must be like 90s/);
});
