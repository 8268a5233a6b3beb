import { forbiddenReason, type Need, type Permission } from '../rules/permission.ts';
import { ApiError } from './apiError.ts';

/** Throws `FORBIDDEN` unless a token permits what is needed. */
export function requirePermission(permission: Permission, need: Need): void {
  const reason = forbiddenReason(permission, need);
  if (reason === null) return;
  const env = typeof need.env === 'string' ? { env: need.env } : {};
  throw new ApiError({ status: 403, code: 'FORBIDDEN', message: reason, ...env });
}
