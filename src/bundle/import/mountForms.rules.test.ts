import { type ProjectFiles, resultOf } from '../../../fixtures/world/import/importing.ts';

const files: ProjectFiles = {
  ...{
    'a.conf': 'x',
    '../b.conf': 'x',
    'conf/a.yml': 'x',
    'data/a.db': 'x',
    '../up/a.yml': 'x',
    '../../x': 'x',
    empty: null,
  },
};
const volumesOf = (volumes: string, more: ProjectFiles = files) => {
  const { a, ...rest } = resultOf({ 'compose.yaml': `services: {a: {image: x, volumes: ${volumes}}}\n`, ...more });
  return { ...rest, volumes: (a as { volumes?: unknown }).volumes };
};

describe('a mount in the short form', () => {
  it.each([
    ['./a.conf:/a:ro,z', './a.conf:/a:ro,z'],
    ['../b.conf:/a:ro,z', './parent/b.conf:/a:ro,z'],
    ['../b.conf:/a', './parent/b.conf:/a:ro'],
    ['../b.conf:/a:z', './parent/b.conf:/a:ro,z'],
    ['./none:/n:cached', 'none:/n'],
    ['./none:/n:xro,rox', 'none:/n'],
    ['./conf:/c', './conf:/c:ro'],
    ['../up:/c', './parent/up:/c:ro'],
    ['./data:/d', 'data:/d'],
    ['/etc/localtime:/etc/localtime:rw,z', '/etc/localtime:/etc/localtime:ro,z'],
    ['/etc/timezone:/t', '/etc/timezone:/t:ro'],
    ['/etc/timezone:/t:ro', '/etc/timezone:/t:ro'],
    ['/etc/timezones:/t', '/etc/timezones:/t'],
    ['/x/etc/timezone:/t', '/x/etc/timezone:/t'],
    ['named:/n', 'named:/n'],
    ['/anonymous', '/anonymous'],
  ])('%s becomes %s', (mount, expected) => {
    expect(volumesOf(JSON.stringify([mount])).volumes).toEqual([expected]);
  });
});

describe('what is mounted', () => {
  it.each([
    '/',
    '//',
    '/var/lib/docker',
    '/var/lib/docker/x',
    '/var/lib/containers',
    '/var/lib/containerd',
    '/var/lib/deployd',
    '/etc/deployd',
    '/etc/deployd/x',
  ])('is permitted by no host: %s', (source) => {
    expect(volumesOf(JSON.stringify([`${source}:/x`])).undecided).toEqual([
      `service a: volumes: ${source} is permitted by no host → take the mount out`,
    ]);
  });

  it.each(['/srv/', '/var/lib/dockers', '/x/var/lib/docker', '/var/lib', '/etc/deploydx', '/x/etc/deployd', '/srv'])(
    'may be permitted: %s',
    (source) => {
      expect(volumesOf(JSON.stringify([`${source}:/x`])).undecided).toEqual([]);
    },
  );

  it.each([
    ['./f.conf:/f.conf', 1],
    ['./f.conf:/f', 0],
    ['./f:/f.conf', 0],
  ])('is missing, and may be a file: %s', (mount, count) => {
    expect(volumesOf(JSON.stringify([mount])).undecided).toHaveLength(count);
  });

  it.each([
    ['..:/x', ['.. is too large']],
    ['../..:/x', ['../.. is too large']],
    ['../up/..:/x', ['../up/.. is too large']],
    ['./empty:/x:ro', []],
    ['./conf/..:/x:ro', []],
  ])('is a directory above or without files: %s', (mount, words) => {
    expect(volumesOf(JSON.stringify([mount])).undecided).toEqual(
      words.map((each) => expect.stringContaining(each) as string),
    );
  });

  it('has one volume for one directory, whose other mounts are of data', () => {
    const found = volumesOf('[./conf:/bitnami, ./conf/:/c:ro, conf/../conf:/d]');
    expect(found.volumes).toEqual(['conf:/bitnami', 'conf:/c:ro', 'conf/../conf:/d']);
    expect(found.top).toEqual({ volumes: { conf: {} } });
  });

  it('keeps a volume that has the name of its directory', () => {
    const text = 'services: {a: {image: x, volumes: [./d1:/d, ./d1:/e]}}\nvolumes: {d1: {labels: [a=b]}}\n';
    const found = resultOf({ 'compose.yaml': text });
    expect(found).toMatchObject({
      a: { volumes: ['d1-2:/d', 'd1-2:/e'] },
      top: { volumes: { d1: { labels: ['a=b'] }, 'd1-2': {} } },
    });
  });

  it('is mounted once where services share it', () => {
    const text = 'x-v: &v [../b.conf:/b]\nservices: {a: {image: x, volumes: *v}, b: {image: x, volumes: *v}}\n';
    expect(resultOf({ 'compose.yaml': text, ...files })).toMatchObject({
      ...{ a: { volumes: ['./parent/b.conf:/b:ro'] }, copies: ['parent/b.conf'] },
    });
    const { changes } = resultOf({ 'compose.yaml': text.replace('../b.conf', './none') });
    expect(changes.filter((line) => line.startsWith('service '))).toHaveLength(2);
  });
});

