import { engineAnswerFault, noLeaderFault, saysEngineAway } from './engineAnswer.rules.ts';

it.each([
  [
    500,
    '(HTTP code 500) server error - driver "overlay2" failed to remove root filesystem',
    'ENGINE_ERROR: the container engine answers 500: driver "overlay2" failed to remove root filesystem: the engine cannot remove a container; free its files',
  ],
  [409, 'a\n  b\u0007', 'ENGINE_ERROR: the container engine answers 409: a b\ufffd'],
  [
    500,
    'mkdir /data/x: no space left on device',
    'DISK_INSUFFICIENT: the container engine answers 500: mkdir /data/x: no',
  ],
  [500, '', 'ENGINE_ERROR: the container engine answers 500'],
  [503, '', 'RUNTIME_UNAVAILABLE: the container engine answers 503'],
  [500, 'dial unix /run/containerd/containerd.sock: connect: connection refused', 'RUNTIME_UNAVAILABLE: '],
  [500, 'ttrpc: closed: unknown', 'RUNTIME_UNAVAILABLE: '],
  [500, 'rpc error: The swarm does not have a leader', 'RUNTIME_UNAVAILABLE: the swarm has no leader'],
])('the answer %d "%s" is %s', (statusCode, message, line) => {
  const fault = engineAnswerFault({ statusCode, message });
  expect(fault.message.startsWith(line) && fault.ending === 'failed').toBe(true);
  expect(line.startsWith(`${fault.code}: `)).toBe(true);
});

it.each([
  ['Cannot connect to the Docker daemon at unix:///run/docker.sock. Is the docker daemon running?', true],
  ['error during connect: Post "http://%2Frun%2Fdocker.sock/v1.41/containers/create": EOF', true],
  ['Error response from daemon: driver failed', false],
  ['dial tcp 10.0.0.1:443: connect: connection refused', false],
])('"%s" means that the engine is unavailable: %p', (output, expected) => {
  expect(saysEngineAway(output)).toBe(expected);
});

it.each([
  [
    "rpc error: code = Unknown desc = The swarm does not have a leader. It's possible that too few managers are online.",
    true,
  ],
  ['rpc error: code = DeadlineExceeded desc = context deadline exceeded', true],
  ['Get "https://registry/v2/": context deadline exceeded', false],
  ['', false],
])('treats the answer %j as a swarm without a leader: %s', (answer, isOne) => {
  expect(noLeaderFault(answer)?.message ?? '').toMatch(isOne ? /the swarm has no leader/ : /^$/);
});
