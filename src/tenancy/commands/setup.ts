import { once } from 'node:events';
import { constants, existsSync, statSync } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import { createServer } from 'node:net';
import { lookup } from 'node:dns/promises';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Account, type HomeAccount, userOf } from '../../core/accounts.ts';
import { isENOENT } from '../../core/errors.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import { actAs, NotAllowed, ownerOfStateDir } from '../../core/process.ts';
import { byService } from '../core/audit.ts';
import { configTable, type TenancySettings } from '../config/configKeys.ts';
import { loadSettings, parseListenAddress, publicHostOf } from '../config/loadSettings.ts';
import { createEnv } from '../envs/envs.ts';
import { addKey, createSealer, listSigningKeys, openKeyRing } from '../keys/keyRing.ts';
import { ownIdentity, pinOf } from '../keys/ownAuthority.ts';
import { digestOfToken, newOperatorToken } from '../people/authenticate.ts';
import { addAdministrator } from '../people/people.ts';
import { readTlsFiles } from '../server/startServer.ts';
import { listEnvs } from '../store/envs.ts';
import { migrateStore, type Store } from '../store/openStore.ts';
import { findOperator, isKnownToken } from '../store/people.ts';
import { POLL_MS, readinessFault, START_MS, startUnit } from './serve.ts';
import {
  configText,
  contradictions,
  ctlConfigText,
  firstEnv,
  isOfThisMachine,
  listenAddresses,
  operatorNames,
  readSetupUrl,
  requestProblems,
  defaultSecretstorePort,
  type SetupRequest,
  tokenFileOfCtlConfig,
  urlOfCtlConfig,
} from './setup.rules.ts';
import {
  CommandError,
  ensureKeyFile,
  type Output,
  requireKnownTables,
  storeFileOf,
  storePlaceOf,
  syncDirectory,
  takeInstanceLock,
  withStore,
} from './storeAccess.ts';

const PROGRAM = 'deployd-tenancy';

/** The configuration to set up, and the user who is logged in. */
export interface SetupPlace {
  configPath: string;
  /** False for a configuration that the unit of the package does not read. */
  isOfUnit: boolean;
  /** The user who has called sudo; root if there is none. */
  user: HomeAccount;
}

/**
 * `deployd-tenancy setup URL`: writes the configuration, creates the store, the environment `main` and an operator for
 * the calling user, logs their `deployctl` in, and starts the service. Checks everything before the first change. The
 * next run keeps what exists, and finishes an interrupted one.
 */
export async function setup(asked: SetupRequest, place: SetupPlace, out: Output): Promise<number> {
  const plan = await planSetup(asked, place);
  return withAdvice(async () => {
    await writeConfig(plan, out);
    const settings = loadSettings(place.configPath);
    const made = await actAs(plan.owner, () => fillStore(settings, plan, out));
    await logIn(plan, made, out);
    const isReady = await startService(settings, { plan, trusted: made.certificate }, out);
    await showNext(settings, { plan, isReady }, out);
    return 0;
  });
}

interface Plan {
  url: URL;
  asked: SetupRequest;
  place: SetupPlace;
  /** The configuration that exists; null for a new one. */
  existing: TenancySettings | null;
  /** The user of the service. */
  owner: Account;
  /** The text of a new configuration. */
  text: string;
}

