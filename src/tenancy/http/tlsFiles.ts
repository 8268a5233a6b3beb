import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:tls';
import { readRegularFile } from '../../platform/regularFile.ts';
import type { LogLine } from '../services/dependencies.ts';
import type { TlsIdentity } from './httpServer.ts';

/** PEM files of a certificate chain and its key. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Milliseconds between two looks at the files. */
const LOOK_EVERY_MS = 10_000;

/** Certificate and key cannot be used; the message names the files and says why. */
export class TlsFilesError extends Error {
  constructor({ certificate, key }: TlsFiles, reason: string) {
    super(`${certificate} and ${key}: ${reason}`);
    this.name = 'TlsFilesError';
  }
}

/** Largest file of a certificate chain or key, in bytes. */
const MAX_BYTES = 1_048_576;

/** Reads certificate and key; throws TlsFilesError unless they belong together. */
export function readTlsFiles(files: TlsFiles): TlsIdentity {
  try {
    const identity = {
      cert: readRegularFile(files.certificate, MAX_BYTES),
      key: readRegularFile(files.key, MAX_BYTES),
    };
    if (new X509Certificate(identity.cert).checkPrivateKey(createPrivateKey(identity.key))) return identity;
  } catch (error) {
    throw new TlsFilesError(files, (error as Error).message);
  }
  throw new TlsFilesError(files, 'the key is not that of the certificate');
}

/** What is followed, and where its changes go. */
export interface FollowedFiles {
  files: TlsFiles;
  /** The identity that the server began with. */
  identity: TlsIdentity;
  log: LogLine;
}

/**
 * Uses certificate and key for new connections as soon as the files have changed; a pair that does not fit together, as
 * in the midst of a replacement, is left out. Returns a function that stops it.
 */
export function followTlsFiles(
  server: Server,
  { files, identity, log }: FollowedFiles,
  everyMs = LOOK_EVERY_MS,
): () => void {
  let current = identity;
  let trouble = '';
  const look = () => {
    try {
      const next = readTlsFiles(files);
      trouble = '';
      if (isSame(next, current) || !(server instanceof TlsServer)) return;
      server.setSecureContext(next);
      current = next;
      log('info', 'the TLS certificate has been replaced');
    } catch (error) {
      const { message } = error as Error;
      if (message !== trouble) log('warn', `the TLS certificate cannot be used: ${message}`);
      trouble = message;
    }
  };
  const timer = setInterval(look, everyMs).unref();
  return () => clearInterval(timer);
}

function isSame(one: TlsIdentity, other: TlsIdentity): boolean {
  return String(one.cert) === String(other.cert) && String(one.key) === String(other.key);
}
