import type { Readable } from 'node:stream';
import type { Static, TSchema } from 'typebox';
import type { AuditCaller, Operator } from '../core/permission.rules.ts';
import type { Role } from '../store/database.ts';

/** A body that is streamed to or from the route as application/octet-stream. */
export const octets = 'octets';

/** A body of server-sent events, which are sent as they occur. */
export const eventStream = 'eventStream';

/** Schema of a part of the request, or nothing. */
type Part = TSchema | undefined;
type ValueOf<Schema> = Schema extends TSchema ? Static<Schema> : undefined;
type BodyOf<Body> = Body extends typeof octets ? Readable : ValueOf<Body>;
type AnswerOf<Body> = Body extends typeof octets
  ? Octets
  : Body extends typeof eventStream
    ? AsyncIterable<string>
    : ValueOf<Body>;

/** Schemas of the successful answers by status; null for one without a body. */
export type Responses = Readonly<
  Partial<Record<200 | 201 | 202 | 204, TSchema | typeof octets | typeof eventStream | null>>
>;

/** A successful answer. */
export type Answer<R extends Responses> = {
  [Status in keyof R]: { status: Status; body: AnswerOf<R[Status]> };
}[keyof R];

/** Bytes that are sent as they arrive, and their number. */
export interface Octets {
  bytes: Readable;
  size: number;
}

/** An authenticated, permitted and valid call. */
export interface OperatorCall<Params = unknown, Query = unknown, Body = unknown> {
  readonly operator: Operator;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The caller to record in the audit log. */
  readonly caller: AuditCaller;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** A route of the operators' API as data: `operatorRoutes.ts` adds it to the server and to the OpenAPI document. */
interface RouteDefinition<Deps, P extends Part, Q extends Part, B extends Part | typeof octets, R extends Responses> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /**
   * Parameters as `:name`. An `env` in the parameters, query or body is compared with the environments of the token.
   */
  readonly url: `/v1/${string}`;
  readonly role: Role;
  /** Only for tokens that are not limited to some environments. */
  readonly everyEnv?: boolean;
  readonly summary: string;
  /** Details beyond the summary, for the OpenAPI document. */
  readonly description?: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly responses: R;
  /** Codes of the route's own errors by status, for the OpenAPI document. */
  readonly errors?: Readonly<Record<number, string>>;
  /** Returns the environment of the call, if it is not in a field `env`. */
  readonly env?: (call: { body: BodyOf<B> }) => string;
  /** Name in the audit log; null for a call that is not recorded there. */
  readonly act: string | null;
  /** Returns the object of a refused action, for the audit log; by default the last parameter of the URL. */
  readonly target?: (call: { params: ValueOf<P>; query: ValueOf<Q>; body: BodyOf<B> }) => string;
  /** The answer holds a secret. */
  readonly noStore?: boolean;
  readonly handle: (deps: Deps, call: OperatorCall<ValueOf<P>, ValueOf<Q>, BodyOf<B>>) => Promise<Answer<R>>;
}

/** A route whose types were checked at its definition; `Deps` are the dependencies of its topic. */
export interface OperatorRoute<Deps> extends Omit<
  RouteDefinition<Deps, Part, Part, Part | typeof octets, Responses>,
  'target' | 'env' | 'handle'
> {
  readonly env?: (call: Pick<OperatorCall, 'body'>) => string;
  readonly target?: (call: Pick<OperatorCall, 'params' | 'query' | 'body'>) => string;
  readonly handle: (deps: Deps, call: OperatorCall) => Promise<{ status: number; body: unknown }>;
}

/** The fields that all routes have, whatever their dependencies. */
export type AnyOperatorRoute = OperatorRoute<never>;

/**
 * Returns the function that defines the routes of a topic, given its dependencies. The types of each `handle` follow
 * from its schemas.
 */
export function routesFor<Deps>() {
  return <
    R extends Responses,
    P extends Part = undefined,
    Q extends Part = undefined,
    B extends Part | typeof octets = undefined,
  >(
    route: RouteDefinition<Deps, P, Q, B, R>,
    // The server validates the arguments by the same schemas.
  ) => route as unknown as OperatorRoute<Deps>;
}

/** Builds a successful answer with its body. */
export function answer<const Status extends number, Body>(status: Status, body: Body): { status: Status; body: Body } {
  return { status, body };
}

/** A successful answer without a body. */
export const noContent = { status: 204, body: undefined } as const;
