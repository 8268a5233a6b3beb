import { rolloutTests } from '../../../fixtures/tenancy/api/rolloutTests.ts';
import { startService } from '../../../fixtures/tenancy/service.ts';

describe('rollouts', () => rolloutTests(startService));
