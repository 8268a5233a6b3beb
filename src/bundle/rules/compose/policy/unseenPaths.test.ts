import { defaultPolicy } from '../../../../protocol/hostPolicy.ts';
import { bindFault, holdsSocket, isBelow, isUnseen, matchesGlob, normalizeHostPath, touches } from './hostPaths.ts';

it.each([
  ...['/tmp', '/tmp/x', '/var/tmp', '/var/tmp/x', '/dev', '/dev/x', '/proc/1', '/proc/12/root', '/proc/self'],
  ...['/proc/self/x', '/proc/thread-self', '/proc/thread-self/x'],
])('%s is not what the agent sees there', (path) => {
  expect(isUnseen(path)).toBe(true);
});

it.each([
  ...['/', '/tmpx', '/x/tmp', '/var', '/var/tmpx', '/devx', '/proc', '/proc/', '/proc/1x', '/proc/selfx', '/proc/x1'],
  ...['/x/proc/1', '/proc/cpuinfo', '/proc/xself', '/srv'],
])('%s is what the agent sees there', (path) => {
  expect(isUnseen(path)).toBe(false);
});

it.each([
  ['/a/b', '/a', true],
  ['/a/b/c', '/a', true],
  ['/a', '/', true],
  ['/', '/', false],
  ['/a', '/a', false],
  ['/ab', '/a', false],
  ['/a', '/a/b', false],
  ['/x/a/b', '/a', false],
])('%s is below %s: %j', (path, directory, expected) => {
  expect(isBelow(path, directory)).toBe(expected);
  expect(touches(path, directory) && touches(directory, path)).toBe(
    expected || path === directory || isBelow(directory, path),
  );
});

it.each(['/a+b', '/a(b)', '/a[b]', '/a{1}', '/a|b', '/a^b', '/a$b', String.raw`/a\d`, '/a?b', '/a.b', '/a\nb'])(
  'the pattern %j is that path alone',
  (path) => {
    expect(matchesGlob(path, path)).toBe(true);
    expect(
      ['/aab', '/ab', '/a', '/a1', '/axb', '/b', `/x${path}`, `${path}x`].filter((one) => matchesGlob(path, one)),
    ).toEqual([]);
  },
);

it.each([
  ['/a/*/c', '/a/b/c', true],
  ['/a/*/c', '/a//c', true],
  ['/a/*/c', '/a/b/b/c', false],
  ['/a*c*', '/abc', true],
  ['/a*c*', '/abcd', true],
  ['/a/**', '/a', true],
  ['/a/**', '/a/b/c', true],
  ['/a/**', '/x/a/b', false],
  ['/a/b/**', '/a', false],
  ['/a/**/b', '/a/x/b', true],
  ['/a/**/b', '/a/x/y/b', false],
])('the pattern %s matches %s: %j', (pattern, path, expected) => {
  expect(matchesGlob(pattern, path)).toBe(expected);
});

it.each([
  ['/a/./b', '/a/b'],
  ['/a/../../b', '/b'],
  ['/a//b/', '/a/b'],
  ['/a/..b/.c', '/a/..b/.c'],
])('%s is the path %s', (written, path) => {
  expect(normalizeHostPath(written)).toBe(path);
});

it.each([
  ['/', true],
  ['/run', true],
  ['/run/docker.sock', true],
  ['/run/docker.sock/x', false],
  ['/run/docker', false],
  ['/srv', false],
])('a mount of %s gives the socket: %j', (path, expected) => {
  expect(holdsSocket(path, ['/srv2/x.sock', '/run/docker.sock'])).toBe(expected);
});

describe('a bind mount that says nothing about writing', () => {
  const host = { policy: defaultPolicy, engineSockets: ['/run/docker.sock'], paths: null };
  const bind = { permit: 'binds', entry: '/srv/a' } as const;

  it('may write', () => {
    expect(bindFault(bind, ['/srv/a:ro'], { asked: [bind], host })).toBe('');
    expect(bindFault(bind, ['/srv/a'], { asked: [bind], host })).toBeNull();
    const below = { permit: 'binds', entry: '/srv/a/b', isWritable: false } as const;
    expect(bindFault(below, ['/srv/a/b'], { asked: [bind, below], host })).toMatch(/may write to$/);
  });

  it.each(['/run', '/run/docker.sock', '/run/docker.sock/x', '/'])('reaches no engine: %s', (entry) => {
    const asked = { permit: 'binds', entry } as const;
    expect(bindFault(asked, ['/**'], { asked: [asked], host })).toMatch(
      /^belongs to deployd or to the container engine/,
    );
  });

  it('is judged by where it leads, and where it is written', () => {
    const paths = {
      resolved: new Map([
        ['/srv/link', '/srv/real'],
        ['/srv/tmp', '/tmp/x'],
        ['/tmp/out', '/srv/real'],
        ['/srv/engine', '/run'],
        ['/srv/real/x', '/srv/real/x'],
      ]),
      ...{ protectedPaths: ['/var/lib/deployd'], mountedNow: [] },
    };
    const faultOf = (entry: string, permitted: string[], others: string[] = []) => {
      const asked = [entry, ...others].map((path) => ({ permit: 'binds', entry: path }) as const);
      return bindFault(asked[0]!, permitted, { asked, host: { ...host, paths } });
    };
    expect(faultOf('/srv/link', ['/srv/real'])).toBeNull();
    expect(faultOf('/srv/link', ['/srv/link'])).toMatch(/^it is or lies below a link/);
    expect(faultOf('/srv/tmp', ['/**'])).toMatch(/^deployd cannot see where it leads/);
    expect(faultOf('/tmp/out', ['/**'])).toMatch(/^deployd cannot see where it leads/);
    expect(faultOf('/srv/engine', ['/**'])).toMatch(/^belongs to deployd/);
    expect(faultOf('/srv/real/x', ['/srv/**'], ['/srv/link'])).toMatch(/^is below a directory/);
  });
});
