import { otherPathsOf, parseMounts } from './policyHost.ts';

const mounts = parseMounts(
  [
    '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
    '23 22 8:2 / /mnt/big rw - ext4 /dev/sdb1 rw',
    '24 22 8:2 /docker /var/lib/docker rw - ext4 /dev/sdb1 rw',
    '25 22 8:1 /srv/a\\040b /mnt/again rw - ext4 /dev/sda1 rw',
    '26 22 0:5 / /run rw - tmpfs tmpfs rw',
    '',
  ].join('\n'),
);

it.each([
  ['/var/lib/docker', ['/mnt/big/docker']],
  ['/var/lib/docker/volumes', ['/mnt/big/docker/volumes']],
  ['/mnt/big/docker', ['/var/lib/docker']],
  ['/mnt/big/other', []],
  ['/mnt/big', []],
  ['/srv/a b', ['/mnt/again']],
  ['/mnt/again/x', ['/srv/a b/x']],
  ['/run/docker.sock', []],
  ['/', []],
])('%s is also mounted at %j', (path, expected) => {
  expect(otherPathsOf(path, mounts)).toEqual(expected);
});

it('a path has no other locations without a table', () => {
  expect(otherPathsOf('/x', [])).toEqual([]);
});

it('uses the innermost mount, whatever the order of the table', () => {
  const line = (device: string, root: string, path: string) => ({ device, root, path });
  const table = [line('b', '/', '/srv/in'), line('a', '/', '/'), line('b', '/', '/mnt'), line('a', '/x', '/other')];
  expect(otherPathsOf('/srv/in/a', table)).toEqual(['/mnt/a']);
  expect(otherPathsOf('/x/y', table)).toEqual(['/other/y']);
  expect(otherPathsOf('/x', table)).toEqual(['/other']);
  expect(otherPathsOf('/mnt', table)).toEqual(['/srv/in']);
});

it.each(['', '22', '22 1', '22 1 8:1', '22 1 8:1 /'])('ignores an incomplete line of the table: %j', (line) => {
  expect(parseMounts(line)).toEqual([]);
});

it('decodes octal numbers, and keeps other backslashes', () => {
  const text = String.raw`22 1 8:1 /a\134b\011c /x\y\040\012 rw`;
  expect(parseMounts(text)).toEqual([{ device: '8:1', root: '/a\\b\tc', path: '/x\\y \n' }]);
});
