import { mergeDefaults } from '../../core/config/keyTable.ts';
import { validateKeys, parseYamlSource } from '../../core/config/configFile.ts';
import { configTable } from './configKeys.ts';
import { validate } from './configValidator.ts';

const required = [
  'env: eu-1',
  'site: berlin',
  'transport: system',
  'tenancy_url: https://tenancy.example',
  'secretstore_url: https://secretstore.example',
];
const aName = 'must be a name of 1 to 253 characters in one line';
const aSocket = 'must be `unix://` and the absolute path of a socket';
const aListener =
  'must be `http://127.0.0.1:PORT`, `http://[::1]:PORT`, or `unix://` and the absolute path of a socket';
const anEnv = 'must be 1 to 63 lower-case letters, digits and hyphens, the first not a hyphen';
const trustParts = {
  threshold: 'a whole number of signers, from 1 to 128',
  keys: 'a list of at most 64 PEM files, each an absolute path',
  identities: 'a list of at most 64 of {issuer, subject}; a subject may end in "*" after "@refs/tags/"',
  root: 'an absolute path',
};
const rules =
  'a list of at most 64 of the same keys with repository (a registry or a path in it, such as ghcr.io/acme) and signed_as (the repository that signatures name instead, "*" for any)';
const aTrustOf = (parts: object) =>
  `must be a mapping with the keys ${Object.entries(parts)
    .map(([key, allowed]) => `${key} (${allowed})`)
    .join(', ')}`;
const theTrusts = [
  ['trust.bundles', aTrustOf(trustParts)],
  ['trust.images', aTrustOf({ ...trustParts, rules })],
] as const;
const aPart = (name: keyof typeof trustParts) => `must be ${trustParts[name]}`;

it.each([
  ['interval_s: 0', 'interval_s', 'must be a whole number of seconds from 1 to 86400'],
  ['offline_alarm_s: 0', 'offline_alarm_s', 'must be a whole number of seconds from 1 to 31536000'],
  ['interval_s: 1.5', 'interval_s', 'must be a whole number of seconds from 1 to 86400'],
  ['interval_s: "60"', 'interval_s', 'must be a whole number of seconds from 1 to 86400'],
  ['port: 65536', 'port', 'must be a whole number from 1 to 65535'],
  ['laptop_mode: yes', 'laptop_mode', 'must be true or false'],
  ['heal:', 'heal', 'must be true or false'],
  ['volumes_on_absent: drop', 'volumes_on_absent', 'must be one of keep, purge'],
  ['volumes_on_absent: 5', 'volumes_on_absent', 'must be one of keep, purge'],
  ['keep_releases: 0', 'keep_releases', 'must be a whole number of releases from 1 to 1000'],
  ['container_host: tcp://127.0.0.1:2375', 'container_host', aSocket],
  ['container_host: unix://run/docker.sock', 'container_host', aSocket],
  ['state_dir: var/lib', 'state_dir', 'must be an absolute path'],
  ['state_dir: 5', 'state_dir', 'must be an absolute path'],
  ['state_dir: "/a\\n"', 'state_dir', 'must be an absolute path'],
  ['compose: docker-compose', 'compose', 'must be `auto` or an absolute path'],
  ['disk: 5', 'disk', 'must be a section with keys of headroom_bytes, paths'],
  ['disk: { headroom_bytes: -1 }', 'disk.headroom_bytes', 'must be a whole number of bytes, 0 or more'],
  ['disk: { headroom_bytes: 1e300 }', 'disk.headroom_bytes', 'must be a whole number of bytes, 0 or more'],
  ['limits: { bundle_entries: 0 }', 'limits.bundle_entries', 'must be a whole number of entries, 1 or more'],
  ['disk: { paths: /a }', 'disk.paths', 'must be a list of absolute paths, none twice'],
  ['disk: { paths: [/a, /a] }', 'disk.paths', 'must be a list of absolute paths, none twice'],
  ['disk: { paths: [/a, b] }', 'disk.paths.1', 'must be a list of absolute paths, none twice'],
  ['secretstore_role:', 'secretstore_role', aName],
  ['secretstore_role: " a"', 'secretstore_role', aName],
  ['secretstore_role: "a\\tb"', 'secretstore_role', aName],
  ['secretstore_namespace: ""', 'secretstore_namespace', aName],
  ['tenancy_ca: ca.pem', 'tenancy_ca', 'must be an absolute path'],
  ['secretstore_role: [a]', 'secretstore_role', aName],
  ['secretstore_role: 12', 'secretstore_role', `${aName}; put it in quotes`],
  ['secretstore_role: true', 'secretstore_role', `${aName}; put it in quotes`],
  ['metrics: { listen: "http://127.0.0.1:0" }', 'metrics.listen', aListener],
  ['metrics: { listen: "http://[::1]:65536" }', 'metrics.listen', aListener],
  ['metrics: { listen: "http://localhost:9469" }', 'metrics.listen', aListener],
  ['log.level: debug', 'log.level', 'unknown key; the nearest known key is level under log'],
  ['log: { levl: debug }', 'log.levl', 'unknown key; the nearest known key is level under log'],
  ['trust: { image: {} }', 'trust.image', 'unknown key; the nearest known key is images under trust'],
  [
    'trust: { bundles: { threshold: none, keys: [/a] } }',
    'trust.bundles.threshold',
    'must be a whole number of signers, from 1 to 128',
  ],
  [
    'trust: { images: { keys: [a] } }',
    'trust.images.keys.0',
    'must be a list of at most 64 PEM files, each an absolute path',
  ],
  ['lgo: {}', 'lgo', 'unknown key; the nearest known key is log'],
  ['levl: debug', 'levl', 'unknown key; the nearest known key is level under log'],
  ['disk: { interval: 5 }', 'disk.interval', 'unknown key; the nearest known key is interval_s'],
])('%s is reported with its line and the allowed values', (line, key, message) => {
  expect(problemsOf([...required, line])).toEqual([{ line: 6, key, message }]);
});

