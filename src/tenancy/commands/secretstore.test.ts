import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClock } from '../../../fixtures/servers/clock.ts';
import { createCa, serverNames } from '../../../fixtures/servers/crypto/ca.ts';
import {
  startHttpsServer,
  type Answer,
  type ReceivedRequest,
  type TestServer,
} from '../../../fixtures/servers/http/httpsServer.ts';
import { secretstore, type SecretstoreOptions } from './secretstore.ts';

const ca = createCa();
let dir: string;
let server: TestServer;
/** What has been written, by path. */
let objects: Map<string, Record<string, unknown>>;
let namespaces: Set<unknown>;
let lines: string[];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deployd-secretstore-'));
  await writeFile(join(dir, 'ca.pem'), ca.pem);
  await writeFile(join(dir, 'token'), 'canary\n');
  objects = new Map();
  namespaces = new Set();
  lines = [];
  const clock = createClock();
  server = await startHttpsServer({ certificate: ca.issue(serverNames), clock, routeOf: (method) => method, answer });
});
afterEach(async () => {
  await server.stop();
  await rm(dir, { recursive: true });
});

/** Keeps what is written, as a secretstore without any rules of its own. */
function answer({ method, path, headers, body }: ReceivedRequest): Answer {
  if (headers['x-vault-token'] !== 'canary') return { status: 403, body: { errors: ['permission denied'] } };
  namespaces.add(headers['x-vault-namespace']);
  const name = path.slice('/v1/'.length);
  if (method === 'POST') {
    objects.set(name, { accessor: 'a-1', ...(JSON.parse(body.toString()) as object) });
    return { status: 204 };
  }
  if (name === 'sys/mounts' || name === 'sys/auth') return { status: 200, body: { data: mountsBelow(`${name}/`) } };
  const data = objects.get(name);
  return data ? { status: 200, body: { data } } : { status: 404, body: { errors: [] } };
}

function mountsBelow(list: string): object {
  const mounts = [...objects].filter(([path]) => path.startsWith(list));
  return Object.fromEntries(mounts.map(([path, mount]) => [`${path.slice(list.length)}/`, mount]));
}

function run(action: 'plan' | 'apply', changed: Partial<SecretstoreOptions> = {}, secretstore_url = server.url) {
  const settings = {
    public_url: 'https://tenancy.example',
    secretstore_url,
    secretstore_ca: join(dir, 'ca.pem'),
    secretstore_namespace: 'team/a',
  };
  const administrator = { tokenFile: join(dir, 'token'), environment: {} };
  const log = (line: string) => void lines.push(line);
  return secretstore(
    settings,
    { action, ...administrator, jwksCaFile: null, publicKeys: null, ...changed },
    { log, error: log },
  );
}

const writes = () => server.requests.filter(({ method }) => method === 'POST').length;

it('tells by plan what apply would do, and writes nothing', async () => {
  expect(await run('plan')).toBe(1);
  expect(writes()).toBe(0);
  const planned = lines.splice(0);
  expect(await run('apply')).toBe(0);
  expect(lines.splice(0)).toEqual(planned);
  expect(planned).toHaveLength(7);
  expect(writes()).toBe(7);
  expect([...namespaces]).toEqual(['team/a']);
  expect(objects.get('auth/jwt-tenancy/config')).toMatchObject({
    jwks_url: 'https://tenancy.example/.well-known/jwks.json',
    bound_issuer: 'https://tenancy.example',
  });
  expect(objects.get('sys/policies/acl/deployd-agent')?.['policy']).toContain('aliases.a-1.metadata.env');
});

it('finds no difference after apply, then tells of one field', async () => {
  await run('apply');
  lines = [];
  expect(await run('plan')).toBe(0);
  expect(lines.splice(0)).toEqual(['the secretstore is set up as deployd needs it']);
  objects.get('auth/jwt-tenancy/role/deploy-agent')!['token_ttl'] = 1;
  expect(await run('plan')).toBe(1);
  expect(lines).toEqual(['~ role deploy-agent', '    token_ttl: 1 → 604800']);
});

it('takes the token of the environment, that of OpenBao first', async () => {
  const environment = { BAO_TOKEN: 'canary', VAULT_TOKEN: 'other' };
  expect(await run('plan', { tokenFile: null, environment })).toBe(1);
  expect(await run('plan', { tokenFile: null, environment: { VAULT_TOKEN: 'canary' } })).toBe(1);
});

describe('exits with 2, and says why without the token, when', () => {
  it.each<[string, () => Promise<number>, string]>([
    ['there is no token', () => run('plan', { tokenFile: null }), "an administrator's token is needed"],
    ['its file is missing', () => run('plan', { tokenFile: join(dir, 'none') }), '/none cannot be read (ENOENT)'],
    [
      'the authority is none',
      () => run('plan', { jwksCaFile: join(dir, 'token') }),
      '/token has no certificate in PEM',
    ],
    [
      'the secretstore refuses the token',
      () => run('apply', { tokenFile: null, environment: { BAO_TOKEN: 'canaries' } }),
      'secretstore: read of sys/mounts answered 403 (permission denied)',
    ],
    [
      'the secretstore is away',
      () => run('plan', {}, 'https://127.0.0.1:1'),
      'secretstore: read of sys/mounts: ECONNREFUSED',
    ],
  ])('%s', async (_when, ended, why) => {
    expect(await ended()).toBe(2);
    expect(lines).toEqual([expect.stringContaining(why)]);
    expect(lines.join()).not.toContain('canar');
  });

  it('a mount is of another kind', async () => {
    objects.set('sys/auth/jwt-tenancy', { type: 'userpass' });
    expect(await run('apply')).toBe(2);
    expect(lines.at(-1)).toBe(
      'auth method jwt-tenancy exists with type "userpass": move it away, or change it to what deployd needs',
    );
  });

  it('the secretstore cannot fetch the keys', async () => {
    await run('apply');
    objects.delete('auth/jwt-tenancy/config');
    server.answerNext('POST', { status: 400, body: { errors: ['error checking jwks URL'] } });
    expect(await run('apply')).toBe(2);
    expect(lines.at(-1)).toMatch(/\(error checking jwks URL\); the secretstore must reach https:.*--static-keys$/);
  });
});
