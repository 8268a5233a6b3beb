import { hash, randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { remainingStates } from '../../../machines/backend.ts';
import { Body } from '../../api/commonSchemas.ts';
import { ApiError, conflict, notFound } from '../core/apiError.rules.ts';
import { auditEntry, recordRefusedAct, SERVICE_ACTOR } from '../core/audit.ts';
import { countedAddress, RateLimiter } from '../core/limiter.ts';
import { toTime } from '../core/lists.rules.ts';
import type { AuditCaller } from '../core/permission.rules.ts';
import { bearerCodes, bodyErrors, errorResponses, failures, octetStream, unauthenticated } from '../http/responses.ts';
import { loadHostScripts } from '../http/servedPrograms.ts';
import { findBackend } from '../store/backends.ts';
import type { BackendRow, EnvRow } from '../store/database.ts';
import { lockEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import { addBackend } from './backends.ts';
import type { HostCode, InstallKit, NewHostCode } from './backendSchemas.ts';
import { holderOf, type KitDependencies, listPackages, makeKit, openPackage, packagesPath, quoted } from './kit.ts';

const LIFETIME_MS = 60 * 60_000;
/** How long an expired code is known, so that its host reads why it is refused. */
const KNOWN_MS = 24 * LIFETIME_MS;
const scriptPath = '/v1/host.sh';
const redeemPath = '/v1/host-codes/redeem';

/** An operator's request for a code. */
interface CodeCall {
  caller: AuditCaller;
  fields: NewHostCode;
}

/**
 * Makes a one-time code for a host, and replaces the earlier one. Creates the record of the host if none in the
 * environment has its name. Nothing else changes before the code is redeemed. Throws 404 for an unknown environment, and
 * 409 if several hosts have the name, or the one that has it is at another site.
 */
export async function createHostCode(deps: KitDependencies, { caller, fields }: CodeCall): Promise<HostCode> {
  const code = `dhc_${randomBytes(24).toString('base64url')}`;
  const now = deps.clock();
  const expires_at = now + LIFETIME_MS;
  const { backend, created } = await deps.store.transaction().execute(async (work) => {
    const env = await lockEnv(work, fields.env);
    if (env === null) throw notFound('env');
    const found = await presentHost(deps, work, { env, caller, fields });
    const { id: backend_id } = found.backend;
    await work
      .deleteFrom('host_codes')
      .where((where) => where.or([where('backend_id', '=', backend_id), where('expires_at', '<', now - KNOWN_MS)]))
      .execute();
    const row = { hash: hash('sha256', code), backend_id, expires_at, host: null, generation: null };
    await work.insertInto('host_codes').values(row).execute();
    await addAuditEntry(work, auditEntry(deps, caller, { target: backend_id, env: env.name }));
    return found;
  });
  const { id, env, site, state } = backend;
  const [own, packages] = [await deps.ownAuthority(), await listPackages(deps)];
  const place = { url: deps.settings.public_url, pin: own?.pin ?? null, isUnattended: fields.unattended === true };
  return { id, env, site, state, created, expires_at: toTime(expires_at), packages, lines: linesOf(code, place) };
}

/** The host of a name in a locked environment, which is created if there is none. */
async function presentHost(
  deps: KitDependencies,
  work: Store,
  { env, caller, fields }: CodeCall & { env: EnvRow },
): Promise<{ backend: BackendRow; created: boolean }> {
  const name = fields.name.toLowerCase();
  const named = await work
    .selectFrom('backends')
    .selectAll()
    .where('env', '=', env.name)
    .where('state', 'in', remainingStates)
    .where(({ eb, fn }) => eb.or([eb(fn('lower', ['added_as']), '=', name), eb(fn('lower', ['host_name']), '=', name)]))
    .execute();
  const added = named.filter(({ added_as }) => added_as?.toLowerCase() === name);
  const [backend, ...others] = added.length > 0 ? added : named;
  const refuse = (message: string) => conflict({ code: 'HOST_EXISTS', message, env: env.name });
  if (others.length > 0) throw refuse(`${others.length + 1} hosts are named ${fields.name}: choose another name`);
  if (backend === undefined) {
    const { name: told, site = told, laptop = false } = fields;
    const created = { env: env.name, site, laptop, transport: 'system', name: told } as const;
    const id = await addBackend(deps, work, {
      row: env,
      caller: { ...caller, act: 'backend.create' },
      fields: created,
    });
    return { backend: await requireRow(work, id), created: true };
  }
  if (fields.site !== undefined && fields.site !== backend.site)
    throw refuse(`${fields.name} exists at the site ${backend.site}: leave the site out, or choose another name`);
  return { backend, created: false };
}

async function requireRow(store: Store, id: string): Promise<BackendRow> {
  const row = await findBackend(store, id);
  if (row === null) throw notFound('backend');
  return row;
}

/**
 * The lines for a shell on the host. They make sure that curl is there, fetch the script, and pass the code on its
 * standard input. With an authority of the service, the pin of its key is what curl enforces.
 */
function linesOf(
  code: string,
  { url, pin, isUnattended }: { url: string; pin: string | null; isUnattended: boolean },
): string[] {
  const trust = pin === null ? '' : ` -k --pinnedpubkey ${quoted(pin)}`;
  return [
    "command -v curl >/dev/null || $(command -v sudo) sh -c 'apt-get update && apt-get install --yes curl'",
    `curl -fsS${trust} -o deployd-host.sh ${quoted(url + scriptPath)} &&`,
    `  sh deployd-host.sh${isUnattended ? ' --yes' : ''} <<'END'`,
    code,
    'END',
  ];
}

/** A code, and the secret key of the host that redeems it, which only this host has. */
const Redemption = Body({
  code: Type.String({ pattern: '^dhc_[A-Za-z0-9_-]{32}$' }),
  host: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'A random key that the host keeps.' }),
});
type Redemption = Static<typeof Redemption>;

