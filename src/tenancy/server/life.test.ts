import { deliveryTests } from '../../../fixtures/suites/tenancy/api/deliveryTests.ts';
import { eventTests } from '../../../fixtures/suites/tenancy/api/eventTests.ts';
import { finishingTests } from '../../../fixtures/suites/tenancy/api/finishingTests.ts';
import { graceTests } from '../../../fixtures/suites/tenancy/api/graceTests.ts';
import { kitTests } from '../../../fixtures/suites/tenancy/api/kitTests.ts';
import { lifeTests } from '../../../fixtures/suites/tenancy/api/lifeTests.ts';
import { retentionTests } from '../../../fixtures/suites/tenancy/api/retentionTests.ts';
import { webhookTests } from '../../../fixtures/suites/tenancy/api/webhookTests.ts';
import { startService } from '../../../fixtures/world/tenancy/service.ts';

describe('install kits', () => kitTests(startService));
describe('the life of a backend', () => lifeTests(startService));
describe('finishing a retirement', () => finishingTests(startService));
describe('the grace of secrets', () => graceTests(startService));
describe('retention', () => retentionTests(startService));
describe('webhooks', () => webhookTests(startService));
describe('deliveries of webhooks', () => deliveryTests(startService));
describe('events', () => eventTests(startService));
