import { runHostProgram } from '../../platform/host/hostProgram.ts';

/**
 * Tells systemd that the service accepts connections, if systemd has started it and waits for that (`Type=notify`). Throws when it
 * cannot be told: systemd would take the service for one that never starts.
 */
export async function tellReady({ NOTIFY_SOCKET }: NodeJS.ProcessEnv = process.env): Promise<void> {
  if (NOTIFY_SOCKET === undefined) return;
  const { rc } = await runHostProgram(['systemd-notify', '--ready'], { NOTIFY_SOCKET });
  if (rc !== 0) throw new Error(`systemd cannot be told that the service runs: systemd-notify --ready: exit ${rc}`);
}
