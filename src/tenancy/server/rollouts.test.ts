import { gateTests } from '../../../fixtures/suites/tenancy/api/gateTests.ts';
import { previewTests } from '../../../fixtures/suites/tenancy/api/previewTests.ts';
import { rollbackTests } from '../../../fixtures/suites/tenancy/api/rollbackTests.ts';
import { rolloutChangeTests } from '../../../fixtures/suites/tenancy/api/rolloutChangeTests.ts';
import { rolloutTests } from '../../../fixtures/suites/tenancy/api/rolloutTests.ts';
import { rolloutWorkTests } from '../../../fixtures/suites/tenancy/api/rolloutWorkTests.ts';
import { startService } from '../../../fixtures/world/tenancy/service.ts';

describe('rollouts', () => rolloutTests(startService));
describe('previews of rollouts', () => previewTests(startService));
describe('the work on rollouts', () => rolloutWorkTests(startService));
describe('changes of rollouts', () => rolloutChangeTests(startService));
describe('rollbacks', () => rollbackTests(startService));
describe('gates', () => gateTests(startService));