it.each([
  ['5', '', 'a trust'],
  ['{ key: [/a] }', '.key', 'unknown'],
  ['{ threshold: 0 }', '.threshold', aPart('threshold')],
  ['{ threshold: 129 }', '.threshold', aPart('threshold')],
  ['{ threshold: "1" }', '.threshold', aPart('threshold')],
  ['{ root: root.json }', '.root', aPart('root')],
  ['{ keys: /a }', '.keys', aPart('keys')],
  ['{ keys: [a] }', '.keys.0', aPart('keys')],
  ['{ keys: [/a, /a] }', '.keys', aPart('keys')],
  ['{ identities: {} }', '.identities', aPart('identities')],
  ['{ identities: [i] }', '.identities.0', aPart('identities')],
  ['{ identities: [{ subject: s }] }', '.identities.0.issuer', `is required; ${aPart('identities')}`],
  ['{ identities: [{ issuer: i }] }', '.identities.0.subject', `is required; ${aPart('identities')}`],
  ['{ identities: [{ issuer: i, subject: s, name: n }] }', '.identities.0.name', 'unknown'],
  ['{ identities: [{ issuer: 1, subject: s }] }', '.identities.0.issuer', aPart('identities')],
  ['{ identities: [{ issuer: i, subject: "s " }] }', '.identities.0.subject', aPart('identities')],
  ['{ identities: [{ issuer: i, subject: "s\\u200bs" }] }', '.identities.0.subject', aPart('identities')],
  ['{ identities: [{ issuer: i, subject: s }, { subject: s, issuer: i }] }', '.identities', aPart('identities')],
])('the trust %s is reported with the allowed values', (trust, key, message) => {
  for (const [name, aTrust] of theTrusts) {
    const told = message.replace('a trust', aTrust).replace('unknown', `unknown key; ${name} ${aTrust}`);
    expect(problemsOf([...required, `trust: { ${name.slice(6)}: ${trust} }`])).toEqual([
      { line: 6, key: `${name}${key}`, message: told },
    ]);
  }
});

it.each([
  ['ghcr.io/acme', true],
  ['registry.example:5000', true],
  ['localhost/web', true],
  ['docker.io/library/web_site', true],
  ['acme/web', false],
  ['ghcr.io/acme/', false],
  ['ghcr.io/acme:1', false],
  ['https://ghcr.io', false],
])('a rule for the images of %s is valid: %s', (repository, isValid) => {
  const problems = problemsOf([
    ...required,
    `trust: { images: { rules: [{ repository: "${repository}", keys: [/a] }] } }`,
  ]);
  expect(problems).toEqual(
    isValid ? [] : [{ line: 6, key: 'trust.images.rules.0.repository', message: `must be ${rules}` }],
  );
});

