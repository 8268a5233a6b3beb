import { checkLines } from '../../../../fixtures/spec/checkLines.ts';
import type { Check } from '../../../doctor/diagnosis.ts';
import type { ProgramUser, FileFacts } from '../../../platform/host/hostFacts.ts';
import { checkComposeProgram, checkEngine } from './engineChecks.ts';

const agent: ProgramUser = { name: 'deployd', uid: 900, gids: [900] };
const found = { mode: 0o660, uid: 0, gid: 1, mtime: new Date(0) };

function engine(more: Partial<FileFacts>, error: string | null = null): Check {
  const socket: FileFacts = { path: '/run/docker.sock', found, readable: true, writable: true, ...more };
  return checkEngine({ socket, group: 'docker', error }, agent);
}

const restart = 'sudo systemctl restart docker';

it.each<[string, Check, string[]]>([
  ['responds', engine({}), ['engine: passed', '/run/docker.sock']],
  [
    'has a hidden socket',
    engine({ found: 'hidden' }, 'x'),
    ['engine: unknown', '/run/docker.sock cannot be seen by this user: use sudo'],
  ],
  [
    'has no socket',
    engine({ found: null, writable: null }, 'x'),
    [
      ...['engine: failed', '/run/docker.sock'],
      ...['there is no socket /run/docker.sock', 'sudo systemctl enable --now docker'],
    ],
  ],
  [
    'has a socket that the agent may not use',
    engine({ writable: false }, 'x'),
    [
      ...['engine: failed', '/run/docker.sock'],
      ...['deployd may not use /run/docker.sock', 'sudo usermod -aG docker deployd'],
    ],
  ],
  [
    'has no socket of Podman',
    engine({ path: '/run/podman/podman.sock', found: null, writable: null }, 'x'),
    [
      ...['engine: failed', '/run/podman/podman.sock'],
      ...['there is no socket /run/podman/podman.sock', 'sudo systemctl enable --now podman.socket'],
    ],
  ],
  [
    'has a socket of the group root',
    checkEngine(
      { socket: { path: '/run/e.sock', found, readable: true, writable: false }, group: 'root', error: 'x' },
      agent,
    ),
    [
      ...['engine: failed', '/run/e.sock', 'deployd may not use /run/e.sock'],
      'give /run/e.sock and its directory a group other than root, and deployd that group: SocketGroup= of its unit',
    ],
  ],
  ['does not respond', engine({}, 'it hangs'), ['engine: failed', '/run/docker.sock', 'it hangs', restart]],
  [
    'did not respond to a user who may not be allowed to ask',
    engine({ writable: null }, 'no access'),
    ['engine: unknown', 'no access'],
  ],
  ['responds to a user of unknown rights', engine({ writable: null }), ['engine: passed', '/run/docker.sock']],
])('the engine %s', (_name, check, lines) => {
  expect(checkLines(check)).toEqual(lines);
});

it('the compose program is there, missing, or too new for Podman', () => {
  expect(checkLines(checkComposeProgram(null, '4.3.1'))).toEqual(['compose: passed', 'v2, new enough']);
  expect(checkLines(checkComposeProgram('no compose', null))).toEqual([
    ...['compose: failed', 'missing or of another version'],
    ...['no compose', 'sudo apt-get install docker-compose-plugin'],
  ]);
  expect(checkLines(checkComposeProgram('too new', '4.3.1')).at(-1)).toBe(
    'name a compose that works as compose: in config.yaml, or use a newer Podman',
  );
  expect(checkLines(checkComposeProgram('no compose', '5.4.2')).at(-1)).toBe('sudo apt-get install docker-compose');
});
