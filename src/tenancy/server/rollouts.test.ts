import { gateTests } from '../../../fixtures/suites/tenancy/api/gateTests.ts';
import { rolloutTests } from '../../../fixtures/suites/tenancy/api/rolloutTests.ts';
import { rolloutWorkTests } from '../../../fixtures/suites/tenancy/api/rolloutWorkTests.ts';
import { startService } from '../../../fixtures/world/tenancy/service.ts';

describe('rollouts', () => rolloutTests(startService));
describe('the work on rollouts', () => rolloutWorkTests(startService));
describe('gates', () => gateTests(startService));