/**
 * Redeems a code for an install kit. The first host that redeems it may do so again until it has checked in, for example
 * after an interruption. Throws 404 for an unknown code, and 409 for one that is expired or spent, or of another host.
 */
async function redeem(deps: KitDependencies, { code, host }: Redemption, caller: AuditCaller): Promise<InstallKit> {
  const key = hash('sha256', code);
  const row = await deps.store.selectFrom('host_codes').selectAll().where('hash', '=', key).executeTakeFirst();
  if (row === undefined)
    throw new ApiError({ status: 404, code: 'HOST_CODE_UNKNOWN', message: 'there is no such code, or a newer one' });
  const backend = await requireRow(deps.store, row.backend_id);
  const refuse = (reason: string, message: string) =>
    conflict({ code: `HOST_CODE_${reason}`, message, env: backend.env });
  if (row.generation !== null && (backend.token_generation ?? -1) >= row.generation)
    throw refuse('SPENT', 'the host has checked in, which ended this code');
  if (deps.clock() > row.expires_at) throw refuse('EXPIRED', 'the code has expired: it is valid for an hour');
  const hostHash = hash('sha256', host);
  const { numUpdatedRows } = await deps.store
    .updateTable('host_codes')
    .set({ host: hostHash, generation: row.generation ?? backend.generation + 1 })
    .where('hash', '=', key)
    .where((where) => where.or([where('host', 'is', null), where('host', '=', hostHash)]))
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw refuse('TAKEN', 'another host has redeemed this code');
  return makeKit(deps, caller, () => requireRow(deps.store, backend.id));
}

