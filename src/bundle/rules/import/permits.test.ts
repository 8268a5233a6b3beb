import { parse } from 'yaml';
import { permitLines, permitsOf } from './permits.ts';

it('needs no more than the powers, each once', () => {
  const permits = permitsOf([
    { permit: 'engine_socket', entry: 'traefik' },
    { permit: 'binds', entry: '/srv/b', isWritable: false },
    { permit: 'binds', entry: '/srv/a', isWritable: true },
    { permit: 'binds', entry: '/srv/a', isWritable: false },
    { permit: 'binds', entry: '/srv/a', isWritable: true },
  ]);
  expect(permits).toEqual({ binds: ['/srv/a', '/srv/b:ro'], engine_socket: ['traefik'] });
});

it('is written as config.yaml has it', () => {
  const permits = { binds: ['/srv/a: #b', '/srv/*'], networks: ['proxy', 'no', '5'] };
  expect(parse(permitLines(permits).join('\n'))).toEqual({ policy: { permit: permits } });
  expect(permitLines({})).toEqual([]);
});
