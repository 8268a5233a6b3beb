import { kitTests } from '../../../fixtures/tenancy/api/kitTests.ts';
import { retentionTests } from '../../../fixtures/tenancy/api/retentionTests.ts';
import { retireTests } from '../../../fixtures/tenancy/api/retireTests.ts';
import { startService } from '../../../fixtures/tenancy/service.ts';

describe('install kits', () => kitTests(startService));
describe('retirement', () => retireTests(startService));
describe('retention', () => retentionTests(startService));
