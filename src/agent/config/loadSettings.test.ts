import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { asNobody } from '../../../fixtures/world/users.ts';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import { loadSettings } from './loadSettings.ts';

let dir: string;
let file: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'config-'));
  file = join(dir, 'config.yaml');
});
afterEach(() => rm(dir, { recursive: true }));

const required = [
  'env: eu-1',
  'site: berlin',
  'transport: system',
  'tenancy_url: https://tenancy.example',
  'secretstore_url: https://secretstore.example:8200/',
];

describe('a valid file', () => {
  it('needs only the required keys', async () => {
    expect(await load()).toMatchObject({
      env: 'eu-1',
      site: 'berlin',
      port: 443,
      secretstore_role: 'deploy-agent',
      mesh: { identity_file: '/opt/mesh/etc/identities/deployd-host.eu-1.json' },
      disk: { headroom_bytes: 2_147_483_648, paths: [] },
      limits: { bundle_bytes: 268_435_456, unpacked_bytes: 1_073_741_824, bundle_entries: 10_000 },
      interval_s: 60,
      keep_releases: 2,
      laptop_mode: false,
      production: false,
      heal: true,
      on_failure: 'revert',
      drift: 'heal',
      orchestrator: 'compose',
      volumes_on_absent: 'keep',
      log: { format: 'auto', level: 'info' },
    });
  });

  it('keeps the defaults of the other keys of a section, and of an empty section', async () => {
    const settings = await load('disk: { headroom_bytes: 0 }', 'limits:');
    expect(settings.disk).toEqual({ headroom_bytes: 0, paths: [] });
    expect(settings.limits.bundle_entries).toBe(10_000);
  });

  it.each([
    [[], { settle_s: 10, health_timeout_s: 300, connect_timeout_s: 10, http_timeout_s: 30 }],
    [['health_timeout_s: 5'], { settle_s: 2 }],
    [['health_timeout_s: 1'], { settle_s: 0 }],
    [['settle_s: 600'], { health_timeout_s: 1200 }],
    [['settle_s: 9', 'health_timeout_s: 10'], { settle_s: 9, health_timeout_s: 10 }],
    [['http_timeout_s: 5'], { connect_timeout_s: 5 }],
    [['connect_timeout_s: 60'], { http_timeout_s: 60 }],
    [['download_timeout_s: 20'], { download_stall_s: 20 }],
    [['health_timeout_s: 7200'], { health_timeout_max_s: 7200 }],
    [['health_timeout_max_s: 100'], { health_timeout_s: 100 }],
  ])('has defaults that fit %j', async (lines, expected) => {
    expect(await load(...lines)).toMatchObject(expected);
  });

  it.each([
    [
      ['settle_s: 10', 'health_timeout_s: 10'],
      'settle_s: must be less than health_timeout_s (10): a container without a healthcheck that must stay up for settle_s would never be healthy in time',
    ],
    [
      ['http_timeout_s: 9', 'connect_timeout_s: 10'],
      'connect_timeout_s: must be at most http_timeout_s (9): http_timeout_s limits the whole call, with its connection',
    ],
    [
      ['health_timeout_s: 31', 'health_timeout_max_s: 30'],
      'health_timeout_s: must be at most health_timeout_max_s (30): health_timeout_max_s limits every wait for health',
    ],
    [
      ['download_stall_s: 31', 'download_timeout_s: 30'],
      'download_stall_s: must be at most download_timeout_s (30): download_timeout_s limits the whole download, with every stall',
    ],
  ])('may not contradict itself: %j', async (lines, problem) => {
    const error: unknown = await load(...lines).catch((caught: unknown) => caught);
    expect((error as ConfigInvalid).lines).toEqual([expect.stringMatching(/^CONFIG_INVALID: /)]);
    expect((error as ConfigInvalid).lines[0]).toContain(`: ${problem}`);
  });

  it('is deeply frozen', async () => {
    const settings = await load('disk: { paths: [/srv] }');
    expect([settings, settings.disk, settings.disk.paths].every((part) => Object.isFrozen(part))).toBe(true);
  });

  it('loses trailing slashes of its addresses', async () => {
    expect((await load()).secretstore_url).toBe('https://secretstore.example:8200');
  });
});

