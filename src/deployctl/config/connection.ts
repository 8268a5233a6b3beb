import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { SecureContext } from 'node:tls';
import { isServiceUrl } from '../../core/text.rules.ts';
import {
  type Authorities,
  createTlsContext,
  parseAuthorities,
  readSystemRoots,
  type RootBundle,
} from '../../core/certificateAuthorities.ts';
import { readRegularFile } from '../../core/files.ts';
import { isLoopback } from '../../core/http.rules.ts';
import type { Connection } from '../core/client.ts';
import { type Io, usageError } from '../core/ctlError.ts';
import { readValue } from '../core/input.ts';
import type { CtlSettings } from './configKeys.ts';
import { readSettings } from './configFiles.ts';

/** Options of the connection. */
interface ConnectionOptions {
  url?: string;
  tokenFile?: string;
  caFile?: string;
  config?: string;
}

/** Address of the API; each value from the command line, otherwise the environment, otherwise config.yaml. */
interface Target {
  url: URL;
  /** Null if there is no token file. */
  tokenFile: string | null;
  caFile: string | null;
}

/** The connection from command line, environment and config.yaml. Throws usage errors. */
export async function connectionOf(
  options: ConnectionOptions,
  io: Pick<Io, 'env' | 'stdin' | 'stderr'>,
): Promise<Connection> {
  const { env } = io;
  const { url, tokenFile, caFile } = targetOf(options, env);
  if (tokenFile === null)
    throw usageError('TOKEN_MISSING', 'no token file is named', `\`deployctl login\`, ${othersOf('token-file')}`);
  return { url, token: await readToken(tokenFile, io), context: contextOf(caFile), env };
}

/** The address of the API; throws usage errors. */
export function targetOf(options: ConnectionOptions, env: Io['env']): Target {
  const settings = readSettings(options.config, env);
  const [url, source] = urlOf(options, env) ?? [settings.url, 'url in config.yaml'];
  const tokenFile = options.tokenFile ?? env['DEPLOYCTL_TOKEN_FILE'] ?? settings.token_file;
  const caFile = caFileOf(options, env, settings);
  if (url === null)
    throw usageError('URL_MISSING', 'no tenancy service is named', `\`deployctl login\`, ${othersOf('url')}`);
  return {
    url: serviceUrlOf(url, `the tenancy service (${source})`),
    tokenFile: tokenFile && (tokenFile === '-' ? tokenFile : resolve(tokenFile)),
    caFile,
  };
}

/** The address for this call and its source; null if there is none. */
function urlOf({ url }: ConnectionOptions, { DEPLOYCTL_URL: variable }: Io['env']): [string, string] | null {
  if (url !== undefined) return [url, '--url'];
  return variable === undefined ? null : [variable, 'DEPLOYCTL_URL'];
}

/**
 * The file of certificate authorities, or null: from the command line, otherwise the environment, otherwise
 * config.yaml.
 */
export function caFileOf({ caFile }: ConnectionOptions, env: Io['env'], settings: CtlSettings): string | null {
  const file = caFile ?? env['DEPLOYCTL_CA_FILE'] ?? settings.ca_file;
  return file === null ? null : resolve(file);
}

/** TLS that trusts the certificate authorities of a file, or by default the system's. */
export function contextOf(caFile: string | null): SecureContext {
  return createTlsContext(authoritiesOf(caFile));
}

/** TLS that trusts the system's certificate authorities and a file, for third-party services. */
export function widerContextOf(caFile: string | null): SecureContext {
  const system = authoritiesOf(null);
  return createTlsContext(caFile === null ? system : (system.concat(authoritiesOf(caFile)) as Authorities));
}

function authoritiesOf(caFile: string | null): Authorities {
  const { path, pem } = readBundle(caFile);
  const authorities = parseAuthorities(pem);
  if (authorities === null) throw usageError('CA_UNUSABLE', `${path} holds no certificate that can be read`);
  return authorities;
}

function othersOf(option: string): string {
  return `--${option} or DEPLOYCTL_${option.toUpperCase().replace('-', '_')}`;
}

/**
 * The address of a service that receives a token. Throws URL_INVALID, which names the service and contains no
 * credentials.
 */
export function serviceUrlOf(text: string, service: string): URL {
  if (!isServiceUrl(text))
    throw usageError(
      'URL_INVALID',
      `the address of ${service} is not an https:// URL without credentials, query and fragment`,
    );
  const url = new URL(text);
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw usageError('URL_INVALID', `${text} would send your token in clear: use https://`);
  return url;
}

function readBundle(caFile: string | null): RootBundle {
  try {
    return caFile === null ? readSystemRoots() : { path: caFile, pem: readRegularFile(caFile).toString('latin1') };
  } catch (error) {
    const { code = 'unknown', path = caFile } = error as NodeJS.ErrnoException;
    throw usageError('CA_UNUSABLE', `${path ?? 'the roots of the system'} cannot be read (${code})`);
  }
}

/**
 * Reads an operator's token from a file, a pipe such as /dev/fd/3, or standard input (`-`). Throws TOKEN_UNUSABLE,
 * which contains no part of the text.
 */
export async function readToken(file: string, io: Pick<Io, 'env' | 'stdin' | 'stderr'>): Promise<string> {
  const source = file === '-' ? 'standard input' : file;
  const unusable = (problem: string, remedy?: string) => usageError('TOKEN_UNUSABLE', `${source} ${problem}`, remedy);
  const given = file === '-' ? await readValue(io, undefined, 'token') : await readTokenFile(file, io.env, unusable);
  const text = given.trim();
  if (!isToken(text)) throw unusable('holds no token of an operator', 'it is one line that begins with dpo_');
  return text;
}

async function readTokenFile(
  file: string,
  env: Io['env'],
  unusable: (problem: string, remedy?: string) => Error,
): Promise<string> {
  await using opened = await open(file, constants.O_RDONLY | constants.O_NOCTTY).catch((error: unknown) => {
    throw unusable(`cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  });
  const stats = await opened.stat();
  if (!stats.isFIFO() && !stats.isFile())
    throw unusable(`cannot be read (${stats.isDirectory() ? 'EISDIR' : 'ENOTREG'})`);
  // A CI runner makes the files of its variables readable for every user of the job.
  const isOfRunner = env['CI'] === 'true';
  if (stats.isFile() && (stats.mode & 0o077) !== 0 && !isOfRunner)
    throw unusable('may be read by others', `chmod 600 ${file}`);
  const chunks: Buffer[] = [];
  for (let bytes = 0; bytes < maxBytes;) {
    const { buffer, bytesRead } = await opened.read(Buffer.alloc(maxBytes - bytes), 0, maxBytes - bytes, null);
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
  }
  return Buffer.concat(chunks).toString('latin1');
}

/** True for a text in the form of an operator's token. */
export function isToken(text: string): boolean {
  return /^dpo_[A-Za-z0-9_-]{43}$/.test(text);
}

const maxBytes = 1024;
