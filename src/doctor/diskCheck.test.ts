import { checkLines } from '../../fixtures/spec/checkLines.ts';
import type { Check } from './diagnosis.ts';
import { checkDiskSpace, type DiskSpaceFacts } from './diskCheck.ts';

const gib = 2 ** 30;
const images = (freeBytes: number | null): DiskSpaceFacts => {
  return { paths: ['/var/lib/docker', '/srv'], freeBytes, neededBytes: 2 * gib, purpose: 'images' };
};
const state: DiskSpaceFacts = {
  paths: ['/var/lib/deployd'],
  freeBytes: 0,
  neededBytes: 64 * 2 ** 20,
  purpose: 'state',
};

it.each<[string, Check, string[]]>([
  ['is unknown', checkDiskSpace({ unknown: 'no engine' }), ['disk: unknown', 'no engine']],
  [
    'is as large as it must be',
    checkDiskSpace({ known: [images(2 * gib)] }),
    ['disk: passed', '2.0 GiB free on /var/lib/docker, /srv'],
  ],
  [
    'is too small for images and state',
    checkDiskSpace({ known: [images(2 * gib - 1), state] }),
    [
      ...['disk: failed', '1.9 GiB free on /var/lib/docker, /srv; 0.0 GiB free on /var/lib/deployd'],
      ...['1.9 GiB free on /var/lib/docker, /srv, 2.0 GiB must be', 'sudo docker system prune'],
      ...['0.0 GiB free on /var/lib/deployd, 0.1 GiB must be', 'sudo du -xsh /var/lib/deployd/*'],
    ],
  ],
  [
    'cannot be determined',
    checkDiskSpace({ known: [images(null)] }),
    [
      ...['disk: failed', 'an unknown amount free on /var/lib/docker, /srv'],
      ...['cannot tell how much is free on /var/lib/docker, /srv', 'df -h /var/lib/docker /srv'],
    ],
  ],
])('the free space %s', (_name, check, lines) => {
  expect(checkLines(check)).toEqual(lines);
});
