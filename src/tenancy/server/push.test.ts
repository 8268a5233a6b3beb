import { bundleTests } from '../../../fixtures/suites/tenancy/api/bundleTests.ts';
import { pushTests } from '../../../fixtures/suites/tenancy/api/pushTests.ts';
import { storedArchiveTests } from '../../../fixtures/suites/tenancy/api/storedArchiveTests.ts';
import { startService } from '../../../fixtures/world/tenancy/service.ts';

describe('a push', () => pushTests(startService));
describe('a pushed bundle', () => bundleTests(startService));
describe('a stored archive', () => storedArchiveTests(startService));