describe('what does not come along', () => {
  it.each(['.git', '.hg', '.svn', '.env', '.deployd', 'node_modules'])('is below %s', (name) => {
    expect(volumesOf('[".:/app:ro"]', { 'a.py': 'x', [`${name}/x.py`]: 'x' }).copies).toEqual(['project/a.py']);
  });

  const key = '-----BEGIN PRIVATE KEY-----';
  it.each<[string, ProjectFiles, string]>([
    ['./k:/k:rw', { k: key }, 'k holds a secret, and does not come along → make it a secret'],
    ['./d:/d:ro', { 'd/a': 'x', 'd/k': `${key}\0` }, 'd/k holds a secret, and does not come along → make it a secret'],
    ['./l:/l', { l: { kind: 'foreign' } }, 'l is a link that leads out of the project, and does not come along → put'],
    ['./s:/s', { s: { kind: 'special' } }, 's is not a file or directory, and does not come along → put a file'],
    [
      './d:/d:ro',
      { 'd/a': 'x', 'd/l': { kind: 'foreign' } },
      'd/l is a link that leads out of the project, and does not come along → put a file or directory there',
    ],
    [
      './d:/d:ro',
      { 'd/a': 'x', 'd/s': { kind: 'special' } },
      'd/s is not a file or directory, and does not come along → put a file or directory there',
    ],
  ])('of %s with %j', (mount, more, words) => {
    const found = volumesOf(JSON.stringify([mount]), more);
    expect(found.undecided).toEqual([expect.stringContaining(words)]);
    expect(found.copies).toEqual(mount.startsWith('./d') ? ['d/a'] : []);
  });

  it('is not what only ends with a dot', () => {
    expect(volumesOf('["./conf.:/x"]', { 'conf./a.yml': 'x' }).copies).toEqual(['conf./a.yml']);
    expect(volumesOf('["./data.:/x"]', { 'data./a.db': 'x', 'data./a.yml': 'x' }).volumes).toEqual(['data.:/x']);
  });
});

describe('a device file', () => {
  it.each([
    ['/dev/a:/dev/b', '/dev/a:/dev/b'],
    ['/dev/a:/dev/b:ro', '/dev/a:/dev/b'],
    ['/dev/shmx:/s', '/dev/shmx:/s'],
  ])('of the mount %s is the device %s', (mount, device) => {
    const { a } = resultOf({ 'compose.yaml': `services: {a: {image: x, volumes: ["${mount}"]}}\n` });
    expect(a).toEqual({ image: 'x', devices: [device] });
  });

  it.each(['/x/dev/a:/b', '/dev:/dev'])('is not what %s mounts', (mount) => {
    const { a } = resultOf({ 'compose.yaml': `services: {a: {image: x, volumes: ["${mount}"]}}\n` });
    expect(a).toEqual({ image: 'x', volumes: [mount] });
  });
});
