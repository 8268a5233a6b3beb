import { expectImport, type ExpectedImport } from '../../../../fixtures/import/importing.ts';

it.each<[string, string, ExpectedImport]>([
  [
    'a device file that is mounted',
    '{image: x, volumes: ["/dev/net/tun:/dev/net/tun", "data:/d"]}',
    {
      a: { image: 'x', volumes: ['data:/d'], devices: ['/dev/net/tun:/dev/net/tun'] },
      changes: [/\/dev\/net\/tun:\/dev\/net\/tun is under devices now/],
    },
  ],
  [
    'one in the long form, beside other devices',
    '{image: x, devices: ["/dev/a:/dev/a"], volumes: [{type: bind, source: /dev/b, target: /dev/c}]}',
    { a: { image: 'x', devices: ['/dev/a:/dev/a', '/dev/b:/dev/c'] }, changes: [/under devices now/] },
  ],
  [
    'shared memory, which is none,',
    '{image: x, volumes: ["/dev/shm:/dev/shm"]}',
    { a: { image: 'x', volumes: ['dev-shm:/dev/shm'] } },
  ],
])('%s', (_title, service, expected) => {
  expectImport([service, {}], expected);
});
