import { checkLines } from '../../fixtures/suites/spec/checkLines.ts';
import { fileFacts, modeIsWrong } from '../../fixtures/suites/spec/fileFacts.ts';
import {
  type Check,
  checkClock,
  checkConfig,
  checkDiskSpace,
  checkStateDir,
  diagnosisJson,
  diagnosisOf,
  type DiskSpaceFacts,
  formatDiagnosis,
  formatMode,
  inapplicableCheck,
  type ProgramUser,
  unknownCheck,
} from './doctor.rules.ts';

const check = (name: string, status: Check['status'], findings: Check['findings'] = []): Check => {
  return { name, status, detail: 'shown', findings };
};

it.each<[string, Check[], boolean, string[]]>([
  [
    'all checks passed',
    [check('a', 'passed'), check('long', 'not applicable')],
    true,
    ['a     ok       shown', 'long  n/a      shown', '', 'all checks passed'],
  ],
  [
    'a fault, and a check that was not possible',
    [check('a', 'failed', [{ problem: 'x\x1b', fix: 'y' }]), check('b', 'unknown')],
    false,
    ['a  FAIL     shown', '   x ', '     fix: y', 'b  unknown  shown', '', '1 fault; unknown: b'],
  ],
  [
    'several faults',
    [
      check('a', 'failed', [
        { problem: 'x', fix: 'y' },
        { problem: 'z', fix: 'u' },
      ]),
      check('b', 'passed'),
    ],
    false,
    ['a  FAIL     shown', '   x', '     fix: y', '   z', '     fix: u', 'b  ok       shown', '', '2 faults'],
  ],
  [
    'checks that were not possible',
    [check('a', 'unknown'), check('b', 'unknown')],
    false,
    ['a  unknown  shown', 'b  unknown  shown', '', 'no faults found; unknown: a, b'],
  ],
])('ends with a summary: %s', (_name, checks, passed, lines) => {
  expect(diagnosisOf(checks)).toEqual({ passed, checks });
  expect(formatDiagnosis({ passed, checks }).split('\n')).toEqual(lines);
});

it('keeps the words of the contract in JSON', () => {
  const checks = [check('a', 'passed'), check('b', 'failed', [{ problem: 'x', fix: 'y' }]), check('c', 'unknown')];
  expect(diagnosisJson(diagnosisOf([...checks, check('d', 'not applicable')]))).toBe(
    JSON.stringify(
      {
        well: false,
        checks: [
          { name: 'a', verdict: 'well', told: 'shown', findings: [] },
          { name: 'b', verdict: 'wrong', told: 'shown', findings: [{ what: 'x', fix: 'y' }] },
          { name: 'c', verdict: 'unseen', told: 'shown', findings: [] },
          { name: 'd', verdict: 'not applicable', told: 'shown', findings: [] },
        ],
      },
      null,
      2,
    ),
  );
});

it('finds nothing where it could not look, or need not', () => {
  expect(unknownCheck('a', 'away')).toEqual({ name: 'a', status: 'unknown', detail: 'away', findings: [] });
  expect(inapplicableCheck('a', 'none')).toEqual({ name: 'a', status: 'not applicable', detail: 'none', findings: [] });
});

it.each([
  [0o7, '0007'],
  [0o100_644, '0644'],
  [0o104_755, '0755'],
])('shows who may use a file: %#', (mode, text) => {
  expect(formatMode(mode)).toBe(text);
});

const now = new Date('2026-01-02T00:00:00Z');

it.each([
  [
    [60, -10],
    ['clock: passed', '60 s ahead of the services'],
  ],
  [
    [10, -61],
    [
      ...['clock: failed', '61 s behind the services'],
      ...['the clock is 61 s behind the services', 'sudo timedatectl set-ntp true'],
    ],
  ],
  [[], ['clock: unknown', 'no service reported its time']],
])('the clock with the skews %j', (skews, lines) => {
  expect(checkLines(checkClock(skews, { now, pastTimes: [] }))).toEqual(lines);
});

it('the clock is wrong without a service if a file of the host is newer', () => {
  const pastTimes = [{ what: '/var/lib/deployd/state.json', at: new Date('2026-02-01T00:00:00Z') }];
  const problem =
    'the clock of this host is wrong: it shows 2026-01-02T00:00:00Z, but /var/lib/deployd/state.json is of 2026-02-01T00:00:00Z';
  const lines = ['clock: failed', 'it shows 2026-01-02T00:00:00.000Z', problem, 'sudo timedatectl set-ntp true'];
  expect(checkLines(checkClock([], { now, pastTimes }))).toEqual(lines);
  expect(checkLines(checkClock([0], { now, pastTimes }))).toEqual(['clock: passed', '0 s behind the services']);
});

