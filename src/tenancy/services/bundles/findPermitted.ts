import { findBundle } from '../../store/bundles.ts';
import type { BundleRow, Role } from '../../store/database.ts';
import { notFound } from '../apiError.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Operator } from '../operator.ts';
import { requirePermission } from '../requirePermission.ts';

/** A bundle that an operator names by its digest. */
export interface NamedBundle {
  operator: Operator;
  sha256: string;
}

/** The row of a bundle; throws 404, and 403 if the operator's token is not of this role for its env. */
export async function findPermitted(
  { store }: Pick<Dependencies, 'store'>,
  { operator, sha256 }: NamedBundle,
  role: Role,
): Promise<BundleRow> {
  const row = await findBundle(store, sha256);
  if (row === null) throw notFound('bundle');
  requirePermission(operator, { role, env: row.env });
  return row;
}
