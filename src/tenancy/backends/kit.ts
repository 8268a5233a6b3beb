import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { nextBackend } from '../../../machines/backend.ts';
import { isENOENT } from '../../core/errors.rules.ts';
import { openRegularFile } from '../../core/files.ts';
import { agentUnauthenticated, isAccepted } from '../agents/agents.ts';
import { ApiError } from '../core/apiError.rules.ts';
import { auditEntry } from '../core/audit.ts';
import type { AuditCaller } from '../core/permission.rules.ts';
import type { BearerIdentity } from '../keys/bearerCache.ts';
import { type Grant, type KeyRing, signGrant, verifiedClaims } from '../keys/keyRing.ts';
import { audience, backendPrefix } from '../keys/secretstoreRoles.rules.ts';
import type { MeshDirectory } from '../peers/meshDirectory.ts';
import { findAgent } from '../store/agents.ts';
import { changeBackend, recordOf } from '../store/backends.ts';
import type { BackendRow } from '../store/database.ts';
import { findBundle } from '../store/bundles.ts';
import { findBundleTrust, findEnv } from '../store/envs.ts';
import { addPendingSteps, cancelStep } from '../store/pendingSteps.ts';
import { addAuditEntry } from '../store/people.ts';
import type { InstallKit } from './backendSchemas.ts';
import type { BackendDependencies } from './backendViews.ts';
import { type BackendCall, requireBackend, retired } from './backends.ts';

/** Dependencies of install kits. */
export interface KitDependencies extends BackendDependencies {
  readonly version: string;
  /** Returns the current signing keys. */
  readonly keys: () => KeyRing;
  /** Null without a mesh. */
  readonly mesh: MeshDirectory | null;
  /** Returns the service's own certificate authority in PEM, and the pin of its key; null if it uses another one. */
  readonly ownAuthority: () => Promise<{ authority: string; pin: string } | null>;
  /** PEM of the secretstore's certificate authorities, and the bearer token for the package download. */
  readonly kit: { readonly secretstoreCa: string | null; readonly downloadToken: string | null };
}

/** Seconds in which the grant of a kit can be exchanged. */
const GRANT_LIFETIME_S = 24 * 3600;
/** Milliseconds after which a mesh identity is deleted if no kit contains it. */
const IDENTITY_UNUSED_MS = 10 * 60_000;

/** A mesh identity that was created for one kit. */
interface Enrolment {
  identity: string;
  jwt: string;
}

/**
 * Returns the install kit of a backend and supersedes its earlier kits. When two calls overlap, the later kit is valid
 * as a whole: each kit is created for one generation, which only one call gets. Credentials of an earlier kit stay
 * valid until the new kit is stored. Throws 404, and 409 `BACKEND_RETIRED`.
 */
export function revealKit(
  deps: KitDependencies,
  { caller, ...call }: BackendCall & { caller: AuditCaller },
): Promise<InstallKit> {
  return makeKit(deps, caller, () => requireBackend(deps, call));
}

/** Like `revealKit`, for the backend that `read` returns. */
export async function makeKit(
  deps: KitDependencies,
  caller: AuditCaller,
  read: () => Promise<BackendRow>,
): Promise<InstallKit> {
  for (;;) {
    const row = await read();
    const next = nextBackend(recordOf(row), { type: 'REVEAL_KIT' });
    if (next === null) throw retired(row.env);
    const enrolment = await makeIdentity(deps, row);
    const grant = await grantOf(deps, { ...row, generation: next.generation });
    if (!(await commitReveal(deps, { row, enrolment, caller }))) continue;
    const [own, recorded, packages] = await Promise.all([
      deps.ownAuthority(),
      recordedFor(deps, row.env),
      listPackages(deps),
    ]);
    const hasPackages = packages.length > 0;
    return kitOf(deps, { row, grant, enrolment, tenancyCa: own?.authority ?? null, recorded, hasPackages });
  }
}

/** Creates an identity next to the previous kit's identity. It is deleted again unless the kit is returned. */
async function makeIdentity({ mesh, store, clock }: KitDependencies, row: BackendRow): Promise<Enrolment | null> {
  if (mesh === null || row.transport === 'system') return null;
  const identity = `${row.id}.${randomBytes(4).toString('hex')}`;
  await addPendingSteps(store, identity, { steps: ['deleteUnusedIdentity'], dueAt: clock() + IDENTITY_UNUSED_MS });
  return { identity, jwt: await mesh.createIdentity(identity) };
}

function grantOf({ keys, settings, clock }: KitDependencies, row: BackendRow): Promise<Grant> {
  return signGrant(keys(), row, {
    issuer: settings.public_url,
    audience,
    lifetimeS: GRANT_LIFETIME_S,
    now: clock(),
  });
}

