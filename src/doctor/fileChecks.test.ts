import { checkLines } from '../../fixtures/spec/checkLines.ts';
import { fileFacts, modeIsWrong } from '../../fixtures/spec/fileFacts.ts';
import type { ProgramUser } from '../platform/host/hostFacts.ts';
import type { Check } from './diagnosis.ts';
import { checkConfig, checkStateDir } from './fileChecks.ts';

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
