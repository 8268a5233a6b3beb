import type { PermitKey } from '../../../../protocol/hostPolicy.ts';
import { printable } from '../../../../protocol/printable.ts';

/** A power over the host that a value asks for, and that `policy.permit` can grant. */
export interface Power {
  readonly permit: PermitKey;
  /** What is permitted: a capability, a service, a path. It may be the value of a secret in a rendered model. */
  readonly entry: string;
  /** Of a bind mount. */
  readonly isWritable?: boolean;
  /** The service that asks for it; absent for a network or volume. */
  readonly service?: string;
}

/** A power that the host permits, with the entry of `policy.permit` that grants it and no more. */
export type PermittedPower = Pick<Power, 'permit' | 'entry' | 'service'>;

/** The line of config.yaml that permits a power; without an entry, which would show a secret, only its key. */
export function permitCure(permit: PermitKey, entry?: string): string {
  return entry === undefined
    ? `permit it by policy.permit.${permit} in config.yaml of the host`
    : `permit it by policy: {permit: {${permit}: [${JSON.stringify(printable(entry))}]}} in config.yaml of the host`;
}

/** The entry of `policy.permit` that grants a power, and no more. */
export function permitEntry({ permit, entry, isWritable }: Power): string {
  return permit === 'binds' && isWritable === false ? `${entry}:ro` : entry;
}

/** A permitted power as a text; whoever has the engine's socket, or runs privileged, is root on the host. */
export function formatPermitted({ permit, entry, service }: PermittedPower): string {
  const by = service === undefined || service === entry ? '' : ` for service ${printable(service)}`;
  const root = permit === 'engine_socket' || permit === 'privileged' ? ', which is root on the host' : '';
  return `permitted here: ${permit} ${printable(entry)}${by}${root}`;
}