/** Returns false if another call took the generation, or the backend does not allow a kit any more. */
function commitReveal(
  deps: KitDependencies,
  { row, enrolment, caller }: { row: BackendRow; enrolment: Enrolment | null; caller: AuditCaller },
): Promise<boolean> {
  const now = deps.clock();
  return deps.store.transaction().execute(async (work) => {
    const revealed = await changeBackend(work, row.id, {
      event: { type: 'REVEAL_KIT' },
      now,
      columns: { mesh_identity: enrolment?.identity ?? null },
      when: ({ generation }) => generation === row.generation,
    });
    if (revealed === null) return false;
    if (enrolment !== null) await cancelStep(work, enrolment.identity, 'deleteUnusedIdentity');
    if (row.mesh_identity !== null) {
      await addPendingSteps(work, row.mesh_identity, { steps: ['deleteUnusedIdentity'], dueAt: now });
    }
    if (revealed.token_accessor !== null) {
      await addPendingSteps(work, revealed.token_accessor, { steps: ['revokeSupersededToken'], dueAt: now });
    }
    await addAuditEntry(work, auditEntry(deps, caller, { target: row.id, env: row.env }));
    return true;
  });
}

/** Recorded facts about the bundles of an environment, which a new host cannot know. */
type Recorded = Pick<InstallKit, 'trust' | 'sequence'>;

async function recordedFor({ store }: KitDependencies, name: string): Promise<Recorded> {
  const [env, recorded] = await Promise.all([findEnv(store, name), findBundleTrust(store, name)]);
  const desired = env?.desired_sha ? await findBundle(store, env.desired_sha) : null;
  const { threshold, keys, identities, root } = recorded ?? { threshold: 0, keys: [], identities: [], root: null };
  const parsed = root === null ? null : (JSON.parse(root) as NonNullable<InstallKit['trust']>['root']);
  return {
    trust: recorded && { threshold, keys: [...keys], identities: [...identities], root: parsed },
    sequence: desired?.sequence ?? null,
  };
}

function kitOf(
  { settings, version, kit }: KitDependencies,
  {
    row,
    grant,
    enrolment,
    tenancyCa,
    recorded,
    hasPackages,
  }: {
    row: BackendRow;
    grant: Grant;
    enrolment: Enrolment | null;
    tenancyCa: string | null;
    recorded: Recorded;
    hasPackages: boolean;
  },
): InstallKit {
  const { id, env, site, transport } = row;
  const tenancy_url = settings.public_url;
  const secretstore_url = settings.kit.secretstore_url ?? settings.secretstore_url;
  // The embedded secretstore has the certificate of the service.
  const secretstoreCa = kit.secretstoreCa ?? (settings.secretstore.listen === null ? null : tenancyCa);
  const isPublisher = settings.kit.base_url === null && hasPackages;
  const base_url = isPublisher ? settings.public_url + packagesPath : settings.kit.base_url;
  const wantedVersion = settings.kit.version ?? (isPublisher ? version : null);
  const command = installCommand({
    env,
    site,
    transport,
    tenancyUrl: tenancy_url,
    tenancyCa,
    secretstoreUrl: secretstore_url,
    secretstoreCa,
    baseUrl: base_url,
    version: wantedVersion,
    meshEnrolmentJwt: enrolment?.jwt ?? null,
    reEnrol: row.mesh_identity !== null,
    laptop: row.laptop === 1,
    ...recorded,
  });
  return {
    id,
    env,
    site,
    version: settings.kit.version ?? version,
    base_url,
    download_token: isPublisher ? grant.jwt : kit.downloadToken,
    bootstrap_jwt: grant.jwt,
    expires_at: grant.expiresAt,
    transport,
    tenancy_url,
    tenancy_ca: tenancyCa,
    secretstore_url,
    secretstore_ca: secretstoreCa,
    mesh_enrolment_jwt: enrolment?.jwt ?? null,
    ...recorded,
    command,
  };
}

/** Options of the install command of a host. */
interface InstallOptions extends Recorded {
  env: string;
  site: string;
  transport: string;
  tenancyUrl: string;
  /** Null to use the system's certificate authorities; likewise below. */
  tenancyCa: string | null;
  secretstoreUrl: string;
  secretstoreCa: string | null;
  baseUrl: string | null;
  /** Null for the installer's default version. */
  version: string | null;
  meshEnrolmentJwt: string | null;
  /** True if an earlier kit may have enrolled the host. */
  reEnrol: boolean;
  laptop: boolean;
}

