import { bundleTests } from '../../../fixtures/tenancy/api/bundleTests.ts';
import { pushTests } from '../../../fixtures/tenancy/api/pushTests.ts';
import { storedArchiveTests } from '../../../fixtures/tenancy/api/storedArchiveTests.ts';
import { startService } from '../../../fixtures/tenancy/service.ts';

describe('a push', () => pushTests(startService));
describe('a bundle that is pushed', () => bundleTests(startService));
describe('an archive that is stored', () => storedArchiveTests(startService));
