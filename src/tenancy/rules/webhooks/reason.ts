import { failureCauses } from '../../../protocol/failureCauses.ts';
import { causeTold } from '../../../protocol/findCause.ts';

/** `migrate=exited(3)`, as an agent writes what became of a service. */
const serviceState =
  /(?<![\w.-])([A-Za-z0-9][\w.-]{0,62})=(exited\(\d{1,3}(?:, out of memory)?\)|unhealthy|dead|created|restarting|starting|missing|paused)(?![\w-])/g;

const maxServices = 10;

/**
 * Why a host failed, from the detail of its report, so that a message may tell it: names of services with their states, and causes
 * in our own words. Of anything else that the detail says, nothing is told. Null if that leaves nothing.
 */
export function reasonOf(detail: string | null): string | null {
  const lines = (detail ?? '').split('\n').filter((line) => !line.startsWith('revert not finished: '));
  const [first = ''] = lines;
  const told = [first, ...lines.filter((line) => line.startsWith('cause: '))].join('\n');
  const services = new Set([...told.matchAll(serviceState)].map(([, name, state]) => `${name} ${state}`));
  const [cause] = lines.map(causeTold).filter((name) => name !== null);
  const parts = [...services].slice(0, maxServices).join(', ');
  const reason = [parts, cause === undefined ? '' : failureCauses[cause].cause]
    .filter((part) => part !== '')
    .join('; ');
  return reason === '' ? null : reason;
}
