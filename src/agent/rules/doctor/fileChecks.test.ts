import { checkLines } from '../../../../fixtures/spec/checkLines.ts';
import type { Check } from './diagnosis.ts';
import type { ProgramUser, FileFacts } from '../../../platform/host/hostFacts.ts';
import { checkConfig, checkCredentialFiles, checkStateDir } from './fileChecks.ts';

const agent: ProgramUser = { name: 'deployd', uid: 900, gids: [900] };

function file(mode: number, more: Partial<FileFacts> = {}): FileFacts {
  return {
    path: '/a/file',
    found: { mode, uid: 1, gid: 1, mtime: new Date(0) },
    readable: true,
    writable: true,
    ...more,
  };
}

const hidden = file(0, { found: 'hidden' });
const missing = file(0, { found: null });
const grant = (mode: number, more: Partial<FileFacts> = {}) => file(mode, { path: '/a/grant', ...more });

const modeIsWrong = (path: string, mode: string, should: number) => [
  `${path} has mode ${mode}: more users have access than should`,
  `sudo chmod ${should} ${path}`,
];

it.each<[string, Check, string[]]>([
  ['passes', checkConfig({ file: file(0o100640), problems: [] }, agent), ['config: passed', '/a/file']],
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
    checkConfig({ file: file(0o604, { readable: false }), problems: ['a', 'b'] }, agent),
    [
      ...['config: failed', '/a/file', 'a', 'sudoedit /a/file', 'b', 'sudoedit /a/file'],
      ...['deployd cannot read /a/file', 'sudo chgrp deployd /a/file && sudo chmod 640 /a/file'],
      ...modeIsWrong('/a/file', '0604', 640),
    ],
  ],
  [
    'is writable for the group',
    checkConfig({ file: file(0o660, { readable: null }), problems: [] }, agent),
    ['config: failed', '/a/file', ...modeIsWrong('/a/file', '0660', 640)],
  ],
])('the configuration %s', (_name, check, lines) => {
  expect(checkLines(check)).toEqual(lines);
});

it.each<[string, Check, string[]]>([
  ['passes', checkStateDir({ dir: file(0o40700), foreignEntries: [] }, agent), ['state directory: passed', '/a/file']],
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
    checkStateDir({ dir: file(0o40710), foreignEntries: ['/a/file/x'] }, agent),
    [
      ...['state directory: failed', '/a/file', ...modeIsWrong('/a/file', '0710', 700)],
      ...['/a/file/x does not belong to deployd', 'sudo chown -R --reference=/a/file /a/file/x'],
    ],
  ],
])('the state directory %s', (_name, check, lines) => {
  expect(checkLines(check)).toEqual(lines);
});

const credentials = (token: FileFacts, other: FileFacts) => checkLines(checkCredentialFiles(token, other, agent));
const unknown = ['credential files: unknown', 'they are not for this user: use sudo'];

it.each<[string, string[], string[]]>([
  ['pass', credentials(file(0o600), grant(0o600)), ['credential files: passed', '/a/file, /a/grant']],
  [
    'are missing, which other checks judge',
    credentials(missing, grant(0, { found: null, readable: false })),
    ['credential files: passed', ''],
  ],
  ['have a hidden token', credentials(hidden, grant(0o600)), unknown],
  ['have a hidden grant', credentials(file(0o600), grant(0, { found: 'hidden' })), unknown],
  [
    'are open to others, and the grant is closed to the agent',
    credentials(file(0o604), grant(0o640, { readable: false })),
    [
      ...['credential files: failed', '/a/file, /a/grant'],
      ...[...modeIsWrong('/a/file', '0604', 600), ...modeIsWrong('/a/grant', '0640', 600)],
      ...['deployd cannot read the grant /a/grant', 'sudo chown deployd: /a/grant'],
    ],
  ],
  [
    'are a token that only others may read',
    credentials(file(0o007), missing),
    ['credential files: failed', '/a/file', ...modeIsWrong('/a/file', '0007', 600)],
  ],
])('the credential files %s', (_name, lines, expected) => {
  expect(lines).toEqual(expected);
});
