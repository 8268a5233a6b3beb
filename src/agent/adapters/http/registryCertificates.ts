import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SecureContext } from 'node:tls';
import { createTlsContext, parseAuthorities } from '../../../core/certificateAuthorities.ts';
import { readRegularFile } from '../../../core/files.ts';
import { RegistryError } from '../../../registry/repository.ts';
import { errorCodeOf } from './httpRequest.ts';

/**
 * A TLS context by these roots (PEM), the authorities (`*.crt`) in these directories, and the first client certificate there
 * (`*.cert`, with its `*.key`), as engines keep them for a registry. Throws `RegistryError`.
 */
export function registryContext(roots: string, dirs: readonly string[]): SecureContext {
  const files = dirs.flatMap((dir) => namesIn(dir).map((name) => join(dir, name)));
  const authorities = parseAuthorities(
    [roots, ...files.filter((path) => path.endsWith('.crt')).map(readText)].join('\n'),
  );
  if (authorities === null)
    throw new RegistryError('no certificate authority is known by which a registry is believed');
  const certificate = files.find((path) => path.endsWith('.cert'));
  if (certificate === undefined) return createTlsContext(authorities);
  const key = readText(certificate.replace(/cert$/, 'key'));
  try {
    return createTlsContext(authorities, { cert: readText(certificate), key });
  } catch {
    throw new RegistryError(`${certificate} and its key cannot be used`);
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir).sort();
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw unreadable(dir, error);
  }
}

function readText(path: string): string {
  try {
    return readRegularFile(path).toString('latin1');
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): RegistryError {
  return new RegistryError(`${path} cannot be read (${errorCodeOf(error) ?? 'unknown'})`);
}