describe('addresses', () => {
  it('are completed by the port', async () => {
    expect(await load('port: 8443')).toMatchObject({ port: 8443, tenancy_url: 'https://tenancy.example:8443' });
    expect(await loadText(withTenancy('https://tenancy.example:9443'))).toMatchObject({ port: 9443 });
  });

  it.each([
    ['https://tenancy.example:9443', ':6: port: must be 9443 as in tenancy_url, or be left out'],
    [
      'http://tenancy.example',
      ':4: tenancy_url: must be an https:// URL without credentials, query and fragment; http:// is allowed to loopback and over the transports sdk and proxy',
    ],
    ['ftp://a', ':4: tenancy_url: must be an https:// URL without credentials, query and fragment'],
  ])('%s is refused', async (address, flaw) => {
    expect(await flawsOf(withTenancy(address, 'port: 8443'))).toEqual([flaw]);
  });
});

describe('keys that limit trust and what the agent runs', () => {
  it.each([
    ['trust:', 'trust: is empty; must be a section with keys of bundles, images, or be left out'],
    ['trust: { bundles: }', /^trust\.bundles: is empty; must be a mapping with the keys .*, or be left out$/],
    ['trust: { images: null }', /^trust\.images: is empty; /],
    ['policy: ~', 'policy: is empty; must be a section with keys of permit, deny, images, or be left out'],
    ['policy: { deny: }', /^policy\.deny: is empty; must be a list of .*, or be left out$/],
    ['apply:', /^apply: is empty; /],
    ['tenancy_ca:', 'tenancy_ca: is empty; must be an absolute path, or be left out'],
    ['traces: { ca: }', /^traces\.ca: is empty; /],
  ])('may not be empty: %s', async (line, flaw) => {
    const [first = '', ...others] = await flawsOf([...required, line].join('\n'));
    expect(first.replace(/^:6: /, '')).toMatch(flaw);
    expect(others).toEqual([]);
  });
});

describe('certificate files', () => {
  it('are accepted when they contain certificates', async () => {
    const pem = join(dir, 'ca.pem');
    await writeFile(pem, rootCertificates[0]!);
    expect(await load(`secretstore_ca: ${pem}`, `tenancy_ca: ${pem}`)).toMatchObject({
      secretstore_ca: pem,
      tenancy_ca: pem,
    });
  });

  it('must exist when they are named', async () => {
    expect(await flawsOf([...required, 'secretstore_ca: /nowhere/ca.pem'].join('\n'))).toEqual([
      ':6: secretstore_ca: must be a readable PEM file; /nowhere/ca.pem is missing',
    ]);
  });

  it('must be PEM', async () => {
    expect(await flawsOf([...required, 'tenancy_ca: /dev/null'].join('\n'))).toEqual([
      ':6: tenancy_ca: must be a readable PEM file; /dev/null is unreadable (ENOTREG)',
    ]);
  });

  it('may be missing at the default path', async () => {
    expect(await load()).toMatchObject({ secretstore_ca: null, tenancy_ca: null });
  });
});

