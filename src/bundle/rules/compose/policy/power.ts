import type { PermitKey } from '../../../../protocol/hostPolicy.ts';
import { printable } from '../../../../protocol/printable.ts';

/** A power over the host that a value asks for, and that `policy.permit` can grant. */
export interface Power {
  readonly permit: PermitKey;
  /** What is permitted: a capability, a service, a path. It may be the value of a secret in a rendered model. */
  readonly entry: string;
  /** Of a bind mount. */
  readonly isWritable?: boolean;
}

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
