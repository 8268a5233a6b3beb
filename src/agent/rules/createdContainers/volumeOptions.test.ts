import { givenVolumeOptions } from './volumeOptions.ts';

const tmpfs = { type: 'tmpfs', device: 'tmpfs' };

it.each([
  [null, {}],
  [
    { ...tmpfs, o: 'uid=1000,mode=700' },
    { ...tmpfs, o: 'uid=1000,mode=700' },
  ],
  [
    { ...tmpfs, o: 'uid=1000,GID=100,size=1m', UID: '1000', GID: '100', SIZE: '1m' },
    { ...tmpfs, o: 'uid=1000,GID=100,size=1m' },
  ],
  [
    { ...tmpfs, o: 'uid=1000', UID: '0' },
    { ...tmpfs, o: 'uid=1000', UID: '0' },
  ],
  [
    { ...tmpfs, UID: '1000' },
    { ...tmpfs, UID: '1000' },
  ],
  [
    { o: 'device=/etc', DEVICE: '/etc' },
    { o: 'device=/etc', DEVICE: '/etc' },
  ],
  [
    { o: 'uid=1', uid: '1' },
    { o: 'uid=1', uid: '1' },
  ],
])('options %j were given as %j', (options, given) => {
  expect(givenVolumeOptions(options)).toEqual(given);
});