describe('a file with several problems', () => {
  it('reports all of them in the order of the file, missing keys last', async () => {
    const text =
      'site: x\ntransprot: sdk\ndisk:\n  headrom_bytes: 1\nport: 0\nport: 8443\ndsk: {}\ntenancy_url: http://a.example\ntransport: system\nenv: eu-1\n';
    expect(await flawsOf(text)).toEqual([
      ':2: transprot: unknown key; the nearest known key is transport',
      ':4: disk.headrom_bytes: unknown key; the nearest known key is headroom_bytes under disk',
      ':6: port: is given twice, first in line 5',
      ':7: dsk: unknown key; the nearest known key is disk',
      ':8: tenancy_url: must be an https:// URL without credentials, query and fragment; http:// is allowed to loopback and over the transports sdk and proxy',
      ': secretstore_url: is required; must be an https:// URL without credentials, query and fragment',
    ]);
  });

  it('leaves the settings without a problem, with their defaults', async () => {
    const { name, message, validSettings } = await invalidOf('site: 5\nsecretstore_role: x\ndisk: { pats: [] }\n');
    expect({ name, message }).toEqual({
      name: 'ConfigInvalid',
      message: `CONFIG_INVALID: ${file}:1: site: must be a name of 1 to 253 characters in one line; put it in quotes`,
    });
    expect(validSettings).toMatchObject({
      secretstore_role: 'x',
      interval_s: 60,
      mesh: { identity_file: '/opt/mesh/etc/identities/deployd-host.<env>.json' },
    });
    expect(Object.keys(validSettings)).not.toContain('site');
    expect(Object.keys(validSettings)).not.toContain('disk');
    expect((await invalidOf('a: *x')).validSettings).toEqual({});
  });
});

describe('an unusable file', () => {
  it.each([
    ['env: eu-1\n---\nenv: eu-2\n', ':2: a second document begins here; only one is allowed'],
    ['- env\n', ':1: must hold keys, such as `env: eu-1`'],
    ['hello', ':1: must hold keys, such as `env: eu-1`'],
  ])('%j is reported with its line', async (text, told) => {
    expect(await flawsOf(text)).toEqual([told]);
  });

  it.each(['', '# nothing yet\n', '---\n'])('reports every required key when it is empty (%j)', async (text) => {
    expect((await flawsOf(text)).map((line) => line.split(': ')[1])).toEqual([
      'env',
      'site',
      'transport',
      'tenancy_url',
      'secretstore_url',
    ]);
  });

  it.each([
    ['missing', '/nowhere/config.yaml', 'does not exist; write it, or name another file with --config'],
    ['a directory', '/', 'is a directory; name a file with --config'],
    ['a device', '/dev/null', 'is not a regular file; name one with --config'],
    ['below a file', '/etc/passwd/config.yaml', 'cannot be read (ENOTDIR)'],
  ])('is reported with a fix when it is %s', (_, path, told) => {
    expect(errorOf(path).lines).toEqual([`CONFIG_INVALID: ${path}: ${told}`]);
  });

  it('is refused when it is not UTF-8', async () => {
    await writeFile(file, Buffer.from([0x65, 0xff, 0xfe]));
    expect(errorOf(file).lines).toEqual([`CONFIG_INVALID: ${file}: is not UTF-8 text`]);
  });

  it('is reported with a fix when this user cannot read it', async () => {
    await writeFile(file, required.join('\n'));
    await chmod(file, 0);
    const [line] = await asNobody(async () => errorOf(file).lines);
    expect(line).toBe(
      `CONFIG_INVALID: ${file}: is not readable by this user; it belongs to root and group deployd with mode 0640, so run as root or deployd`,
    );
  });
});

async function load(...more: string[]) {
  return loadText([...required, ...more].join('\n'));
}

async function loadText(text: string) {
  await writeFile(file, text);
  return loadSettings(file);
}

function withTenancy(address: string, ...more: string[]): string {
  return [...required, ...more].join('\n').replace('https://tenancy.example', address);
}

/** The part of every line after the file name. */
async function flawsOf(text: string): Promise<string[]> {
  return (await invalidOf(text)).lines.map((line) => line.replace(`CONFIG_INVALID: ${file}`, ''));
}

async function invalidOf(text: string): Promise<ConfigInvalid> {
  await writeFile(file, text);
  return errorOf(file);
}

function errorOf(path: string): ConfigInvalid {
  try {
    loadSettings(path);
  } catch (error) {
    if (error instanceof ConfigInvalid) return error;
    throw error;
  }
  throw new Error('expected ConfigInvalid');
}
