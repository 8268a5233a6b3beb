import {
  type Check,
  checkResult,
  excessPermissions,
  type Fact,
  type FileFacts,
  type Finding,
  inapplicableCheck,
  type ProgramUser,
  unknownCheck,
} from '../../core/doctor.rules.ts';

/** Days before the end of a certificate at which its renewal is overdue. */
const RENEWAL_DAYS = 14;
const DAY_MS = 24 * 3600_000;

/**
 * Checks that the service can read every file that the configuration names, and that no other user can read secret
 * files.
 */
export function checkNamedFiles(files: readonly FileFacts[], user: ProgramUser): Check {
  const hidden = files.find(({ found }) => found === 'hidden');
  if (hidden !== undefined) return unknownCheck('files', `${hidden.path} cannot be seen by this user: use sudo`);
  const paths = files.map(({ path }) => path).join(', ');
  return checkResult(
    'files',
    paths,
    files.flatMap((file) => findingsOf(file, user)),
  );
}

function findingsOf(file: FileFacts, { name }: ProgramUser): Finding[] {
  const { path, found, readable } = file;
  const install = `sudo install -m 0640 -g ${name} THE-FILE ${path}`;
  if (found === null) return [{ problem: `${path} does not exist`, fix: install }];
  const unreadable = {
    problem: `${name} cannot read ${path}`,
    fix: `sudo chgrp ${name} ${path}; sudo chmod 640 ${path}`,
  };
  return [...(readable === false ? [unreadable] : []), ...excessPermissions(file, 0o027, 640)];
}

/** Checks the result of an attempt; `target` describes the attempted object. */
export function checkAttempt(
  name: string,
  attempt: Fact<unknown>,
  { target, fix }: { target: string; fix: string },
): Check {
  return checkResult(name, target, 'unknown' in attempt ? [{ problem: attempt.unknown, fix }] : []);
}

/** Checks that no two hosts use the token of one backend. */
export function checkClones(cloned: Fact<readonly { id: string; env: string; site: string }[]>): Check {
  const name = 'hosts';
  if ('unknown' in cloned) return unknownCheck(name, 'the store cannot be read');
  const findings = cloned.known.map(({ id, env, site }) => ({
    problem: `two hosts use the token of backend ${id} (site ${site}, environment ${env}), and both are refused`,
    fix: `deployctl host accept ${id}`,
  }));
  return checkResult(name, 'no two of them use one token', findings);
}

/** Checks that no environment waits for the review of a restore. */
export function checkHeldEnvs(held: Fact<readonly { name: string; held_since: number | null }[]>): Check {
  const name = 'restore';
  if ('unknown' in held) return unknownCheck(name, 'the store cannot be read');
  const findings = held.known.map(({ name: env, held_since }) => ({
    problem: `hosts of ${env} get no orders since the store was restored at ${new Date(held_since ?? 0).toISOString()}`,
    fix: `deployctl restore review ${env}; deployctl restore release ${env} --confirm`,
  }));
  return checkResult(name, 'no environment is held', findings);
}

/** The cure that the error of the store names; else `unnamed`. */
export function storeFix(store: Fact<unknown>, unnamed: string): string {
  const problem = 'unknown' in store ? store.unknown : '';
  const [, command, other] = /: (?:run (sudo deployd-tenancy \w+)|(install .*))$/.exec(problem) ?? [];
  return command ?? other ?? unnamed;
}

/** The relevant fields of a certificate. */
export interface CertificateFacts {
  /** The file of the certificate; null if the service signs its certificate itself. */
  file: string | null;
  validTo: Date;
  /** Host of `public_url`, and whether the certificate covers it. */
  host: string;
  fitsHost: boolean;
}

/** Checks the certificate that the service presents; null behind a proxy. */
export function checkCertificate(facts: Fact<CertificateFacts | null>, now: Date): Check {
  const name = 'certificate';
  if ('unknown' in facts)
    return checkResult(name, 'cannot be used', [
      { problem: facts.unknown, fix: 'sudo openssl x509 -noout -in CERTIFICATE' },
    ]);
  if (facts.known === null) return inapplicableCheck(name, 'TLS is done by a proxy');
  const { file, validTo, host, fitsHost } = facts.known;
  const renew =
    file === null
      ? 'sudo systemctl restart deployd-tenancy'
      : `put a certificate for ${host} with its key in the place of ${file}`;
  const leftDays = Math.floor((validTo.getTime() - now.getTime()) / DAY_MS);
  const end = validTo.toISOString();
  return checkResult(name, `${file ?? 'of the service’s own authority'}, valid until ${end}`, [
    ...(fitsHost ? [] : [{ problem: `it is not for ${host}, the host of public_url`, fix: renew }]),
    ...(leftDays < 0 ? [{ problem: `it has expired at ${end}`, fix: renew }] : []),
    ...(leftDays >= 0 && leftDays < RENEWAL_DAYS ? [{ problem: `it expires in ${leftDays} days`, fix: renew }] : []),
  ]);
}

/** An address, and the PEM file of the certificate authority that it is trusted by; null for the system's. */
export interface Address {
  url: string;
  ca: string | null;
}

/** The command that reproduces a failed call of an address. */
export function curlCommand({ url, ca }: Address): string {
  return ['curl -v', ...(ca === null ? [] : [`--cacert ${ca}`]), url].join(' ');
}

/** Checks that `public_url` leads to an instance with these signing keys; both are ids of keys. */
export function checkPublishedKeys(
  published: Fact<readonly string[]>,
  own: Fact<readonly string[]>,
  { url, ca }: Address,
): Check {
  const name = 'public_url';
  const restart = 'systemctl status deployd-tenancy';
  if ('unknown' in published)
    return checkResult(name, url, [{ problem: published.unknown, fix: `${restart}; ${curlCommand({ url, ca })}` }]);
  if ('unknown' in own) return unknownCheck(name, 'the keys of the store are not known');
  const missing = own.known.filter((kid) => !published.known.includes(kid));
  const problem = `${url} does not publish the signing key ${missing.join(', ')}: another service answers there, or an old one`;
  return checkResult(name, url, missing.length === 0 ? [] : [{ problem, fix: restart }]);
}

/** Checks the setup of the secretstore by the output of `secretstore plan`; null without an administrator's token. */
export function checkSetup(plan: { exit: 0 | 1 | 2; lines: readonly string[] } | null, url: string): Check {
  const name = 'set-up';
  if (plan === null) return inapplicableCheck(name, 'needs an administrator’s token (--token-file)');
  const detail = `of ${url}`;
  if (plan.exit === 0) return checkResult(name, detail, []);
  const fix = 'sudo deployd-tenancy secretstore apply --token-file FILE';
  return checkResult(name, detail, [{ problem: plan.lines.join('; '), fix }]);
}
