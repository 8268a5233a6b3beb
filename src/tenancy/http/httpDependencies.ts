import type { Dependencies } from '../services/dependencies.ts';
import type { HttpLimits } from './httpLimits.ts';
import type { TlsIdentity } from './httpServer.ts';

/** What the HTTP interface is built from. */
export interface HttpDependencies {
  readonly deps: Dependencies;
  /** Null for plain HTTP, on loopback only. */
  readonly tls: TlsIdentity | null;
  readonly limits: HttpLimits;
}
