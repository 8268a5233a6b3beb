import { gateTests } from '../../../fixtures/tenancy/api/gateTests.ts';
import { rolloutTests } from '../../../fixtures/tenancy/api/rolloutTests.ts';
import { rolloutWorkTests } from '../../../fixtures/tenancy/api/rolloutWorkTests.ts';
import { startService } from '../../../fixtures/tenancy/service.ts';

describe('rollouts', () => rolloutTests(startService));
describe('the work on rollouts', () => rolloutWorkTests(startService));
describe('gates', () => gateTests(startService));
