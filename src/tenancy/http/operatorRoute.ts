import type { Readable } from 'node:stream';
import type { Static, TSchema } from 'typebox';
import type { AuditCaller, Operator } from '../core/operator.ts';
import type { Role } from '../store/database.ts';

/** A body that is streamed to the route or from it, as application/octet-stream. */
export const octets = 'octets';

/** A body of server-sent events, which are answered as they come. */
export const eventStream = 'eventStream';

/** A schema of a request's part, or nothing. */
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

/** Bytes that are answered as they come, and how many will. */
export interface Octets {
  bytes: Readable;
  size: number;
}

/** A call that is authenticated, permitted and valid. */
export interface OperatorCall<Params = unknown, Query = unknown, Body = unknown> {
  readonly operator: Operator;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** What the service of an act adds to the audit log. */
  readonly caller: AuditCaller;
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignal;
}

/** A route of the operators' API, as data: `operatorRoutes.ts` makes it one of the server and of the OpenAPI document. */
interface RouteDefinition<Deps, P extends Part, Q extends Part, B extends Part | typeof octets, R extends Responses> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Parameters as `:name`. `env` as parameter, in the query or in the body is compared with the token's envs. */
  readonly url: `/v1/${string}`;
  readonly role: Role;
  /** Only for tokens that are not limited to some envs. */
  readonly everyEnv?: boolean;
  readonly summary: string;
  /** More than the summary says, for the OpenAPI document. */
  readonly description?: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly responses: R;
  /** Codes of its own errors by status, for the OpenAPI document. */
  readonly errors?: Readonly<Record<number, string>>;
  /** The env that the call names, where it does not do so as `env`. */
  readonly env?: (call: { body: BodyOf<B> }) => string;
  /** Name in the audit log; null for what is not kept there. */
  readonly act: string | null;
  /** What a refused act would have been done to, for the audit log; by default the last parameter of the URL. */
  readonly target?: (call: { params: ValueOf<P>; query: ValueOf<Q>; body: BodyOf<B> }) => string;
  /** The answer holds a secret. */
  readonly noStore?: boolean;
  readonly handle: (deps: Deps, call: OperatorCall<ValueOf<P>, ValueOf<Q>, BodyOf<B>>) => Promise<Answer<R>>;
}

/** A route whose types have been checked where it was defined; `Deps` is what its topic needs. */
export interface OperatorRoute<Deps> extends Omit<
  RouteDefinition<Deps, Part, Part, Part | typeof octets, Responses>,
  'target' | 'env' | 'handle'
> {
  readonly env?: (call: Pick<OperatorCall, 'body'>) => string;
  readonly target?: (call: Pick<OperatorCall, 'params' | 'query' | 'body'>) => string;
  readonly handle: (deps: Deps, call: OperatorCall) => Promise<{ status: number; body: unknown }>;
}

/** What is common to routes, whatever their topics need. */
export type AnyOperatorRoute = OperatorRoute<never>;

/** What defines the routes of a topic, by what it needs: the types of each `handle` follow from its schemas. */
export function routesFor<Deps>() {
  return <
    R extends Responses,
    P extends Part = undefined,
    Q extends Part = undefined,
    B extends Part | typeof octets = undefined,
  >(
    route: RouteDefinition<Deps, P, Q, B, R>,
    // The server validates what it passes by the same schemas.
  ) => route as unknown as OperatorRoute<Deps>;
}

/** A successful answer with its body. */
export function answer<const Status extends number, Body>(status: Status, body: Body): { status: Status; body: Body } {
  return { status, body };
}

/** The answer of an act that tells nothing. */
export const noContent = { status: 204, body: undefined } as const;
