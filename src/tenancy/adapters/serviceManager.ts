import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Tells systemd that the service is ready, where it was started by a unit of `Type=notify`. */
export async function notifyReady(): Promise<void> {
  if (process.env['NOTIFY_SOCKET'] === undefined) return;
  await promisify(execFile)('systemd-notify', ['--ready']);
}
