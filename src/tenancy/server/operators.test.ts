import { accountTests } from '../../../fixtures/suites/tenancy/api/accountTests.ts';
import { envTests } from '../../../fixtures/suites/tenancy/api/envTests.ts';
import { extremeTests } from '../../../fixtures/suites/tenancy/api/extremeTests.ts';
import { fleetTests } from '../../../fixtures/suites/tenancy/api/fleetTests.ts';
import { hostNameTests } from '../../../fixtures/suites/tenancy/api/hostNameTests.ts';
import { listTests } from '../../../fixtures/suites/tenancy/api/listTests.ts';
import { permissionTests } from '../../../fixtures/suites/tenancy/api/permissionTests.ts';
import { repackTests } from '../../../fixtures/suites/tenancy/api/repackTests.ts';
import { revealTests } from '../../../fixtures/suites/tenancy/api/revealTests.ts';
import { signatureTests } from '../../../fixtures/suites/tenancy/api/signatureTests.ts';
import { signedRepackTests } from '../../../fixtures/suites/tenancy/api/signedRepackTests.ts';
import { type Service, startService } from '../../../fixtures/world/tenancy/service.ts';

let service: Service;
beforeAll(async () => void (service = await startService()));
afterAll(() => service.stop());

describe('envs', () => envTests(() => service));
describe('accounts', () => accountTests(() => service));
describe('a fleet', () => fleetTests(() => service));
describe('names of hosts', () => hostNameTests(() => service));
describe('lists', () => listTests(() => service));
describe('a new version of a secret', () => repackTests(() => service));
describe('signatures', () => signatureTests(() => service));
describe('a new version of a secret that awaits signatures', () => signedRepackTests(() => service));
describe('reveals', () => revealTests(() => service));
describe('extreme values', () => extremeTests(() => service));
describe('permissions', () => permissionTests(() => service));
