import { refusalsOf, serviceWith } from '../../../../../fixtures/corpus/bundleRefusals.ts';

const codesOf = async (compose: string) => (await refusalsOf({ compose })).map(({ code }) => code);
const refusalsOfPrivileged = async (compose: string) => refusalsOf({ compose, allowPrivileged: true });

describe('the group of a user (spec §12.2)', () => {
  it.each(['1000:docker', '0:999', ':998', 'app:"999"', '1000:+999', '1000:0999', '${X:-1000}', '1000:${G:-1000}'])(
    'needs a privilege: user %s',
    async (user) => {
      const compose = serviceWith(`user: '${user}'`);
      expect(await codesOf(compose)).toEqual(['PRIVILEGED_REFUSED']);
      expect(await refusalsOfPrivileged(compose)).toEqual([]);
      expect(await codesOf(serviceWith(`post_start: [{command: a, user: '${user}'}]`))).toEqual(['PRIVILEGED_REFUSED']);
    },
  );

  it.each(['root', '0', '0:0', 'root:root', '1000', '999', '1000:1000', 'app:app', 'nobody:nogroup'])(
    'is allowed: user "%s"',
    async (user) => {
      expect(await codesOf(serviceWith(`user: "${user}"`))).toEqual([]);
    },
  );
});
