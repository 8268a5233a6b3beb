import { deliveryTests } from '../../../fixtures/tenancy/api/deliveryTests.ts';
import { eventTests } from '../../../fixtures/tenancy/api/eventTests.ts';
import { finishingTests } from '../../../fixtures/tenancy/api/finishingTests.ts';
import { kitTests } from '../../../fixtures/tenancy/api/kitTests.ts';
import { lifeTests } from '../../../fixtures/tenancy/api/lifeTests.ts';
import { retentionTests } from '../../../fixtures/tenancy/api/retentionTests.ts';
import { webhookTests } from '../../../fixtures/tenancy/api/webhookTests.ts';
import { startService } from '../../../fixtures/tenancy/service.ts';

describe('install kits', () => kitTests(startService));
describe('the life of a backend', () => lifeTests(startService));
describe('finishing a retirement', () => finishingTests(startService));
describe('retention', () => retentionTests(startService));
describe('webhooks', () => webhookTests(startService));
describe('deliveries of webhooks', () => deliveryTests(startService));
describe('events', () => eventTests(startService));
