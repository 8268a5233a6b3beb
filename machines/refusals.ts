/** The texts of a refusal for operators and bundle authors. */
interface RefusalText {
  /** The meaning of the code, for traces and docs. */
  meaning: string;
  /** How to get the bundle accepted, in Markdown, for docs/bundle.md. */
  cure: string;
}

/** Every refusal, in the order in which they are checked and reported (spec §9). */
export const refusals = {
  BUNDLE_DIGEST: {
    meaning: 'the downloaded bytes differ from the announced digest',
    cure: 'push and promote the bundle again: the downloaded bytes do not have the announced sha256',
  },
  SIGNATURE_REFUSED: {
    meaning: 'too few trusted signers have signed the bundle, or one of its images',
    cure: 'if the message names the bundle, sign it and add the signature at the tenancy service (`deployctl bundle sign`, `deployctl signature add`); if the message names an image, sign the image in its registry (`cosign sign`)',
  },
  BUNDLE_UNSAFE: {
    meaning: 'the archive contains entries that a bundle must not contain, or too many',
    cure: 'pack the bundle again without the named entries; copy links as files (`tar --dereference`)',
  },
  MANIFEST_INVALID: {
    meaning: 'manifest.json does not match the schema, or belongs to another environment',
    cure: 'correct the named keys; validate the manifest with the schema; build one bundle for each environment',
  },
  SECRET_PATH_REFUSED: {
    meaning: 'the manifest names a secret outside the branch of this environment',
    cure: 'move the secret below `deployd/data/<env>/see/`, the only branch that the environment may read',
  },
  ENV_INCOMPLETE: {
    meaning: 'the compose files use variables without a value',
    cure: 'add the variable to `variables` or `secrets`, give it a default, or write `$$` for a dollar sign',
  },
  COMPOSE_REFUSED: {
    meaning: 'the compose files contain something that no bundle may contain',
    cure: 'docs/bundle-limits.md lists what to write instead; no permit or manifest key allows it',
  },
  PRIVILEGED_REFUSED: {
    meaning: 'the bundle needs a privilege over the host, and the agent profile lacks allow_privileged',
    cure: 'docs/bundle-limits.md lists what to write instead; or set `agent.allow_privileged: true` after a second person has reviewed it. If the message says "created resources differ", an earlier bundle created the volume with other options: give the volume another name',
  },
  HOST_NETWORK_REFUSED: {
    meaning: 'the bundle needs the network of the host, and the agent profile lacks allow_privileged',
    cure: 'docs/bundle-limits.md lists what to write instead; or set `agent.allow_privileged: true` after a second person has reviewed it. If the message says "created resources differ", an earlier bundle created the volume with other options: give the volume another name',
  },
  ROLLBACK_REFUSED: {
    meaning: 'a newer bundle was applied before, and the agent profile lacks allow_rollback',
    cure: 'raise `sequence`; or set `agent.allow_rollback: true` for an intended rollback',
  },
  VOLUME_DIVERGED: {
    meaning: 'a volume would have to be created again, which loses its data',
    cure: 'give the volume another name, or save its data and remove it by hand: compose would delete the volume to change it',
  },
  DISK_INSUFFICIENT: {
    meaning: 'a filesystem has too little free space for the pull, or a step has filled it',
    cure: 'remove images that no container uses (`sudo docker image prune --all`), free other space on the host, or correct `disk_need_bytes`',
  },
  LEASE_SHAPE: {
    meaning: 'the tenancy service issued a lease of AppRole shape',
    cure: 'no change of the bundle helps. The tenancy service returned a login of the type AppRole, and hosts accept only a JWT: upgrade or correct the service',
  },
  SECRET_UNAVAILABLE: {
    meaning: 'the secretstore does not return a secret of the manifest',
    cure: "store the secret with that field; grant the environment's role read access",
  },
  SECRET_UNUSABLE: {
    meaning: 'a secret cannot be a variable: it is not text, contains NUL, or is too long',
    cure: 'store text without NUL bytes. The name of the variable, `=` and the text together may have at most 131 071 bytes, and all fields of one path together 1 MiB. Split larger secrets over several paths',
  },
} as const satisfies Record<string, RefusalText>;

export type RefusalCode = keyof typeof refusals;

/** The codes in the same order. */
export const refusalCodes = Object.keys(refusals) as RefusalCode[];

/** One refusal: its code and its detail, which lists every fault that the check found. */
export interface Refusal {
  code: RefusalCode;
  detail: string;
  /** The joined faults of `detail`, each with its cure, if the check has cures. */
  faults?: RefusedFault[];
}

/** One fault of a bundle and its cure ('' if the text contains the cure). */
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