/** Checks the request and this machine, and changes nothing. */
async function planSetup(asked: SetupRequest, place: SetupPlace): Promise<Plan> {
  if (process.getuid?.() !== 0)
    throw new NotAllowed(`only root can set the service up: run sudo ${PROGRAM} setup ${asked.url}`);
  process.umask(0o077);
  const { url, problem } = readSetupUrl(asked.url);
  if (url === null) throw new CommandError(problem);
  refuse(requestProblems(asked, url));
  const existing = existsSync(place.configPath) ? loadSettings(place.configPath) : null;
  if (existing !== null) {
    const differences = contradictions(asked, url, existing);
    const cure = 'setup does not change a configuration: edit it yourself, or leave this out';
    refuse(differences.map((difference) => `${place.configPath}: ${difference}; ${cure}`));
  }
  const owner = ownerOfStateDir(
    existing?.state_dir ?? asked.stateDir ?? String(configTable.keys.state_dir.default),
    PROGRAM,
  );
  await actAs(place.user, () => refuseOtherLogin(place.user, url));
  const hasIpv6 = !['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes((await listenFault('::', 0)) ?? '');
  const [listen, storeListen] = listenAddresses(url, asked.secretstorePort ?? defaultSecretstorePort, hasIpv6);
  const addresses = existing === null ? [listen, storeListen] : [existing.listen, existing.secretstore.listen];
  if (existing === null || !(await actAs(owner, () => isServing(existing)))) await refusePorts(addresses);
  return { url, asked, place, existing, owner, text: configText(asked, url, hasIpv6) };
}

function refuse(problems: string[]): void {
  if (problems.length > 0) throw new CommandError(`${problems.join('\n')}\nnothing was changed`);
}

/** The user with a name and a home directory. Throws a CommandError. */
export async function callingUser(name: string): Promise<HomeAccount> {
  const user = await userOf(name);
  if (user === null) throw new CommandError(`the user ${name}, who called sudo, is unknown to this system`);
  if (statSync(user.home, { throwIfNoEntry: false })?.isDirectory() === true) return user;
  throw new CommandError(
    `${user.home}, the home directory of ${name}, does not exist: create it, then run setup again`,
  );
}

/** Refuses a user who is logged in at another service: the next commands would go there. */
function refuseOtherLogin(user: HomeAccount, url: URL): void {
  const { configFile } = ctlFilesOf(user);
  const text = readText(configFile);
  const other = text === null ? null : urlOfCtlConfig(text);
  if (other === null || (URL.canParse(other) && new URL(other).href === url.href)) return;
  refuse([`${configFile} belongs to the service ${other}: move it away, then run setup again`]);
}

/** Whether a service with this configuration runs. */
function isServing(settings: TenancySettings): boolean {
  // With PostgreSQL nobody knows: the start finds a port that is taken.
  if (settings.database_url_file !== null) return true;
  if (!existsSync(storeFileOf(settings))) return false;
  const release = takeInstanceLock(join(settings.state_dir, 'serving.lock'));
  release?.();
  return release === null;
}

async function refusePorts(addresses: (string | null)[]): Promise<void> {
  const problems: string[] = [];
  for (const address of addresses.filter((each) => each !== null)) {
    const { host, port } = parseListenAddress(address);
    const code = await listenFault(host, port);
    if (code === 'EADDRINUSE') {
      const other = `sudo ss -ltnp shows by which program; stop it, or choose another port in the URL or with --secretstore-port`;
      problems.push(`port ${port} is in use: ${other}`);
    } else if (code !== null) problems.push(`${address} cannot be listened on (${code})`);
  }
  refuse(problems);
}

/** The code of the error with which listening fails; null if it works. */
async function listenFault(host: string, port: number): Promise<string | null> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  } finally {
    server.close();
  }
}

/** Adds what to do to errors of disks. */
async function withAdvice<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const isFull = ['ENOSPC', 'EDQUOT'].includes(code) || /disk is full/.test(message);
    if (!isFull) throw error;
    throw new CommandError(`${message}\nfree some space, then run setup again: it continues where it has stopped`);
  }
}

/** Writes a file completely or not at all; a file that a killed run has left is overwritten. */
async function writeWhole(file: string, text: string, { mode = 0o600, gid = null as number | null } = {}) {
  const temporary = `${file}.setup`;
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  try {
    await using part = await open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
    await part.chmod(0o600);
    await part.writeFile(text);
    if (gid !== null) await part.chown(0, gid);
    await part.chmod(mode);
    await part.sync();
    await rename(temporary, file);
    await syncDirectory(dirname(file));
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw Object.assign(new CommandError(`${file} cannot be written (${code})`), { code });
  }
}

/** Null for a file that does not exist. */
function readText(file: string): string | null {
  try {
    return readRegularFile(file, 65_536).toString('utf8');
  } catch (error) {
    if (isENOENT(error)) return null;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new CommandError(`${file} cannot be read (${code}): correct or remove it, then run setup again`);
  }
}

