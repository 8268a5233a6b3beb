import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Service, startService } from '../../../fixtures/world/tenancy/service.ts';
import { incomingDirectory } from '../bundles/archives.ts';
import { runBackgroundOnce } from './background.ts';

let service: Service;
beforeEach(async () => void (service = await startService()));
afterEach(() => service.stop());

const run = () => runBackgroundOnce(service.deps, new AbortController().signal);

it('removes uploads that have not changed for an hour, but not the uploads of another instance', async () => {
  await run();
  const incoming = incomingDirectory(service.dir);
  mkdirSync(join(incoming, 'scratch'), { recursive: true });
  for (const name of ['new', 'old', 'scratch/file']) writeFileSync(join(incoming, name), 'x');
  const longAgo = Date.now() / 1000 - 3601;
  for (const name of ['old', 'scratch']) utimesSync(join(incoming, name), longAgo, longAgo);
  await run();
  expect(readdirSync(incoming)).toEqual(['new']);
  expect(service.log.filter(({ level }) => level === 'error')).toEqual([]);
});