it.each([
  ['https://git.example/a/b.yml@refs/tags/*', true],
  ['https://git.example/a/b.yml@refs/tags/v1.*', true],
  ['https://git.example/a/*', false],
  ['*@example.com', false],
  ['https://git.example/a/b.yml@refs/tags/*.1', false],
])('the subject %s is valid: %s', (subject, isValid) => {
  const identity = `{ issuer: i, subject: "${subject}" }`;
  const problems = problemsOf([...required, `trust: { bundles: { identities: [${identity}], root: /r } }`]);
  expect(problems.map(({ key }) => key)).toEqual(isValid ? [] : ['trust.bundles.identities.0.subject']);
});

const windowParts = {
  days: 'a list of mon, tue, wed, thu, fri, sat, sun, none twice',
  start: 'a time of day such as "08:30"',
  minutes: 'a whole number from 1 to 1440',
  time_zone: 'a time zone such as Europe/Berlin',
};
const windows = `must be a list of at most 32 mappings with the keys ${Object.entries(windowParts)
  .map(([key, allowed]) => `${key} (${allowed})`)
  .join(', ')}`;

it.each([
  ['{}', '', windows],
  ['[mon]', '.0', windows],
  ['[{ days: [monday], start: "08:30", minutes: 1, time_zone: UTC }]', '.0.days.0', `must be ${windowParts.days}`],
  ['[{ days: [mon, mon], start: "08:30", minutes: 1, time_zone: UTC }]', '.0.days', `must be ${windowParts.days}`],
  ['[{ days: [mon], start: "24:00", minutes: 1, time_zone: UTC }]', '.0.start', `must be ${windowParts.start}`],
  ['[{ days: [mon], start: "08:30", minutes: 0, time_zone: UTC }]', '.0.minutes', `must be ${windowParts.minutes}`],
  ['[{ days: [mon], start: "08:30", minutes: 1 }]', '.0.time_zone', `is required; must be ${windowParts.time_zone}`],
  [
    '[{ days: [mon], start: "08:30", minutes: 1, time_zone: UTC, day: mon }]',
    '.0.day',
    `unknown key; apply.windows ${windows}`,
  ],
])('the windows %s are reported with the values that are allowed in that place', (list, key, message) => {
  const problem = { line: 6, key: `apply.windows${key}`, message };
  expect(problemsOf([...required, `apply: { windows: ${list} }`])).toEqual([problem]);
});

it.each([
  'trust: { bundles: { threshold: 128, keys: [/a, /b], identities: [{ issuer: i, subject: s t }], root: /r } }',
  'secretstore_namespace:',
  'secretstore_namespace: a b',
  'compose: /usr/bin/docker-compose',
  'disk: { headroom_bytes: 0, paths: [/a, /b] }',
  'port: 65535',
  'metrics: { listen: "http://[::1]:65535" }',
  'limits:',
])('%s is valid', (line) => {
  expect(problemsOf([...required, line])).toEqual([]);
});

it.each(['EU-1', '-a', 'a_b', 'a'.repeat(64), '../x', 'é', "''"])('env %s is refused', (env) => {
  expect(problemsOf([`env: ${env}`, ...required.slice(1)])).toEqual([{ line: 1, key: 'env', message: anEnv }]);
});

it.each([
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['toString', 'toString'],
  ['1', '1'],
  ['~', ''],
  ['a/b~c', 'a/b~c'],
])('reports %s as an unknown key', (written, key) => {
  expect(problemsOf([...required, `${written}: 1`])).toEqual([
    {
      line: 6,
      key,
      message: expect.stringMatching(/^unknown key; the nearest known key is \w+( under \w+)?$/) as string,
    },
  ]);
});

it('reports each required key that is missing, without a line', () => {
  expect(problemsOf(required.slice(2))).toEqual([
    { line: null, key: 'env', message: `is required; ${anEnv}` },
    { line: null, key: 'site', message: `is required; ${aName}` },
  ]);
});

function problemsOf(lines: string[]) {
  const source = parseYamlSource(lines.join('\n'));
  const merged = mergeDefaults(configTable, source.values as Record<string, unknown>);
  return validateKeys({ table: configTable, validate }, merged, source);
}
