import { bundleTests } from '../../../fixtures/tenancy/api/bundleTests.ts';
import { pushTests } from '../../../fixtures/tenancy/api/pushTests.ts';
import { startService } from '../../../fixtures/tenancy/service.ts';

describe('a push', () => pushTests(startService));
describe('a bundle that is pushed', () => bundleTests(startService));
