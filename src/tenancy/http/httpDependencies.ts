import type { Dependencies } from '../services/dependencies.ts';
import type { Operator, RefusedAct } from '../services/operator.ts';
import type { HttpLimits } from './httpLimits.ts';
import type { TlsIdentity } from './httpServer.ts';
import type { AnyOperatorRoute } from './operatorRoute.ts';

/** What the HTTP interface is built from. */
export interface HttpDependencies {
  readonly deps: Dependencies;
  readonly operatorRoutes: readonly AnyOperatorRoute[];
  /** Whose token a bearer is; null if it is unknown or revoked. */
  readonly authenticateOperator: (deps: Dependencies, bearer: string) => Promise<Operator | null>;
  /** Adds a refused act to the audit log; acts that succeed are added by their service, in its transaction. */
  readonly recordRefusedAct: (deps: Dependencies, act: RefusedAct) => Promise<void>;
  /** Null for plain HTTP, on loopback only. */
  readonly tls: TlsIdentity | null;
  readonly limits: HttpLimits;
}
