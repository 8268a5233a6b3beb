import { pushTests } from '../../../fixtures/tenancy/api/pushTests.ts';
import { startService } from '../../../fixtures/tenancy/service.ts';

describe('a push', () => pushTests(startService));
