import { permissionTests } from '../../../fixtures/tenancy/api/permissionTests.ts';
import { startService, type Service } from '../../../fixtures/tenancy/service.ts';

let service: Service;
beforeAll(async () => void (service = await startService()));
afterAll(() => service.stop());

describe('permissions', () => permissionTests(() => service));
