import { checkLines } from '../../../../fixtures/spec/checkLines.ts';
import { fileFacts, modeIsWrong } from '../../../../fixtures/spec/fileFacts.ts';
import type { FileFacts, ProgramUser } from '../../../platform/host/hostFacts.ts';
import { checkCredentialFiles } from './credentialFilesCheck.ts';

const agent: ProgramUser = { name: 'deployd', uid: 900, gids: [900] };

const hidden = fileFacts(0, { found: 'hidden' });
const missing = fileFacts(0, { found: null });
const grant = (mode: number, more: Partial<FileFacts> = {}) => fileFacts(mode, { path: '/a/grant', ...more });

const credentials = (token: FileFacts, other: FileFacts) => checkLines(checkCredentialFiles(token, other, agent));
const unknown = ['credential files: unknown', 'they are not for this user: use sudo'];

it.each<[string, string[], string[]]>([
  ['pass', credentials(fileFacts(0o600), grant(0o600)), ['credential files: passed', '/a/file, /a/grant']],
  [
    'are missing, which other checks judge',
    credentials(missing, grant(0, { found: null, readable: false })),
    ['credential files: passed', ''],
  ],
  ['have a hidden token', credentials(hidden, grant(0o600)), unknown],
  ['have a hidden grant', credentials(fileFacts(0o600), grant(0, { found: 'hidden' })), unknown],
  [
    'are open to others, and the grant is closed to the agent',
    credentials(fileFacts(0o604), grant(0o640, { readable: false })),
    [
      ...['credential files: failed', '/a/file, /a/grant'],
      ...[...modeIsWrong('/a/file', '0604', 600), ...modeIsWrong('/a/grant', '0640', 600)],
      ...['deployd cannot read the grant /a/grant', 'sudo chown deployd: /a/grant'],
    ],
  ],
  [
    'are a token that only others may read',
    credentials(fileFacts(0o007), missing),
    ['credential files: failed', '/a/file', ...modeIsWrong('/a/file', '0007', 600)],
  ],
])('the credential files %s', (_name, lines, expected) => {
  expect(lines).toEqual(expected);
});