async function writeConfig({ existing, text, owner, place: { configPath } }: Plan, out: Output): Promise<void> {
  if (existing === null) await writeWhole(configPath, text, { mode: 0o640, gid: owner.gid });
  out.log(`${existing === null ? 'written' : 'kept'}: configuration ${configPath}`);
}

/** The certificates in the store, and the settings. */
interface Made {
  /** The authority of the service; null if it uses files. */
  authority: string | null;
  /** The certificate of the service; null without TLS. */
  certificate: string | null;
  settings: TenancySettings;
}

async function fillStore(settings: TenancySettings, { url }: Plan, out: Output): Promise<Made> {
  return withStore(storePlaceOf(settings), async (store) => {
    const { isEmpty } = await requireKnownTables(store);
    const isNew = isEmpty || (await listSigningKeys(store)).length === 0;
    // A new key file would not decrypt what an existing store contains: `serve` and `doctor` say what to do.
    const hasKeyFile = existsSync(settings.key_file);
    if (!isNew && !hasKeyFile)
      throw new CommandError(`${settings.key_file} is missing, and the store is encrypted with it: put it back`);
    const keyFile = await ensureKeyFile(settings.key_file);
    const advice = 'keep a copy apart from the backups: without it, secrets are lost';
    out.log(hasKeyFile ? `kept: key file ${settings.key_file}` : `created: key file ${settings.key_file} (${advice})`);
    const migrated = await migrateStore(store);
    if (isNew) await addKey(store, keyFile, Date.now());
    else await openKeyRing(store, keyFile);
    const name = 'file' in storePlaceOf(settings) ? storeFileOf(settings) : 'in the database';
    out.log(isNew ? `created: store ${name}` : migrated.length > 0 ? `migrated: store ${name}` : `kept: store ${name}`);
    const certificates = await makeCertificate(settings, { store, keyFile, url }, out);
    await makeEnv(store, out);
    return { ...certificates, settings };
  });
}

async function makeCertificate(
  settings: TenancySettings,
  { store, keyFile, url }: { store: Store; keyFile: Buffer; url: URL },
  out: Output,
): Promise<Pick<Made, 'authority' | 'certificate'>> {
  const { own_authority, certificate_file: certificate, key_file: key } = settings.tls;
  if (certificate !== null && key !== null) {
    out.log(`kept: certificate ${certificate}`);
    return { authority: null, certificate: String(readTlsFiles({ certificate, key }).cert) };
  }
  if (!own_authority) return { authority: null, certificate: null };
  const host = publicHostOf(settings);
  const { authority, cert } = await ownIdentity({ store, sealer: createSealer(keyFile), host, now: Date.now() });
  out.log(`certificate: of ${url.host}, signed by the service’s own authority; pin of its key: ${pinOf(cert)}`);
  return { authority, certificate: cert };
}

async function makeEnv(store: Store, out: Output): Promise<void> {
  const existing = await listEnvs(store, null);
  if (existing.length > 0) {
    out.log(`kept: environment ${existing.map(({ name }) => name).join(', ')}`);
    return;
  }
  const caller = byService('service.setup');
  await createEnv({ store, clock: Date.now }, { caller, env: firstEnv, production: false });
  out.log(`created: environment ${firstEnv}`);
}

function ctlFilesOf({ home }: HomeAccount) {
  const dir = join(home, '.config', 'deployctl');
  return {
    dir,
    configFile: join(dir, 'config.yaml'),
    tokenFile: join(dir, 'token'),
    authorityFile: join(dir, 'authority.pem'),
  };
}

/**
 * Logs the user in. The token is in the user's file before the store knows it: a killed run loses no token, and the next
 * one registers it. Files in the home directory are read and written with the user's rights only.
 */
