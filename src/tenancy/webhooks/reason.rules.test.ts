import { describeCause } from '../../core/failureCauses.rules.ts';
import { reasonOf } from './event.rules.ts';

const port = describeCause({ name: 'port-in-use', what: '80' });

it.each([
  [null, null],
  ['', null],
  ['failed: docker compose up failed (rc=1)', null],
  ['failed: docker compose up failed (rc=1)\ncause: migrate=exited(3)', 'migrate exited(3)'],
  [
    `failed: docker compose up failed (rc=1)\ncause: web=created, db=exited(137, out of memory): ${port}`,
    'web created, db exited(137, out of memory); a port of this host is in use',
  ],
  ['failed: containers not healthy after 30s: web=unhealthy (2 restarts), db=missing', 'web unhealthy, db missing'],
  [
    `ENGINE_ERROR: the container engine answers 500: password=hunter2 said the daemon: ${port}`,
    'a port of this host is in use',
  ],
  ['failed: x\nrevert not finished: failed: web=exited(1)', null],
  ['failed: a\nprinted=exited(1)', null],
  ['failed: <b>=exited(1), a=exited(1)<script>, b=exited(99999)', 'a exited(1)'],
])('reduces the detail %j to %j', (detail, told) => {
  expect(reasonOf(detail)).toBe(told);
});

it('names ten services at most', () => {
  const detail = Array.from({ length: 12 }, (_, index) => `s${index}=exited(1)`).join(', ');
  expect(reasonOf(detail)?.split(', ')).toHaveLength(10);
});
