import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { tellReady } from './serve.ts';

// fixtures/suites/boot/tenancy.package.test.ts shows that systemd receives the notification.
test('notifies a service manager only if one is waiting, and fails if it does not receive the notification', async () => {
  await expect(tellReady({})).resolves.toBeUndefined();
  await expect(tellReady({ NOTIFY_SOCKET: join(tempDir(), 'nobody') })).rejects.toThrow(
    /^cannot notify systemd that the service runs: systemd-notify --ready: exit /,
  );
});