async function logIn({ url, owner, place: { user } }: Plan, { settings, authority }: Made, out: Output): Promise<void> {
  const files = ctlFilesOf(user);
  const login = await actAs(user, async () => {
    const config = readText(files.configFile);
    const named = (config === null ? null : tokenFileOfCtlConfig(config)) ?? files.tokenFile;
    return { config, token: readText(named)?.trim() ?? '', isOwnFile: named === files.tokenFile };
  });
  const digest = digestOfToken(login.token);
  const inStore = <T>(work: (store: Store) => Promise<T>) =>
    actAs(owner, () => withStore(storePlaceOf(settings), work));
  const known = await inStore(async (store) => {
    const row = digest === null ? null : await findOperator(store, digest, Date.now());
    return { name: row?.name ?? null, isKnown: digest !== null && (await isKnownToken(store, digest)) };
  });
  // A token that was revoked must not be valid again.
  const isPending = digest !== null && !known.isKnown && login.isOwnFile;
  const token = known.name !== null || isPending ? login.token : newOperatorToken();
  await actAs(user, async () => {
    await mkdir(files.dir, { recursive: true, mode: 0o700 });
    if (token !== login.token) await writeWhole(files.tokenFile, `${token}\n`);
    if (authority !== null && readText(files.authorityFile) !== authority)
      await writeWhole(files.authorityFile, authority);
  });
  const name = known.name ?? (await inStore((store) => addOperatorOf(user, { store, token })));
  const isKept = known.name !== null && login.config !== null;
  const namesToken = login.config !== null && login.isOwnFile;
  if (!isKept && !namesToken) {
    const text = ctlConfigText(url, files.tokenFile, authority === null ? null : files.authorityFile);
    await actAs(user, () => writeWhole(files.configFile, text));
  }
  const who = `operator ${name} (administrator), with whose token deployctl of ${user.name} is logged in`;
  out.log(`${isKept ? 'kept' : 'created'}: ${who}: ${files.configFile}`);
}

async function addOperatorOf(user: HomeAccount, { store, token }: { store: Store; token: string }): Promise<string> {
  for (const name of operatorNames(user.name)) {
    const administrator = { name, act: 'service.setup', now: Date.now(), token };
    const made = await store.transaction().execute((work) => addAdministrator(work, administrator));
    if (made !== null) return name;
  }
  throw new CommandError(`every name like ${user.name} is in use by an operator: run ${PROGRAM} admin NAME`);
}

/** Starts the service where systemd runs, and returns whether it is ready. */
async function startService(
  settings: TenancySettings,
  { plan, trusted }: { plan: Plan; trusted: string | null },
  out: Output,
): Promise<boolean> {
  const { isOfUnit } = plan.place;
  if (isOfUnit && existsSync('/run/systemd/system')) await startUnit(out);
  else if (await actAs(plan.owner, () => isServing(settings))) out.log('kept: the service runs');
  else {
    out.log('not started: systemd does not run here, or its unit reads another configuration. Start the service by');
    out.log(`  ${serveCommand(plan)}`);
    return false;
  }
  const end = Date.now() + START_MS;
  for (;;) {
    const fault = await readinessFault(settings, trusted);
    if (fault === null) return true;
    if (Date.now() > end) {
      const doctor = `sudo ${PROGRAM} doctor`;
      throw new CommandError(`the service runs, but is not ready after ${START_MS / 1000} s: ${fault}; run ${doctor}`);
    }
    await setTimeout(POLL_MS);
  }
}

function serveCommand({ owner, place: { configPath, isOfUnit } }: Plan): string {
  const config = isOfUnit ? '' : ` --config ${configPath}`;
  return `sudo -u ${owner.name ?? `#${owner.uid}`} ${PROGRAM} serve${config}`;
}

async function showNext(
  settings: TenancySettings,
  { plan, isReady }: { plan: Plan; isReady: boolean },
  out: Output,
): Promise<void> {
  const { url, place } = plan;
  const [host, isLocal] = [publicHostOf(settings), isOfThisMachine(url)];
  if (
    !isLocal &&
    !(await lookup(host).then(
      () => true,
      () => false,
    ))
  )
    out.error(`warning: ${host} has no address yet: enter it in the DNS, for this machine, hosts and operators`);
  if (isLocal) out.error(`warning: hosts on other machines cannot call ${url.origin}`);
  if (isReady) out.log(`ready: ${url.origin}`);
  const store = settings.secretstore.listen === null ? [] : [parseListenAddress(settings.secretstore.listen).port];
  const ports = [parseListenAddress(settings.listen).port, ...store].join(' and ');
  out.log(`next: open port ${ports} to hosts; then, as ${place.user.name}:`);
  out.log('  deployctl host add NAME');
}
