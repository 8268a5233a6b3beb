import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownAuthorityTests } from '../../../fixtures/suites/tenancy/ownAuthorityTests.ts';
import { rolloutStoreTests } from '../../../fixtures/suites/tenancy/rolloutStoreTests.ts';
import { storeTests } from '../../../fixtures/suites/tenancy/storeTests.ts';

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'deployd-store-'))));
afterEach(() => rm(dir, { recursive: true }));

const createPlace = async () => ({ file: join(dir, `${randomUUID()}.sqlite`) });
describe('a store in a file', () => storeTests(createPlace));
describe('its own authority in a store in a file', () => ownAuthorityTests(createPlace));
describe('rollouts in a store in a file', () => rolloutStoreTests(createPlace));
