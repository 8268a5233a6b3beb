import { type HostPolicy, permitKeys } from '../../../api/hostPolicy.rules.ts';

/** The policy of a host in one line; a service that may have the engine's socket, or be privileged, is root on the host. */
export function policySummary({ permit, deny, images }: HostPolicy): string {
  const permits = permitKeys.flatMap((key) => {
    const entries = permit[key] ?? [];
    const root = key === 'engine_socket' || key === 'privileged' ? ' (root on the host)' : '';
    return entries.length === 0 ? [] : [`${key} ${entries.join(', ')}${root}`];
  });
  return [
    ...(permits.length === 0 ? [] : [`permits ${permits.join('; ')}`]),
    ...(deny.length === 0 ? [] : [`denies ${deny.join(', ')}`]),
    ...(images === 'digest' ? ['images by digest'] : []),
  ].join('; ');
}
