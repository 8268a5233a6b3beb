import { defaultPolicy } from '../../api/hostPolicy.rules.ts';
import { policySummary } from './status.rules.ts';

it.each([
  [{}, ''],
  [{ permit: { privileged: ['a', 'b'] } }, 'permits privileged a, b (root on the host)'],
  [{ permit: { binds: [] }, images: 'digest' as const }, 'images by digest'],
  [
    { permit: { engine_socket: ['traefik'], binds: ['/srv/a', '/srv/b:ro'] }, deny: ['privileged', 'purge'] as const },
    'permits binds /srv/a, /srv/b:ro; engine_socket traefik (root on the host); denies privileged, purge',
  ],
])('the policy %j in a line', (policy, line) => {
  expect(policySummary({ ...defaultPolicy, ...policy })).toBe(line);
});
