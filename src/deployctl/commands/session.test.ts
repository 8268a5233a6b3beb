import { randomUUID } from 'node:crypto';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';

let at: ServiceWithOperators;
beforeAll(async () => void (at = await startWithOperators()));
afterAll(() => at.stop());

/** Keeps a session of somebody, as a sign-in does. */
async function addSession(subject: string): Promise<string> {
  const id = randomUUID();
  const now = Date.now();
  const who = { id, secret_sha256: id, issuer: 'https://id.example', subject, name: 'ann\u202e', groups: '[]' };
  const times = { created_at: now, last_used_at: now, checked_at: now, claimed_until: 0 };
  const row = { ...who, ...times, sealed_refresh_token: null, address: '192.0.2.7' };
  await at.service.deps.store.insertInto('sessions').values(row).execute();
  return id;
}

it('lists who has signed in, and ends a session, as an administrator of all envs only', async () => {
  const id = await addSession('u-1');
  const { stdout } = await at.admin.run('session list');
  expect(stdout).toMatch(/^ID +NAME +ROLE +ENVS +FROM +USED +ENDS$/m);
  expect(stdout).toMatch(new RegExp(`^${id}  oidc:ann\ufffd +- .* 192.0.2.7 +0s +11h$`, 'm'));
  expect(await at.viewer.json('session list')).toEqual({ sessions: [] });
  expect(await at.limited.run(`session end ${id}`)).toMatchObject({ exit: 1 });
  expect((await at.admin.run(`session end ${id}`)).stdout).toBe(`session ${id} is ended\n`);
  expect(await at.admin.run(`session end ${id}`)).toMatchObject({ exit: 1 });
});
