import { cloneTests } from '../../../fixtures/suites/tenancy/api/cloneTests.ts';
import { swarmRolloutTests } from '../../../fixtures/suites/tenancy/api/swarmRolloutTests.ts';
import { swarmTests } from '../../../fixtures/suites/tenancy/api/swarmTests.ts';
import { startService } from '../../../fixtures/world/tenancy/service.ts';

describe('the managers of a swarm', () => swarmTests(startService));
describe('hosts with one token', () => cloneTests(startService));
describe('rollouts to swarms', () => swarmRolloutTests(startService));