/** The install command for a shell. It contains no credentials; they are in files with these names. */
function installCommand(kit: InstallOptions): string {
  const options: [string, string | null][] = [
    ['env', kit.env],
    ['site', kit.site],
    ['transport', kit.transport],
    ['tenancy-url', kit.tenancyUrl],
    ['tenancy-ca', kit.tenancyCa && 'tenancy-ca.pem'],
    ['secretstore-url', kit.secretstoreUrl],
    ['secretstore-ca', kit.secretstoreCa && 'secretstore-ca.pem'],
    ['base-url', kit.baseUrl],
    ['version', kit.version],
    ['bootstrap-file', 'bootstrap.jwt'],
    ['identity-jwt', kit.meshEnrolmentJwt && 'mesh-enrolment.jwt'],
    ['kit-trust', kit.trust && 'trust.json'],
    ['sequence', kit.sequence === null ? null : String(kit.sequence)],
  ];
  const flags = [kit.meshEnrolmentJwt !== null && kit.reEnrol && '--re-enrol', kit.laptop && '--laptop'];
  const words = options.flatMap(([name, value]) => (value === null ? [] : [`--${name}`, quoted(value)]));
  return ['sh install.sh', ...words, ...flags.filter((flag) => flag !== false)].join(' ');
}

/** Quotes a word for a shell. */
export function quoted(value: string): string {
  return /^[\w./:@%+=,-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}

/** Path of the packages that the service hands out; version and file follow. */
export const packagesPath = '/v1/packages';

type PackageDependencies = Pick<KitDependencies, 'settings' | 'version'>;

/** The files of the agent's packages of a version: for both formats and architectures. */
function packageFiles(version: string): string[] {
  return [
    ...['amd64', 'arm64'].map((architecture) => `deployd_${version}_${architecture}.deb`),
    ...['x86_64', 'aarch64'].map((architecture) => `deployd-${version}.${architecture}.rpm`),
  ];
}

/** The packages in the directory, of the version that new hosts install. */
export async function listPackages({ settings, version }: PackageDependencies): Promise<string[]> {
  const wanted = packageFiles(settings.kit.version ?? version);
  const present = await readdir(settings.kit.packages_dir).catch((error: unknown): string[] => {
    if (isENOENT(error)) return [];
    throw error;
  });
  return wanted.filter((file) => present.includes(file));
}

/** Digests of packages by path, as long as the file is the same. */
const digests = new Map<string, { of: string; digest: Promise<string> }>();

/** A package, or its checksum in the form of sha256sum. */
export interface SentPackage {
  size: number;
  body: Readable | string;
}

/** Opens a package, or returns its checksum for the name with `.sha256`. Throws 404. */
export async function openPackage(
  { settings }: PackageDependencies,
  { version, file }: { version: string; file: string },
): Promise<SentPackage> {
  const name = file.replace(/\.sha256$/, '');
  if (!packageFiles(version).includes(name)) throw noPackage(file);
  const path = join(settings.kit.packages_dir, name);
  const handle = await openRegularFile(path, { follow: false }).catch(() => null);
  if (handle === null) throw noPackage(file);
  const facts = await handle.stat();
  const bytes = handle.createReadStream({ start: 0, end: facts.size - 1 });
  if (name === file) return { size: facts.size, body: bytes };
  const of = [facts.ino, facts.size, facts.mtimeMs].join();
  const known = digests.get(path);
  if (known?.of === of) bytes.destroy();
  else digests.set(path, { of, digest: digestOf(bytes) });
  const body = `${await digests.get(path)?.digest}  ${name}\n`;
  return { size: body.length, body };
}

async function digestOf(bytes: Readable): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of bytes as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}

function noPackage(file: string): ApiError {
  const message = `the service has no package ${file}: put it into the packages_dir of the service`;
  return new ApiError({ status: 404, code: 'PACKAGE_NOT_FOUND', message });
}

/** The host that a grant of an install kit belongs to. Throws 401 unless the grant is of a kit that is accepted. */
export async function holderOf(deps: KitDependencies, jwt: string): Promise<BearerIdentity> {
  const claims = await verifiedClaims(deps.keys(), jwt);
  const { iss, aud, exp, sub, env, gen } = claims ?? {};
  const isValid = iss === deps.settings.public_url && aud === audience && Number(exp) * 1000 > deps.clock();
  if (isValid && typeof sub === 'string' && typeof env === 'string' && sub.startsWith(backendPrefix)) {
    const identity = { backendId: sub.slice(backendPrefix.length), env, generation: Number(gen), accessor: '' };
    const backend = await findAgent(deps.store, identity.backendId);
    if (backend !== null && isAccepted({ backend, token: identity }, 'bundle')) return identity;
  }
  throw agentUnauthenticated();
}
