/** What the installer's call tells a host. */
export interface InstallOptions {
  env: string;
  site: string;
  transport: string;
  tenancyUrl: string;
  secretstoreUrl: string;
  /** Null for the system's authorities. */
  secretstoreCa: string | null;
  baseUrl: string | null;
  /** Null for the installer's own. */
  version: string | null;
  meshEnrolmentJwt: string | null;
  /** An earlier kit may have enrolled the host. */
  reEnrol: boolean;
  laptop: boolean;
}

/** The installer's call for a shell, without any credential in it; they are in files of these names. */
export function installCommand(kit: InstallOptions): string {
  const options: [string, string | null][] = [
    ['env', kit.env],
    ['site', kit.site],
    ['transport', kit.transport],
    ['tenancy-url', kit.tenancyUrl],
    ['secretstore-url', kit.secretstoreUrl],
    ['secretstore-ca', kit.secretstoreCa && 'secretstore-ca.pem'],
    ['base-url', kit.baseUrl],
    ['version', kit.version],
    ['bootstrap-file', 'bootstrap.jwt'],
    ['identity-jwt', kit.meshEnrolmentJwt && 'mesh-enrolment.jwt'],
  ];
  const flags = [kit.meshEnrolmentJwt !== null && kit.reEnrol && '--re-enrol', kit.laptop && '--laptop'];
  const words = options.flatMap(([name, value]) => (value === null ? [] : [`--${name}`, quoted(value)]));
  return ['sh install.sh', ...words, ...flags.filter((flag) => flag !== false)].join(' ');
}

/** A word that a shell takes as it is. */
function quoted(value: string): string {
  return /^[\w./:@%+=,-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
