import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { asNobody } from '../../../fixtures/world/users.ts';
import { ConfigInvalid } from './configInvalid.ts';
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
      volumes_on_absent: 'keep',
      log: { format: 'auto', level: 'info' },
    });
  });

  it('keeps the defaults of the other keys of a section, and of an empty section', async () => {
    const settings = await load('disk: { headroom_bytes: 0 }', 'limits:');
    expect(settings.disk).toEqual({ headroom_bytes: 0, paths: [] });
    expect(settings.limits.bundle_entries).toBe(10_000);
  });

  it('is deeply frozen', async () => {
    const settings = await load('disk: { paths: [/srv] }');
    expect([settings, settings.disk, settings.disk.paths].every((part) => Object.isFrozen(part))).toBe(true);
  });

  it('loses trailing slashes of its addresses', async () => {
    expect((await load()).secretstore_url).toBe('https://secretstore.example:8200');
  });
});

describe('the port of the tenancy service', () => {
  it('is added to an address without a port', async () => {
    expect(await load('port: 8443')).toMatchObject({ port: 8443, tenancy_url: 'https://tenancy.example:8443' });
  });

  it('is taken from an address that has one', async () => {
    const settings = await loadText(withTenancy('https://tenancy.example:9443/base/'));
    expect(settings).toMatchObject({ port: 9443, tenancy_url: 'https://tenancy.example:9443/base' });
  });

  it('may be written twice when both are equal', async () => {
    expect((await loadText(withTenancy('https://[::1]:443', 'port: 443'))).tenancy_url).toBe('https://[::1]');
  });

  it.each(['9443', '443'])('is refused when the address has %s and `port` differs', async (port) => {
    expect(await flawsOf(withTenancy(`https://tenancy.example:${port}`, 'port: 8443'))).toEqual([
      `:6: port: must be ${port} as in tenancy_url, or be left out`,
    ]);
  });
});

describe('addresses', () => {
  it.each([
    'https://user:pass@tenancy.example',
    'https://tenancy.example/?a=1',
    'https://tenancy.example/#a',
    'https://tenancy.example?',
    'ftp://tenancy.example',
    'https:tenancy.example',
    'https://tenancy.example:99999',
    'tenancy.example',
  ])('%s is invalid', async (address) => {
    expect(await flawsOf(withTenancy(address))).toEqual([
      ':4: tenancy_url: must be an https:// URL without credentials, query and fragment',
    ]);
  });

  it.each(['http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080'])(
    '%s is loopback',
    async (address) => {
      expect((await loadText(withTenancy(address))).tenancy_url).toBe(address);
    },
  );

  it.each(['http://tenancy.example', 'http://127.0.0.1.example', 'http://10.0.0.1'])(
    '%s needs https',
    async (address) => {
      expect((await flawsOf(withTenancy(address)))[0]).toContain(':4: tenancy_url: must be an https:// URL');
    },
  );

  it.each(['sdk', 'proxy'])('http is allowed over transport %s', async (transport) => {
    const text = withTenancy('http://tenancy.deploy').replace('system', transport);
    expect((await loadText(text)).transport).toBe(transport);
  });
});

