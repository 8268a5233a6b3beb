import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { tellReady } from './serve.ts';

// That systemd hears it is shown where systemd is: fixtures/suites/boot/tenancy.package.test.ts.
test('a service manager is told only where one waits, and one that does not hear is an error', async () => {
  await expect(tellReady({})).resolves.toBeUndefined();
  await expect(tellReady({ NOTIFY_SOCKET: join(tempDir(), 'nobody') })).rejects.toThrow(
    /^cannot notify systemd that the service runs: systemd-notify --ready: exit /,
  );
});
