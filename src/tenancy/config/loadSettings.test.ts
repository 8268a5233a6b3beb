import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { asNobody } from '../../../fixtures/world/users.ts';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import { configTable } from './configKeys.ts';
import { parseListenAddress } from './loadSettings.ts';
import { loadSettings } from './loadSettings.ts';

let dir: string;
let file: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tenancy config '));
  file = join(dir, 'config.yaml');
});
afterEach(() => rm(dir, { recursive: true }));

const required = ['public_url: https://tenancy.example/', 'secretstore_url: https://bao.example:8200'];
const withTls = ['tls:', '  certificate_file: /etc/tls/cert.pem', '  key_file: /etc/tls/key.pem'];

describe('a valid file', () => {
  it('needs only the two addresses, and has every key', async () => {
    const settings = await load();
    expect(settings).toMatchObject({
      public_url: 'https://tenancy.example',
      listen: '127.0.0.1:8443',
      tls: { certificate_file: null, key_file: null },
      key_file: '/var/lib/deployd-tenancy/store.key',
      s3: { url: null, region: 'us-east-1' },
      limits: { bundle_bytes: 268_435_456, unpacked_bytes: 1_073_741_824, bundle_entries: 10_000 },
      log: { level: 'info' },
    });
    const keys = (Object.entries(settings) as [string, unknown][]).flatMap(([key, value]) =>
      typeof value === 'object' && value !== null ? Object.keys(value).map((leaf) => `${key}.${leaf}`) : [key],
    );
    expect(keys.toSorted()).toEqual(configTable.names.toSorted());
  });

  it('keeps the key file in the state directory by default', async () => {
    expect((await load('state_dir: /srv/tenancy')).key_file).toBe('/srv/tenancy/store.key');
    expect((await load('state_dir: /srv/tenancy', 'key_file: /etc/key')).key_file).toBe('/etc/key');
  });

  it('loses trailing slashes of all addresses, and is deeply frozen', async () => {
    const settings = await load(
      's3: { url: "https://s3.example//", bucket: b, credentials_file: /c }',
      'mesh: { controller_url: https://ziti.example/, credentials_file: /z }',
      'kit: { base_url: https://packages.example/x/, secretstore_url: http://secretstore/ }',
    );
    expect(settings.s3.url).toBe('https://s3.example');
    expect(settings.mesh.controller_url).toBe('https://ziti.example');
    expect(settings.kit).toMatchObject({
      base_url: 'https://packages.example/x',
      secretstore_url: 'http://secretstore',
    });
    expect(
      [settings, settings.tls, settings.s3, settings.mesh, settings.kit].every((part) => Object.isFrozen(part)),
    ).toBe(true);
  });

  it.each([
    ['127.0.0.1:8443', { host: '127.0.0.1', port: 8443 }],
    ['[::1]:1', { host: '::1', port: 1 }],
    ['localhost:65535', { host: 'localhost', port: 65_535 }],
  ])('may listen without TLS on %s', async (listen, parts) => {
    expect(parseListenAddress((await load(`listen: '${listen}'`)).listen)).toEqual(parts);
  });

  it.each(['0.0.0.0:443', '[::]:8443', '10.0.0.7:80'])('may listen with TLS on %s', async (listen) => {
    expect((await load(`listen: '${listen}'`, ...withTls)).listen).toBe(listen);
  });

  it('accepts certificate files', async () => {
    const pem = join(dir, 'ca.pem');
    await writeFile(pem, rootCertificates[0]!);
    const settings = await load(
      `secretstore_ca: ${pem}`,
      'mesh:',
      '  controller_url: https://z.example',
      '  credentials_file: /z',
      `  controller_ca: ${pem}`,
    );
    expect(settings).toMatchObject({ secretstore_ca: pem, mesh: { controller_ca: pem } });
  });
});