describe('certificate files', () => {
  it('are accepted when they contain certificates', async () => {
    const pem = join(dir, 'ca.pem');
    await writeFile(pem, `comment\n${rootCertificates[0]!}\n${rootCertificates[1]!}\n`);
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

  it.each([
    '',
    'hello',
    '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    `${rootCertificates[0]!}\n-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----`,
  ])('must be PEM %#', async (content) => {
    const pem = join(dir, 'ca.pem');
    await writeFile(pem, content);
    expect(await flawsOf([...required, `tenancy_ca: ${pem}`].join('\n'))).toEqual([
      `:6: tenancy_ca: must be a readable PEM file; ${pem} is not PEM`,
    ]);
  });

  it('may be missing at the default path', async () => {
    expect(await load()).toMatchObject({ secretstore_ca: null, tenancy_ca: null });
  });
});

describe('a value that is not allowed', () => {
  it.each([
    ['interval_s: 0', 'interval_s: must be a whole number of seconds from 1 to 86400'],
    ['interval_s: 1.5', 'interval_s: must be a whole number of seconds from 1 to 86400'],
    ['interval_s: "60"', 'interval_s: must be a whole number of seconds from 1 to 86400'],
    ['port: 65536', 'port: must be a whole number from 1 to 65535'],
    ['laptop_mode: yes', 'laptop_mode: must be true or false'],
    ['volumes_on_absent: drop', 'volumes_on_absent: must be one of keep, purge'],
    ['keep_releases: 0', 'keep_releases: must be a whole number of releases from 1 to 1000'],
    ['container_host: tcp://127.0.0.1:2375', 'container_host: must be `unix://` and the absolute path of a socket'],
    ['container_host: unix://run/docker.sock', 'container_host: must be `unix://` and the absolute path of a socket'],
    ['state_dir: var/lib', 'state_dir: must be an absolute path'],
    ['compose: docker-compose', 'compose: must be `auto` or an absolute path'],
    ['disk: { headroom_bytes: -1 }', 'disk.headroom_bytes: must be a whole number of bytes, 0 or more'],
    ['limits: { bundle_entries: 0 }', 'limits.bundle_entries: must be a whole number of entries, 1 or more'],
    ['disk: 5', 'disk: must be a section with keys of headroom_bytes, paths'],
    ['disk: { paths: [/a, b] }', 'disk.paths.1: must be a list of absolute paths, none twice'],
    ['heal:', 'heal: must be true or false'],
    ['secretstore_role: 12', 'secretstore_role: must be a name of 1 to 253 characters in one line; put it in quotes'],
  ])('%s is reported with its line and the allowed values', async (line, told) => {
    expect(await flawsOf([...required, line].join('\n'))).toEqual([`:6: ${told}`]);
  });

  it.each(['EU-1', '-a', 'a_b', 'a'.repeat(64), '../x', 'é', "''"])('env %s is refused', async (env) => {
    const flaws = await flawsOf(required.join('\n').replace('eu-1', env));
    expect(flaws).toEqual([':1: env: must be 1 to 63 lower-case letters, digits and hyphens, the first not a hyphen']);
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

  it('suggests the section of a dotted key', async () => {
    expect(await flawsOf([...required, 'log.level: debug'].join('\n'))).toEqual([
      ':6: log.level: unknown key; the nearest known key is level under log',
    ]);
  });

  it.each(['__proto__', 'constructor', 'toString', '1', '~'])('reports %s as an unknown key', async (key) => {
    expect((await flawsOf([...required, `${key}: 1`].join('\n')))[0]).toMatch(/^:6: (.+: )?unknown key/);
  });
});

describe('an unusable file', () => {
  it.each([
    ['a: [1\nb: 2', ':2: not YAML: '],
    ['env: eu-1\n---\nenv: eu-2\n', ':2: a second document begins here; only one is allowed'],
    ['a: &x 1\nb: *x\n', ':2: aliases are not allowed'],
    ['env: !unknown eu-1', ':1: not YAML: Unresolved tag'],
    ['- env\n', ':1: must hold keys'],
    ['hello', ':1: must hold keys'],
  ])('%j is reported with its line', async (text, told) => {
    const [first] = await flawsOf(text);
    expect(first?.startsWith(told)).toBe(true);
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

  it('is reported with a fix when it is missing', async () => {
    expect(linesOf(file)).toEqual([
      `CONFIG_INVALID: ${file}: does not exist; write it, or name another file with --config`,
    ]);
  });

  it('is reported with a fix when it is a directory', async () => {
    expect(linesOf(dir)).toEqual([`CONFIG_INVALID: ${dir}: is a directory; name a file with --config`]);
  });

  it('is refused when it is not UTF-8', async () => {
    await writeFile(file, Buffer.from([0x65, 0xff, 0xfe]));
    expect(linesOf(file)).toEqual([`CONFIG_INVALID: ${file}: is not UTF-8 text`]);
  });

  it('is reported with a fix when this user cannot read it', async () => {
    await writeFile(file, required.join('\n'));
    await chmod(file, 0);
    const [line] = await asNobody(async () => linesOf(file));
    expect(line).toContain('is not readable by this user; it belongs to root and group deployd with mode 0640');
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
  await writeFile(file, text);
  return linesOf(file).map((line) => line.replace(`CONFIG_INVALID: ${file}`, ''));
}

function linesOf(path: string): string[] {
  try {
    loadSettings(path);
  } catch (error) {
    if (error instanceof ConfigInvalid) return error.lines;
    throw error;
  }
  throw new Error('expected ConfigInvalid');
}
