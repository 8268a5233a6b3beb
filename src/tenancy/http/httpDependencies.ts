import type { Dependencies } from '../services/dependencies.ts';
import type { AuthenticateOperator, RecordRefusedAct } from '../services/operator.ts';
import type { AnyOperatorRoute } from './operatorRoute.ts';

/** What the HTTP interface is built from. */
export interface HttpDependencies {
  readonly deps: Dependencies;
  readonly operatorRoutes: readonly AnyOperatorRoute[];
  readonly authenticateOperator: AuthenticateOperator;
  readonly recordRefusedAct: RecordRefusedAct;
}
