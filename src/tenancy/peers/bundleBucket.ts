import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { type Authorities, createTlsContext, untrustedOf } from '../../core/certificateAuthorities.ts';
import { createAgents } from '../../core/connector.ts';
import { certificateCure, systemAuthorities } from '../../core/untrusted.rules.ts';
import { openRegularFile } from '../../core/files.ts';
import {
  archiveName,
  type BundleStorage,
  type ByteRange,
  isArchiveName,
  type StoredArchive,
  storageError,
} from './bundleStorage.ts';

/** A bucket, and its use. */
export interface Bucket {
  /** Base URL of the service; the bucket is the first part of the path. */
  url: string;
  bucket: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  authorities: Authorities;
  /** Whether it issues links to archives. */
  givesLinks: boolean;
}

/** Largest number of connections: each download uses one for as long as its host takes. */
const MAX_SOCKETS = 1000;
const CONNECT_TIMEOUT_MS = 5000;
/** Lifetime of a link in seconds; a started download continues after that. */
const LINK_LIFETIME_S = 900;
/** Milliseconds without data from the service, or without reading by the downloading host. */
const SOCKET_TIMEOUT_MS = 120_000;

/** Stores bundles in a bucket of an S3 service. */
export function createS3Storage({ bucket: Bucket, givesLinks, ...access }: Bucket): BundleStorage {
  const client = connect(access);
  const objectOf = (sha256: string) => ({ Bucket, Key: archiveName(sha256) });
  return {
    store: (sha256, file) => attempt('store', () => put(client, objectOf(sha256), file)),
    open: (sha256, range) =>
      attempt('read', () => get(client, { ...objectOf(sha256), ...(range && { Range: rangeHeader(range) }) })),
    link: async (sha256) => {
      if (!givesLinks) return null;
      const object = new GetObjectCommand(objectOf(sha256));
      return attempt('link to', () => getSignedUrl(client, object, { expiresIn: LINK_LIFETIME_S }));
    },
    list: () => attempt('list', () => list(client, Bucket)),
    remove: (sha256) =>
      attempt('remove', async () => {
        await client.send(new DeleteObjectCommand(objectOf(sha256)));
      }),
    check: () =>
      attempt('check', async () => {
        await client.send(new HeadBucketCommand({ Bucket }));
      }),
  };
}

const ignore = () => undefined;
/** By default the SDK would write to the console. */
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function connect({ url, region, credentials, authorities }: Omit<Bucket, 'bucket' | 'givesLinks'>): S3Client {
  const trust = { context: createTlsContext(authorities) };
  const agents = createAgents(trust, { connectTimeoutMs: CONNECT_TIMEOUT_MS, maxSockets: MAX_SOCKETS });
  return new S3Client({
    endpoint: url,
    forcePathStyle: true,
    region,
    credentials,
    logger: silent,
    // Stored objects have their own checksum, and each reader verifies the data.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      httpAgent: agents.http,
      httpsAgent: agents.https,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
    },
  });
}

/** Streams a file to the service, which rejects it if the received data has another sha256. */
async function put(client: S3Client, object: { Bucket: string; Key: string }, file: string): Promise<void> {
  await using archive = await openRegularFile(file, { follow: false });
  const { size } = await archive.stat();
  const command = new PutObjectCommand({
    ...object,
    Body: archive.createReadStream({ start: 0, autoClose: false }),
    ContentLength: size,
    ChecksumSHA256: Buffer.from(object.Key, 'hex').toString('base64'),
  });
  // The SDK would read a stream twice to sign its digest, which is already known.
  command.middlewareStack.add(
    (next) => (args) => {
      (args.request as { headers: Record<string, string> }).headers['x-amz-content-sha256'] = object.Key;
      return next(args);
    },
    { step: 'build' },
  );
  await client.send(command);
}

async function get(client: S3Client, input: GetObjectCommand['input']): Promise<Readable | null> {
  try {
    const { Body } = await client.send(new GetObjectCommand(input));
    return Body as Readable;
  } catch (error) {
    if (error instanceof S3ServiceException && error.name === 'NoSuchKey') return null;
    throw error;
  }
}

async function list(client: S3Client, Bucket: string): Promise<StoredArchive[]> {
  const stored: StoredArchive[] = [];
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket }))
    for (const { Key = '', LastModified } of Contents)
      if (isArchiveName(Key)) stored.push({ sha256: Key, storedAt: LastModified?.getTime() ?? 0 });
  return stored;
}

function rangeHeader({ start, end }: ByteRange): string {
  return `bytes=${start}-${end}`;
}

/** Runs a call of the storage; its error contains the code of the service or the runtime. */
async function attempt<T>(doing: Parameters<typeof storageError>[0], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TypeError) throw error;
    throw storageError(doing, reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof S3ServiceException) return `${error.name} (${error.$metadata.httpStatusCode ?? 'no status'})`;
  const { code, message } = error as NodeJS.ErrnoException;
  const untrusted = untrustedOf(error);
  return untrusted === null
    ? (code ?? message)
    : `${untrusted.problem}: ${certificateCure(untrusted, systemAuthorities)}`;
}
