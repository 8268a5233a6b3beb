import { swarmTests } from '../../../fixtures/tenancy/api/swarmTests.ts';
import { startService } from '../../../fixtures/tenancy/service.ts';

describe('the managers of a swarm', () => swarmTests(startService));
