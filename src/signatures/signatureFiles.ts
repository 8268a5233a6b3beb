import { createHash } from 'node:crypto';
import type { EnforcedTrust, Violation } from '../api/agentSchemas.ts';
import { type ImageTrustSettings, signatureLimits, type TrustSettings } from '../api/trust.rules.ts';
import { readRegularFile } from '../core/files.ts';
import { asList, asRecord, duplicateKeys, parseJson } from '../core/json.rules.ts';
import { printable, visible } from '../core/text.rules.ts';
import {
  describeUntrusted,
  identityName,
  judgeClaims,
  type RootPart,
  SignatureFault,
  type SignatureJudgement,
  type SignedRelease,
  type SignersNow,
  type TrustNow,
  untrustedNow,
  type VerifiedRoot,
} from './judgement.rules.ts';
import { type BundleClaim, type BundleTrust, keyName, readPublicKey } from './trust.ts';
import type { RootEnd } from './trustRoot.ts';

/** A trust with its files read, and one line for each file that cannot be used. */
export interface ReadTrust {
  trust: BundleTrust;
  problems: string[];
  /** The record of the trust root that verifies signatures now; null without a usable one. */
  trustRoot?: VerifiedRoot | null;
}

const maxKeyBytes = 65_536;
/** Keys, and identities, that a host reports at most. */
const maxTold = 64;
const shortened = (name: string) => name.slice(0, 600);
const maxRootBytes = 4 * 2 ** 20;

/**
 * Reads the files of `trust.bundles` or `trust.images` (spec §18). A file that cannot be used is left out: it adds no
 * trusted signer. `rootEnds` are of a usable trust root.
 */
export async function readTrust(settings: TrustSettings): Promise<ReadTrust & { rootEnds: RootEnd[] }> {
  const { threshold = 1, keys = [], identities = [], root: path } = settings;
  const read = keys.map((key) => readTrusted(key, maxKeyBytes, keyProblem));
  const problems = read.flatMap(({ problem }) => problem ?? []);
  const trust = { threshold, keys: read.flatMap(({ text }) => text ?? []), identities };
  if (path === undefined) return { trust: { ...trust, root: null }, problems, rootEnds: [] };
  const { readRoot, rootEnds } = await import('./trustRoot.ts');
  const { text, problem } = readTrusted(path, maxRootBytes, (root) => problemOf(readRoot(root)));
  const root = text === null ? null : readRoot(text);
  return {
    trust: { ...trust, root: text },
    problems: [...problems, ...(problem === null ? [] : [problem])],
    trustRoot: text === null ? null : { at: new Date().toISOString(), parts: rootParts(text).map(({ id }) => id) },
    rootEnds: root === null || typeof root === 'string' ? [] : rootEnds(root),
  };
}

/** Reads what a host trusts now; files that cannot be used count for nothing, and the certificates of a trust root are not looked at. */
export function readTrustNow({ bundles, images }: HostTrustSettings): TrustNow {
  const rules = (images?.rules ?? []).map((rule) => ({ ...rule, ...signersNow(rule) }));
  return {
    bundles: bundles === null ? null : signersNow(bundles),
    images: images === null ? null : { ...signersNow(images), rules },
  };
}

/** The parts of the applied release that too few trusted signers have signed; empty while nothing is applied. */
export function trustViolations(trust: HostTrustSettings, applied: AppliedRelease): Violation[] {
  const { applied_sha, applied_signers: signers = [], applied_root: trust_root = null, services } = applied;
  const { applied_images: verified_images = [] } = applied;
  if (applied_sha === null || (trust.bundles === null && trust.images === null)) return [];
  const names = new Set([...verified_images.map(({ service }) => service), ...services]);
  const release = { signers, trust_root, verified_images, services: [...names].sort().map((name) => ({ name })) };
  return untrustedNow(release, readTrustNow(trust)).map((each) => ({
    by: 'trust',
    service: each.service,
    detail: describeUntrusted(each),
  }));
}

/** The trust of a host as it reports it: keys by fingerprint, and the rules of images together. */
export function enforcedTrust(trust: HostTrustSettings): EnforcedTrust {
  const { bundles, images } = readTrustNow(trust);
  const told = (...all: SignersNow[]) => ({
    threshold: Math.min(...all.map(({ threshold }) => threshold)),
    keys: [...new Set(all.flatMap(({ keys }) => keys.map(({ signer }) => signer)))].sort().slice(0, maxTold),
    identities: [...new Set(all.flatMap(({ identities }) => identities.map(identityName)))]
      .sort()
      .slice(0, maxTold)
      .map(shortened),
    root: all[0]?.root?.sha256 ?? null,
  });
  return {
    bundles: bundles === null ? null : told(bundles),
    images: images === null ? null : told(images, ...images.rules),
  };
}

/** The applied release in state.json, and the services that have containers. */
interface AppliedRelease {
  applied_sha: string | null;
  applied_signers?: readonly string[];
  applied_root?: VerifiedRoot | null;
  applied_images?: NonNullable<SignedRelease['verified_images']>;
  services: readonly string[];
}

interface HostTrustSettings {
  bundles: TrustSettings | null;
  images: ImageTrustSettings | null;
}

