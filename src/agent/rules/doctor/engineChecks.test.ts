import { checkLines } from '../../../../fixtures/spec/checkLines.ts';
import type { Check } from './diagnosis.ts';
import type { ProgramUser, FileFacts } from '../../../platform/host/hostFacts.ts';
import { checkComposeProgram, checkDiskSpace, checkEngine, type DiskSpaceFacts } from './engineChecks.ts';

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

it('the compose program is there, or missing', () => {
  expect(checkLines(checkComposeProgram(null))).toEqual(['compose: passed', 'v2, new enough']);
  expect(checkLines(checkComposeProgram('no compose'))).toEqual([
    ...['compose: failed', 'missing or too old'],
    ...['no compose', 'sudo apt-get install docker-compose-plugin'],
  ]);
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
      ...['disk: failed', '1.9 GiB free on /var/lib/docker, /srv; 0.0 GiB free on /var/lib/deployd'],
      ...['1.9 GiB free on /var/lib/docker, /srv, 2.0 GiB must be', 'sudo docker system prune'],
      ...['0.0 GiB free on /var/lib/deployd, 0.1 GiB must be', 'sudo du -xsh /var/lib/deployd/*'],
    ],
  ],
  [
    'cannot be determined',
    checkDiskSpace({ known: [images(null)] }),
    [
      ...['disk: failed', 'an unknown amount free on /var/lib/docker, /srv'],
      ...['cannot tell how much is free on /var/lib/docker, /srv', 'df -h /var/lib/docker /srv'],
    ],
  ],
])('the free space %s', (_name, check, lines) => {
  expect(checkLines(check)).toEqual(lines);
});
