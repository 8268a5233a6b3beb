import { abuseTests } from '../../../fixtures/suites/tenancy/api/abuseTests.ts';
import { accessTests } from '../../../fixtures/suites/tenancy/api/accessTests.ts';
import { agentTests } from '../../../fixtures/suites/tenancy/api/agentTests.ts';
import { diffTests } from '../../../fixtures/suites/tenancy/api/diffTests.ts';
import { downloadTests } from '../../../fixtures/suites/tenancy/api/downloadTests.ts';
import { type Service, startService } from '../../../fixtures/world/tenancy/service.ts';

let service: Service;
beforeAll(async () => void (service = await startService()));
afterAll(() => service.stop());

describe('agents', () => agentTests(() => service));
describe('access', () => accessTests(() => service));
describe('abuse', () => abuseTests(() => service));
describe('downloads', () => downloadTests(() => service));
describe('comparisons of bundles', () => diffTests(() => service));
