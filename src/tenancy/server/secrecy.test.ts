import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { archivePlaces, filesBelow, huntSecrets } from '../../../fixtures/suites/tenancy/secrecy/hunt.ts';
import { liveWithSecrets } from '../../../fixtures/suites/tenancy/secrecy/secretLife.ts';
import { type Service, startService } from '../../../fixtures/world/tenancy/service.ts';
import { copySqliteStore } from '../commands/backup.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ deps: { kit: { secretstoreCa: null, downloadToken: 'canary-of-download' } } });
});
afterAll(() => service.stop());

/** Simulates a login: creates a token in the secretstore's memory from the claims of a grant. */
const logIn = async (jwt: string) => {
  const { sub = '', env, gen } = decodeJwt(jwt);
  const identity = { backendId: sub.replace('backend:', ''), env: String(env), generation: Number(gen) };
  return service.secretstore.issueToken(identity).bearer;
};

it('never stores or logs a secret value, token or grant: not in store, log, audit log, errors, bundles or backup', async () => {
  const setAway = async (isAway: boolean) => (service.secretstore.away = isAway);
  const { secrets, told } = await liveWithSecrets({ service, logIn, setAway });
  const backup = join(tempDir(), 'backup.sqlite');
  writeFileSync(backup, '');
  await copySqliteStore(join(service.dir, 'store.db'), backup);
  const files = [...(await filesBelow(service.dir)), ...(await filesBelow(join(backup, '..')))];
  const archives = [...service.bundles.archives].flatMap(([sha, bytes]) => archivePlaces(sha, bytes));
  expect(archives).toHaveLength(4);
  expect(files.map(([path]) => path)).toEqual(expect.arrayContaining([`${service.dir}/store.db-wal`, backup]));
  expect(files.some(([, bytes]) => bytes.includes('deployd/data/eu-1/see/db'))).toBe(true);
  expect(huntSecrets([...told, ...files, ...archives, ['the log', JSON.stringify(service.log)]], secrets)).toEqual([]);
});

it('finds a stored value with the same search', () => {
  const secrets = { value: 'canary "1"\nsecond line' };
  const places = [
    JSON.stringify(secrets),
    btoa(secrets.value),
    encodeURIComponent(secrets.value),
    'a second line',
    'none',
  ];
  const named = places.map((text, index) => [`place ${index}`, Buffer.from(text)] as const);
  expect(huntSecrets(named, secrets)).toEqual([0, 1, 2, 3].map((index) => `value in place ${index}`));
});
