/** Facts of a file. `found` is null when it does not exist, `hidden` when this user has no access. */
export interface FileFacts {
  path: string;
  found: { mode: number; uid: number; gid: number; mtime: Date } | null | 'hidden';
  /** Whether the program's user may read and write it; null when unknown. */
  readable: boolean | null;
  writable: boolean | null;
}

/** The user that a program runs as: the owner of its state directory. */
export interface ProgramUser {
  /** `deployd`, or `uid 1234`. */
  name: string;
  uid: number;
  gids: number[];
}
