import { forbiddenReason, type Need } from '../rules/permission.ts';
import { ApiError } from './apiError.ts';
import type { Operator } from './operator.ts';

/** Throws `FORBIDDEN` unless a caller is permitted what is needed. */
export function requirePermission({ permissions }: Pick<Operator, 'permissions'>, need: Need): void {
  const reason = forbiddenReason(permissions, need);
  if (reason === null) return;
  const env = typeof need.env === 'string' ? { env: need.env } : {};
  throw new ApiError({ status: 403, code: 'FORBIDDEN', message: reason, ...env });
}
