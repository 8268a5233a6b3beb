import { installCommand, type InstallOptions } from './kit.rules.ts';

const least: InstallOptions = {
  env: 'eu-1',
  site: 'fra',
  transport: 'system',
  tenancyUrl: 'https://tenancy.example',
  secretstoreUrl: 'https://bao.example:8200',
  secretstoreCa: null,
  baseUrl: null,
  version: null,
  meshEnrolmentJwt: null,
  reEnrol: false,
  laptop: false,
};
const addresses = '--tenancy-url https://tenancy.example --secretstore-url https://bao.example:8200';
const leastCommand = `sh install.sh --env eu-1 --site fra --transport system ${addresses} --bootstrap-file bootstrap.jwt`;

it.each<[string, Partial<InstallOptions>, string]>([
  ['nothing else', {}, ''],
  ['a laptop', { laptop: true }, ' --laptop'],
  ['a mesh', { meshEnrolmentJwt: 'eyJ.secret' }, ' --identity-jwt mesh-enrolment.jwt'],
  [
    'a mesh that may know the host',
    { meshEnrolmentJwt: 'eyJ.secret', reEnrol: true },
    ' --identity-jwt mesh-enrolment.jwt --re-enrol',
  ],
  ['no mesh, though an earlier kit had one', { reEnrol: true }, ''],
])('of %s, it names files and no credential', (_name, more, end) => {
  expect(installCommand({ ...least, ...more })).toBe(`${leastCommand}${end}`);
});

it('names everything that the service knows', () => {
  const known = { secretstoreCa: 'PEM', baseUrl: 'https://packages.example/x', version: '1.2.3+a' };
  const options =
    '--secretstore-ca secretstore-ca.pem --base-url https://packages.example/x --version 1.2.3+a --bootstrap-file bootstrap.jwt';
  expect(installCommand({ ...least, ...known })).toContain(` ${addresses} ${options}`);
});

it.each([
  ['fra', 'fra'],
  ['Az09_./:@%+=,-', 'Az09_./:@%+=,-'],
  ['', "''"],
  ['rack 7', "'rack 7'"],
  ['$(id);', "'$(id);'"],
  ['fra\n', "'fra\n'"],
  ["a'b'c", `'a'\\''b'\\''c'`],
])('takes the site %j as one word of the shell', (site, word) => {
  expect(installCommand({ ...least, site })).toContain(` --site ${word} --transport `);
});
