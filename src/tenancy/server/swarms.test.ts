import { swarmRolloutTests } from '../../../fixtures/tenancy/api/swarmRolloutTests.ts';
import { swarmTests } from '../../../fixtures/tenancy/api/swarmTests.ts';
import { startService } from '../../../fixtures/tenancy/service.ts';

describe('the managers of a swarm', () => swarmTests(startService));
describe('rollouts to swarms', () => swarmRolloutTests(startService));
