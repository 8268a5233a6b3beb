/** Something that the bundle says in another way than the project: where, what, and why. */
export interface ImportChange {
  /** `service web`, `volume data`, `file compose.yaml`. */
  owner: string;
  key: string;
  what: string;
  why: string;
}

/** Something that only its operator can decide, with what to do. */
export interface Undecided {
  owner: string;
  key: string;
  what: string;
  cure: string;
}

/** What an import did, and what it left to decide; it never holds the value of a secret. */
export interface ImportReport {
  changes: ImportChange[];
  undecided: Undecided[];
  /** Profiles of services that the bundle does not choose. */
  inactive_profiles: string[];
}

/** What the operator decided: names with values are variables, the rest says how a name is taken. */
export interface ImportChoices {
  name: string;
  env: string;
  /** The file whose values are those of the project's variables. */
  envFile: string;
  /** The chosen profiles, and what chooses them. */
  profiles: { names: readonly string[]; by: string };
  /** Images of services, in place of `image` and `build`. */
  images: ReadonlyMap<string, string>;
  /** Images of services with the digest that they have now, or why a registry does not tell it. */
  pins?: ReadonlyMap<string, { reference: string } | { fault: string }>;
  /** Names that are secrets, whatever they look like. */
  secrets: ReadonlySet<string>;
  /** Names that are no secrets; null leaves the value that the project has. */
  variables: ReadonlyMap<string, string | null>;
}

/** Adds an entry, unless the same stands there already. */
export function addOnce<Entry extends object>(entries: Entry[], entry: Entry): void {
  const text = JSON.stringify(entry);
  if (!entries.some((one) => JSON.stringify(one) === text)) entries.push(entry);
}
