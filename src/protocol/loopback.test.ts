import { isLoopback } from './loopback.ts';

it.each(['localhost', '[::1]', '127.0.0.1', '127.255.10.7'])('%s never leaves the host', (hostname) => {
  expect(isLoopback(hostname)).toBe(true);
});

it.each([
  ...['localhost.example', 'my-localhost', '[::2]', '127.0.0.1.example', '1127.0.0.1', '127.a.b.c', '127.1'],
  ...['10.0.0.1', ''],
])('%j may leave the host', (hostname) => {
  expect(isLoopback(hostname)).toBe(false);
});