function signersNow({ threshold = 1, keys = [], identities = [], root: path }: TrustSettings): SignersNow {
  const { text = null } = path === undefined ? {} : readTrusted(path, maxRootBytes, () => null);
  return {
    threshold,
    keys: keys.flatMap((key) => {
      const read = readPublicKey(readTrusted(key, maxKeyBytes, () => null).text ?? '');
      return typeof read === 'string' ? [] : [{ path: key, signer: keyName(read.hint) }];
    }),
    identities: text === null ? [] : identities,
    root: text === null || path === undefined ? null : { path, sha256: rootDigest(text), parts: rootParts(text) },
  };
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The parts of a trust root, in JSON; text of another form has none. */
function rootParts(text: string): RootPart[] {
  const root = asRecord(parseJson(text));
  const kinds = ['certificateAuthorities', 'tlogs', 'ctlogs', 'timestampAuthorities'];
  return kinds.flatMap((kind) =>
    asList(root[kind]).map((entry) => {
      const { certChain, publicKey, validFor = asRecord(publicKey)['validFor'] } = asRecord(entry);
      const { start = null, end = null } = asRecord(validFor);
      const material = certChain ?? asRecord(publicKey)['rawBytes'] ?? null;
      const id = sha256Of(JSON.stringify([kind, material, start])).slice(0, 32);
      return { id, end: typeof end === 'string' ? end : null };
    }),
  );
}

/** The lines that show trusted signers to people, who compare the fingerprints. */
export function signerLines({ threshold, keys, identities, root }: BundleTrust): string[] {
  const names = keys.map((pem) => {
    const read = readPublicKey(pem);
    return typeof read === 'string' ? `a key that ${read}` : keyName(read.hint);
  });
  const all = [...names, ...identities.map(identityName)];
  const roots = root === null ? [] : [rootName(root)];
  const required = `${threshold} ${threshold === 1 ? 'signature' : 'signatures'} required`;
  return [
    `${required}, from ${all.length} trusted ${all.length === 1 ? 'signer' : 'signers'}:`,
    ...[...all, ...roots].map(visible),
  ];
}

/** How a trust root is named to people: by the sha256 of its JSON without white space, as `deployd trust store` writes it. */
export function rootName(text: string): string {
  return `trust root sha256 ${rootDigest(text)}`;
}

/** White space does not count, so that all programs print the same digest; other text counts unchanged. */
export function rootDigest(text: string): string {
  const json = parseJson(text);
  return sha256Of(json === undefined ? text : JSON.stringify(json));
}

interface TrustedFile {
  text: string | null;
  problem: string | null;
}

function readTrusted(path: string, maxBytes: number, problemOf: (text: string) => string | null): TrustedFile {
  try {
    const text = readRegularFile(path, maxBytes).toString('utf8');
    const problem = problemOf(text);
    return problem === null ? { text, problem } : { text: null, problem: `${path} ${problem}` };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return { text: null, problem: code === 'ENOENT' ? `${path} is missing` : `${path} cannot be read (${code})` };
  }
}

function keyProblem(pem: string): string | null {
  return problemOf(readPublicKey(pem));
}

function problemOf(read: object | string): string | null {
  return typeof read === 'string' ? read : null;
}

/** The content of an archive's manifest, and the sha256 of the archive in hex. */
type SignedArchive = BundleClaim & { sha256: string };

/** Verifies the signatures in files as a host with this trust does (spec §18); a file that cannot be read is a fault. */
export async function judgeFiles(
  { trust, problems }: ReadTrust,
  archive: SignedArchive,
  files: readonly string[],
): Promise<SignatureJudgement> {
  const { signatures, unreadable } = readFiles(files);
  const { verifySignatures } = await import('./verifySignatures.ts');
  const { verified, faults } = verifySignatures(trust, archive.sha256, signatures);
  return judgeClaims({ verified, faults: [...faults, ...unreadable, ...problems] }, archive, trust.threshold);
}

function readFiles(files: readonly string[]): { signatures: unknown[]; unreadable: string[] } {
  const [signatures, unreadable]: [unknown[], string[]] = [[], []];
  for (const file of files) {
    try {
      signatures.push(readSignatureFile(file));
    } catch (error) {
      if (!(error instanceof SignatureFault)) throw error;
      unreadable.push(error.message);
    }
  }
  return { signatures, unreadable };
}

/** White space between the fields counts in a file only. */
const maxFileBytes = 4 * signatureLimits.bytes;

/** Reads the file of one signature as JSON; it is not verified. Throws `SignatureFault`, which names the file. */
export function readSignatureFile(path: string): unknown {
  const text = readText(path);
  const json = parseSignature(path, text);
  const [duplicate] = duplicateKeys(text);
  if (duplicate !== undefined) throw new SignatureFault(`${path}: ${printable(duplicate)} stands twice`);
  return json;
}

function readText(path: string): string {
  try {
    return readRegularFile(path, maxFileBytes).toString('utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new SignatureFault(code === 'ENOENT' ? `${path} is missing` : `${path} cannot be read (${code})`);
  }
}

function parseSignature(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SignatureFault(`${path} is not JSON`);
  }
}
