import { otherPathsOf, parseMounts } from './mountTable.ts';

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
])('%s is also at %j', (path, expected) => {
  expect(otherPathsOf(path, mounts)).toEqual(expected);
});

it('a path has no others without a table', () => {
  expect(otherPathsOf('/x', [])).toEqual([]);
});