/** The values of a kit in lines of name and base64, which a shell can read without further programs. */
function textOf(kit: InstallKit): string {
  const values: [name: string, value: string | null][] = [
    ['command', kit.command],
    ['bootstrap.jwt', kit.bootstrap_jwt],
    ['download-token', kit.download_token],
    ['tenancy-ca.pem', kit.tenancy_ca],
    ['secretstore-ca.pem', kit.secretstore_ca],
    ['mesh-enrolment.jwt', kit.mesh_enrolment_jwt],
    ['trust.json', kit.trust && JSON.stringify(kit.trust)],
  ];
  const present = values.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  return present.map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}\n`).join('');
}

/** Redemptions of one address in a minute. */
const limit = {
  times: 60,
  windowMs: 60_000,
  error: { code: 'TOO_MANY_CODES', message: 'too many codes from this address; try again later' },
};

const plainText = { content: { 'text/plain': { schema: Type.String() } } };

/** Registers the calls of hosts that are being added: the script, the redemption of a code, and the packages. */
export async function registerHostRoutes(app: FastifyInstance, deps: KitDependencies): Promise<void> {
  addScript(app, deps);
  addRedemption(app, deps);
  await app.register(async (scope) => {
    scope.decorateRequest('token', null);
    scope.addHook('onRequest', async (request) => {
      const { 'deploy-token': grant } = request.headers;
      if (typeof grant !== 'string') throw unauthenticated('the grant of an install kit is needed');
      request.token = await holderOf(deps, grant);
    });
    addPackages(scope, deps);
  });
}

function addScript(app: FastifyInstance, deps: KitDependencies): void {
  const schema = {
    ...{ tags: ['public'], security: [], operationId: 'hostScript' },
    summary: 'The script that adds a host',
    response: {
      200: { description: 'A script for a POSIX shell.', ...plainText },
      ...errorResponses({ 500: 'INTERNAL' }),
    },
  };
  let loading: ReturnType<typeof loadHostScripts> | undefined;
  app.get(scriptPath, { schema, config: { lane: 'public' } }, async (_request, reply) => {
    const { script, installer } = await (loading ??= loadHostScripts());
    const own = await deps.ownAuthority();
    const text = script
      .replace(/^service=$/m, () => `service=${quoted(deps.settings.public_url)}`)
      .replace(/^authority=$/m, () => `authority=${own === null ? '' : quoted(own.authority.trim())}`)
      .replace(/^# the installer$/m, () => installer.trimEnd());
    return reply.type('text/plain; charset=utf-8').send(text);
  });
}

function addRedemption(app: FastifyInstance, deps: KitDependencies): void {
  const limiter = new RateLimiter(limit, deps.clock);
  const schema = {
    ...{ tags: ['public'], security: [], operationId: 'redeem' },
    summary: 'Redeem a one-time code for the install kit of a host',
    description: 'Each line of the answer is the name of a value, and its base64.',
    body: Redemption,
    response: {
      200: { description: 'The install kit.', ...plainText },
      ...errorResponses({
        ...bodyErrors,
        400: 'REQUEST_INVALID',
        404: 'HOST_CODE_UNKNOWN',
        409: 'HOST_CODE_EXPIRED, HOST_CODE_SPENT, HOST_CODE_TAKEN, BACKEND_RETIRED',
        429: 'TOO_MANY_CODES',
        500: 'INTERNAL',
        503: 'OVERLOADED, PEER_UNAVAILABLE',
      }),
    },
  };
  app.route<{ Body: Redemption }>({
    method: 'POST',
    url: redeemPath,
    bodyLimit: 4096,
    config: { lane: 'public' },
    schema,
    onRequest: async ({ ip }) => limiter.take(countedAddress(ip)),
    handler: async (request, reply) => {
      const caller = { actor: SERVICE_ACTOR, act: 'backend.redeem', address: request.ip, requestId: request.id };
      const kit = await redeem(deps, request.body, caller).catch(async (error: unknown) => {
        if (error instanceof ApiError) {
          const { code: result, env = null } = error.fields;
          await recordRefusedAct(deps, { ...caller, target: '', env, result });
        }
        throw error;
      });
      return reply.type('text/plain; charset=utf-8').send(textOf(kit));
    },
  });
}

const PackageParams = Type.Object({
  version: Type.String({ pattern: '^[0-9][A-Za-z0-9.+~-]{0,60}$' }),
  file: Type.String({ pattern: '^deployd[_-][A-Za-z0-9.+~_-]{1,100}\\.(deb|rpm)(\\.sha256)?$' }),
});

function addPackages(scope: FastifyInstance, deps: KitDependencies): void {
  const schema = {
    ...{ tags: ['agent'], security: [{ kitGrant: [] }], operationId: 'package' },
    summary: 'Download a package of the agent, or its checksum',
    params: PackageParams,
    response: {
      200: { description: 'The package, or a line in the form of sha256sum.', ...octetStream },
      ...failures({ 401: bearerCodes, 404: 'PACKAGE_NOT_FOUND' }),
    },
  };
  scope.route<{ Params: Static<typeof PackageParams> }>({
    method: 'GET',
    url: `${packagesPath}/:version/:file`,
    exposeHeadRoute: false,
    config: { lane: 'download' },
    schema,
    handler: async ({ params }, reply) => {
      const { size, body } = await openPackage(deps, params);
      return reply.headers({ 'content-type': 'application/octet-stream', 'content-length': size }).send(body);
    },
  });
}