const gib = 2 ** 30;
const images = (freeBytes: number | null): DiskSpaceFacts => {
  return { paths: ['/var/lib/docker', '/srv'], freeBytes, neededBytes: 2 * gib, purpose: 'images' };
};
const state: DiskSpaceFacts = {
  paths: ['/var/lib/deployd'],
  freeBytes: 0,
  neededBytes: 64 * 2 ** 20,
  purpose: 'state',
};

it.each<[string, Check, string[]]>([
  ['is unknown', checkDiskSpace({ unknown: 'no engine' }), ['disk: unknown', 'no engine']],
  [
    'is as large as it must be',
    checkDiskSpace({ known: [images(2 * gib)] }),
    ['disk: passed', '2.0 GiB free on /var/lib/docker, /srv'],
  ],
  [
    'is too small for images and state',
    checkDiskSpace({ known: [images(2 * gib - 1), state] }),
    [
      ...['disk: failed', '1.9 GiB free on /var/lib/docker, /srv; 0.0 MiB free on /var/lib/deployd'],
      ...['1.9 GiB free on /var/lib/docker, /srv, 2.0 GiB must be', 'sudo docker image prune --all'],
      ...['0.0 MiB free on /var/lib/deployd, 64.0 MiB must be', 'sudo du -xsh /var/lib/deployd/*'],
    ],
  ],
  [
    'cannot be determined',
    checkDiskSpace({ known: [images(null)] }),
    [
      ...['disk: failed', 'an unknown amount free on /var/lib/docker, /srv'],
      ...['the free space is unknown on /var/lib/docker, /srv', 'df -h /var/lib/docker /srv'],
    ],
  ],
])('the free space %s', (_name, check, lines) => {
  expect(checkLines(check)).toEqual(lines);
});

const agent: ProgramUser = { name: 'deployd', uid: 900, gids: [900] };

const hidden = fileFacts(0, { found: 'hidden' });
const missing = fileFacts(0, { found: null });

it.each<[string, Check, string[]]>([
  ['passes', checkConfig({ file: fileFacts(0o100640), problems: [] }, agent), ['config: passed', '/a/file']],
  [
    'is not accessible',
    checkConfig({ file: hidden, problems: ['x'] }, agent),
    ['config: unknown', '/a/file is not for this user: use sudo'],
  ],
  [
    'is missing, which is a problem of the configuration',
    checkConfig({ file: missing, problems: ['no file'] }, agent),
    ['config: failed', '/a/file', 'no file', 'sudoedit /a/file'],
  ],
  [
    'is invalid, closed to the agent and open to others',
    checkConfig({ file: fileFacts(0o604, { readable: false }), problems: ['a', 'b'] }, agent),
    [
      ...['config: failed', '/a/file', 'a', 'sudoedit /a/file', 'b', 'sudoedit /a/file'],
      ...['deployd cannot read /a/file', 'sudo chgrp deployd /a/file && sudo chmod 640 /a/file'],
      ...modeIsWrong('/a/file', '0604', 640),
    ],
  ],
  [
    'is writable for the group',
    checkConfig({ file: fileFacts(0o660, { readable: null }), problems: [] }, agent),
    ['config: failed', '/a/file', ...modeIsWrong('/a/file', '0660', 640)],
  ],
])('the configuration %s', (_name, check, lines) => {
  expect(checkLines(check)).toEqual(lines);
});

it.each<[string, Check, string[]]>([
  [
    'passes',
    checkStateDir({ dir: fileFacts(0o40700), foreignEntries: [] }, agent),
    ['state directory: passed', '/a/file'],
  ],
  [
    'is not accessible',
    checkStateDir({ dir: hidden, foreignEntries: [] }, agent),
    ['state directory: unknown', '/a/file is not for this user: use sudo'],
  ],
  [
    'is missing',
    checkStateDir({ dir: missing, foreignEntries: [] }, agent),
    [
      ...['state directory: failed', '/a/file'],
      ...['/a/file does not exist', 'sudo install -d -m 0700 -o deployd -g deployd /a/file'],
    ],
  ],
  [
    'is open to the group and has an entry of another user',
    checkStateDir({ dir: fileFacts(0o40710), foreignEntries: ['/a/file/x'] }, agent),
    [
      ...['state directory: failed', '/a/file', ...modeIsWrong('/a/file', '0710', 700)],
      ...['/a/file/x does not belong to deployd', 'sudo chown -R --reference=/a/file /a/file/x'],
    ],
  ],
])('the state directory %s', (_name, check, lines) => {
  expect(checkLines(check)).toEqual(lines);
});