describe('reports a problem with its line', () => {
  const anAddress = 'must be an IP address and a port, such as 127.0.0.1:8443 or [::]:443';
  const aUrl = 'must be an https:// URL without credentials, query and fragment';
  const noRedirect =
    ':3: s3.redirect: needs an https:// s3.url of another origin than public_url, which hosts send their bearer to';
  const onlyLoopback =
    'must be a loopback address, such as 127.0.0.1:8443, or tls.certificate_file and tls.key_file or tls.own_authority be given';

  it.each([
    [['listen: tenancy.example:443'], `:3: listen: ${anAddress}`],
    [['listen: 127.0.0.1'], `:3: listen: ${anAddress}`],
    [["listen: '[::]:0'"], `:3: listen: ${anAddress}`],
    [["listen: '127.0.0.1:65536'"], `:3: listen: ${anAddress}`],
    [["listen: '[::]:443'"], `:3: listen: ${onlyLoopback}`],
    [['listen: 127.0.0.1.example:1'], `:3: listen: ${anAddress}`],
    [['tls: { key_file: /k }'], ':3: tls.certificate_file: is required beside tls.key_file'],
    [
      ['s3:', '  bucket: b'],
      ':3: s3.url: is required beside s3.bucket',
      ':3: s3.credentials_file: is required beside s3.bucket',
    ],
    [
      ['s3:', '  bucket: b', '  url: http://s3.example'],
      ':3: s3.credentials_file: is required beside s3.url and s3.bucket',
      `:5: s3.url: ${aUrl}; http:// is allowed to loopback`,
    ],
    [
      ['traces: { otlp_endpoint: http://collector.example/v1/traces }'],
      `:3: traces.otlp_endpoint: ${aUrl}; http:// is allowed to loopback`,
    ],
    [['s3: { redirect: true }'], ':3: s3.redirect: needs s3.url'],
    [['s3: 5'], ':3: s3: must be a section with keys of url, bucket, region, credentials_file, redirect'],
    [["s3: { url: 'https://tenancy.example/s3', bucket: b, credentials_file: /c, redirect: true }"], noRedirect],
    [["s3: { url: 'http://127.0.0.1:9000', bucket: b, credentials_file: /c, redirect: true }"], noRedirect],
    [['mesh: { credentials_file: /z }'], ':3: mesh.controller_url: is required beside mesh.credentials_file'],
    [
      ["oidc: { issuer_url: 'http://127.0.0.1', client_id: a, client_secret_file: /s, scopes: [email] }"],
      `:3: oidc.issuer_url: ${aUrl}`,
      ':3: oidc.roles: must name a group beside oidc.issuer_url: nobody could sign in',
      ':3: oidc.scopes: must have `openid`',
    ],
    [
      ['oidc: { issuer_url: https://id.example, roles: [{ group: ops, role: admin }] }'],
      ':3: oidc.client_id: is required beside oidc.issuer_url',
      ':3: oidc.client_secret_file: is required beside oidc.issuer_url',
    ],
    [['oidc: { issuer_ca: /nowhere.pem }'], ':3: oidc.issuer_ca: must be a readable PEM file; /nowhere.pem is missing'],
    [['secretstore_ca: /nowhere.pem'], ':3: secretstore_ca: must be a readable PEM file; /nowhere.pem is missing'],
    [
      ['mesh:', '  controller_url: https://z.example', '  credentials_file: /z', '  controller_ca: /dev/null'],
      ':6: mesh.controller_ca: must be a readable PEM file; /dev/null is unreadable (ENOTREG)',
    ],
    [['lisen: 127.0.0.1:1'], ':3: lisen: unknown key; the nearest known key is listen'],
    [['kit: { vresion: 1 }'], ':3: kit.vresion: unknown key; the nearest known key is version under kit'],
    [['offline_after_s: 5'], ':3: offline_after_s: must be a whole number of seconds from 60 to 86400'],
    [
      ['offline_after_s: 600', 'laptop_offline_after_s: 599', 'retire_timeout_s: 300'],
      ':3: offline_after_s: must be at most laptop_offline_after_s (599): a laptop may be silent for at least as long as a server',
      ':3: offline_after_s: must be at most retire_timeout_s (300): otherwise the retirement of a host that checks in continues before the host is taken down',
    ],
    [
      ['retire_timeout_s: 60'],
      ':3: retire_timeout_s: must be at least offline_after_s (100): otherwise the retirement of a host that checks in continues before the host is taken down',
    ],
    [
      ['session: { idle_s: 601, recheck_s: 602, lifetime_s: 600 }'],
      ':3: session.idle_s: must be at most session.lifetime_s (600): a session ends after lifetime_s in any case',
      ':3: session.recheck_s: must be at most session.lifetime_s (600): else the groups of a person are never checked again',
    ],
    [
      ['webhooks: { first_retry_s: 90, longest_retry_s: 80, give_up_after_s: 70 }'],
      ':3: webhooks.first_retry_s: must be at most webhooks.longest_retry_s (80): pauses grow from the first to the longest',
      ':3: webhooks.first_retry_s: must be at most webhooks.give_up_after_s (70): else an event is given up before it is tried again',
    ],
  ])('%j', async (lines, ...flaws) => {
    expect(await flawsOf([...required, ...lines])).toEqual(flaws);
  });

  it.each([
    [[], { offline_after_s: 400, laptop_offline_after_s: 86_400, retire_timeout_s: 86_400 }],
    [['retire_timeout_s: 300'], { offline_after_s: 300, laptop_offline_after_s: 86_400 }],
    [['laptop_offline_after_s: 120'], { offline_after_s: 120 }],
    [['session: { lifetime_s: 600 }'], { session: { idle_s: 600, lifetime_s: 600, recheck_s: 600 } }],
    [['session: { idle_s: 90000 }'], { session: { idle_s: 90_000, lifetime_s: 90_000, recheck_s: 900 } }],
    [['webhooks: { longest_retry_s: 2 }'], { webhooks: { first_retry_s: 2, longest_retry_s: 2 } }],
  ])('%j, which overrides its defaults', async (lines, expected) => {
    expect(await load(...lines)).toMatchObject(expected);
  });

  const signIn = 'issuer_url: https://id.example, client_id: a, client_secret_file: /s';
  const withOidc = (keys: string) => [...required, `oidc: { ${signIn}, ${keys} }`];
  const someRole = 'roles: [{ group: ops, role: admin }]';
  const someRoles =
    'must be a list of at most 100 of {group, role, envs}: role is one of viewer, deployer, admin; envs, which may be left out, are names of environments';
  const someScopes = 'must be a list of scopes, none twice';

  it.each([
    ['roles: ops', `roles: ${someRoles}`],
    ['roles: [ops]', `roles.0: ${someRoles}`],
    ['roles: [{ group: ops, role: god }]', `roles.0.role: ${someRoles}`],
    ['roles: [{ group: ops }]', `roles.0.role: is required; ${someRoles}`],
    ['roles: [{ role: admin }]', `roles.0.group: is required; ${someRoles}`],
    ['roles: [{ group: 5, role: admin }]', `roles.0.group: ${someRoles}`],
    ['roles: [{ group: "", role: admin }]', `roles.0.group: ${someRoles}`],
    ['roles: [{ group: ops, role: admin, env: eu }]', `roles.0.env: unknown key; oidc.roles ${someRoles}`],
    ['roles: [{ group: ops, role: admin, envs: eu }]', `roles.0.envs: ${someRoles}`],
    ['roles: [{ group: ops, role: admin, envs: [] }]', `roles.0.envs: ${someRoles}`],
    ['roles: [{ group: ops, role: admin, envs: [eu, eu] }]', `roles.0.envs: ${someRoles}`],
    ['roles: [{ group: ops, role: admin, envs: [EU] }]', `roles.0.envs.0: ${someRoles}`],
    ['roles: [{ group: ops, role: admin }, { role: admin, group: ops }]', `roles: ${someRoles}`],
    [`${someRole}, scopes: openid`, `scopes: ${someScopes}`],
    [`${someRole}, scopes: []`, `scopes: ${someScopes}`],
    [`${someRole}, scopes: [openid, openid]`, `scopes: ${someScopes}`],
    [`${someRole}, scopes: [openid, 5]`, `scopes.1: ${someScopes}`],
    [`${someRole}, scopes: [openid, "a b"]`, `scopes.1: ${someScopes}`],
  ])('of the sign-in: %s', async (keys, flaw) => {
    expect(await flawsOf(withOidc(keys))).toEqual([`:3: oidc.${flaw}`]);
  });

  it.each(['viewer', 'deployer', 'admin'])('accepts %s as a role, for all environments or for some', async (role) => {
    const roles = `roles: [{ group: ops, role: ${role} }, { group: ops, role: ${role}, envs: [eu, us] }]`;
    expect(await flawsOf(withOidc(`${roles}, scopes: [openid, 'a:b']`))).toEqual([]);
  });

  it('of a public_url without https, for which browsers would not keep the session cookie', async () => {
    const [, ...others] = withOidc(someRole);
    expect(await flawsOf(['public_url: http://127.0.0.1:8443', ...others])).toEqual([
      ':3: oidc.issuer_url: needs an https:// public_url, for the cookie of a session',
    ]);
    expect(await flawsOf(others)).toEqual([`: public_url: is required; ${aUrl}`]);
  });

  it('of a public_url with a path, which hosts can use but the console cannot', async () => {
    const [, ...others] = withOidc(someRole);
    const below = 'public_url: https://example.org/deployd';
    expect(await flawsOf([below, ...others])).toEqual([
      ':3: oidc.issuer_url: needs a public_url without a path: the console is at /console/ of its host',
    ]);
    expect(await flawsOf(['public_url: https://example.org/', ...others])).toEqual([]);
    expect(await flawsOf([below, ...required.slice(1)])).toEqual([]);
  });

  it.each(['http://tenancy.example', 'http://127.0.0.1.example'])('of the unencrypted address %s', async (url) => {
    expect(await flawsOf([`public_url: ${url}`, `secretstore_url: ${url}`])).toEqual([
      `:1: public_url: ${aUrl}; http:// is allowed to loopback`,
      `:2: secretstore_url: ${aUrl}; http:// is allowed to loopback`,
    ]);
  });

  it('accepts redirects to a bucket of another origin', async () => {
    const lines = ["s3: { url: 'https://s3.example', bucket: b, credentials_file: /c, redirect: true }"];
    expect(await flawsOf([...required, ...lines])).toEqual([]);
    expect(await flawsOf([...required.filter((line) => !line.startsWith('public_url')), ...lines])).toEqual([
      expect.stringMatching(/^: public_url: is required/),
    ]);
  });

  it('accepts http to loopback', async () => {
    expect(await flawsOf(['public_url: http://127.0.0.1:8443', 'secretstore_url: http://localhost:8200'])).toEqual([]);
  });

  it('even if another value is invalid', async () => {
    expect(await flawsOf([...required, "listen: '[::]:443'", 'tls: 5'])).toEqual([
      ':4: tls: must be a section with keys of certificate_file, key_file, own_authority',
    ]);
    expect(await flawsOf([...required, 'mesh: 5'])).toEqual([
      ':3: mesh: must be a section with keys of controller_url, controller_ca, credentials_file',
    ]);
  });
});

describe('refuses the file', () => {
  it('if it holds no keys, with an example', async () => {
    expect(await flawsOf(['- public_url'])).toEqual([
      ':1: must hold keys, such as `public_url: https://tenancy.example`',
    ]);
  });

  it('if it is missing, with the option that sets its path', () => {
    expect(flaws()).toEqual([': does not exist; write it, or name another file with --config']);
  });

  it('if this user cannot read it, naming the users who can', async () => {
    await writeFile(file, required.join('\n'));
    await chmod(file, 0);
    const [flaw] = await asNobody(async () => flaws());
    expect(flaw).toBe(
      ': is not readable by this user; it belongs to root and group deployd-tenancy with mode 0640, so run as root or deployd-tenancy',
    );
  });
});

async function load(...more: string[]) {
  await writeFile(file, [...required, ...more].join('\n'));
  return loadSettings(file);
}

/** Returns the part of every line after the file name. */
async function flawsOf(lines: string[]): Promise<string[]> {
  await writeFile(file, lines.join('\n'));
  return flaws();
}

function flaws(): string[] {
  try {
    loadSettings(file);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    return error.lines.map((line) => line.replace(`CONFIG_INVALID: ${file}`, ''));
  }
}
