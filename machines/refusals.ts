/** What an operator or bundle author is told about a refusal. */
interface RefusalText {
  /** What the code means, for traces and docs. */
  meaning: string;
  /** How to get the bundle accepted, in Markdown, for docs/bundle.md. */
  cure: string;
}

/** Every refusal, in the order in which they are checked and reported (spec §9). */
export const refusals = {
  BUNDLE_DIGEST: {
    meaning: 'the bytes that arrived are not those that were announced',
    cure: 'upload the bundle again, and announce the sha256 of the served bytes',
  },
  SIGNATURE_REFUSED: {
    meaning: 'too few of those whom the host trusts have signed the bundle as it is, or one of its images',
    cure: 'sign the bundle and add the signature at the tenancy service (`deployctl bundle sign`, `deployctl signature add`); sign an image in its registry (`cosign sign`); no flag lifts it',
  },
  BUNDLE_UNSAFE: {
    meaning: 'the archive holds what a bundle may not hold, or too much of it',
    cure: 'pack the bundle again without the named entries; copy links as files (`tar --dereference`)',
  },
  MANIFEST_INVALID: {
    meaning: 'manifest.json is not of the schema, or of another env',
    cure: 'correct the named keys; validate the manifest with the schema; build one bundle for each env',
  },
  SECRET_PATH_REFUSED: {
    meaning: 'a secret outside the branch of this env is asked for',
    cure: 'move the secret below `deployd/data/<env>/see/`, the only branch that the env may read',
  },
  ENV_INCOMPLETE: {
    meaning: 'the compose files name variables that nobody supplies',
    cure: 'add the variable to `variables` or `secrets`, give it a default, or write `$$` for a dollar sign',
  },
  COMPOSE_REFUSED: {
    meaning: 'the compose files use what no bundle may use',
    cure: 'docs/bundle-limits.md lists what to write instead; no flag lifts it',
  },
  PRIVILEGED_REFUSED: {
    meaning: 'power over the host is asked for, and the agent profile lacks allow_privileged',
    cure: 'docs/bundle-limits.md lists what to write instead; or set `agent.allow_privileged: true` after a second person has reviewed it. If the text says "what was made is not", a volume of an earlier bundle has other options than in this bundle: give the volume another name',
  },
  HOST_NETWORK_REFUSED: {
    meaning: 'the network of the host is asked for, and the agent profile lacks allow_privileged',
    cure: 'docs/bundle-limits.md lists what to write instead; or set `agent.allow_privileged: true` after a second person has reviewed it. If the text says "what was made is not", a volume of an earlier bundle has other options than in this bundle: give the volume another name',
  },
  ROLLBACK_REFUSED: {
    meaning: 'a newer bundle was applied before, and the agent profile lacks allow_rollback',
    cure: 'raise `sequence`; or set `agent.allow_rollback: true` for an intended rollback',
  },
  VOLUME_DIVERGED: {
    meaning: 'a volume would have to be made anew, which loses what is in it',
    cure: 'give the volume another name, or save its data and remove it by hand: compose would delete the volume to change it',
  },
  DISK_INSUFFICIENT: {
    meaning: 'a filesystem that the pull fills has too little room',
    cure: 'free disk space on the host, or correct `disk_need_bytes`',
  },
  LEASE_SHAPE: {
    meaning: 'the tenancy service gave a lease of AppRole shape',
    cure: 'the tenancy service hands out a login of the wrong kind: set its role to JWT',
  },
  SECRET_UNAVAILABLE: {
    meaning: 'the secretstore does not give a secret of the manifest',
    cure: "store the secret with that field; grant the env's role read access",
  },
  SECRET_UNUSABLE: {
    meaning: 'a secret cannot be a variable: no text, a NUL in it, or too long',
    cure: 'store text without NUL bytes, `NAME=value` in at most 131 071 bytes, and all fields of one path in 1 MiB; more go to several paths',
  },
} as const satisfies Record<string, RefusalText>;

export type RefusalCode = keyof typeof refusals;

/** The codes in the same order. */
export const refusalCodes = Object.keys(refusals) as RefusalCode[];

/** One refusal: its code and its detail, which lists every fault that the check found. */
export interface Refusal {
  code: RefusalCode;
  detail: string;
  /** The faults that `detail` joins, each with its cure, of a check that knows one. */
  faults?: RefusedFault[];
}

/** One fault of a bundle, and what to do about it ('' where the text says it). */
export interface RefusedFault {
  text: string;
  cure: string;
}

/** A refusal of these faults. */
export function refusalWith(code: RefusalCode, faults: RefusedFault[]): Refusal {
  return { code, detail: faults.map(({ text }) => text).join('; '), faults };
}

/** A refusal as one text: every fault with its cure. */
export function formatRefusal({ detail, faults }: Refusal): string {
  return faults === undefined ? detail : faults.map(formatFault).join('; ');
}

/** A fault with its cure. */
export function formatFault({ text, cure }: RefusedFault): string {
  return cure === '' ? text : `${text}: ${cure}`;
}
