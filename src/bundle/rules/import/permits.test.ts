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

it('quotes what YAML would not read as text', () => {
  const networks = ['proxy', 'a-b', '_x', 'nox', 'xno', 'no', 'Yes', '5', 'a b', 'a.b'];
  expect(permitLines({ networks, volumes: ['v'] })).toEqual([
    ...[
      'policy:',
      '  permit:',
      '    networks: [proxy, a-b, _x, nox, xno, "no", "Yes", "5", "a b", "a.b"]',
      '    volumes: [v]',
    ],
  ]);
});

it('takes only the last words for those of a read-only path', () => {
  const path = { permit: 'binds', entry: '/x:ro/y' } as const;
  expect(
    permitsOf([
      { ...path, isWritable: true },
      { ...path, isWritable: false },
    ]),
  ).toEqual({ binds: ['/x:ro/y'] });
});
