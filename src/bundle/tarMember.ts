import { Header, type HeaderData } from 'tar/header';
import { Pax } from 'tar/pax';
import { blockBytes } from './rules/archive/tarHeader.ts';

/** A file or directory of an archive that is written. */
export interface TarMember {
  /** Relative; of a directory without a slash at the end. */
  path: string;
  kind: 'file' | 'directory';
  executable: boolean;
  /** Bytes; 0 for a directory. */
  size: number;
}

/**
 * What precedes the content of a member. It says nothing of where and when the archive was made: owner, group and time
 * are 0, the mode is 0755 or 0644. Names that a plain header cannot hold stand in a pax header of their own.
 */
export function encodeMember({ path, kind, executable, size }: TarMember): Buffer {
  const mode = kind === 'directory' || executable ? 0o755 : 0o644;
  const name = kind === 'directory' ? `${path}/` : path;
  const own = { type: kind === 'directory' ? 'Directory' : 'File', mode, size } as const;
  if (/^[ -~]{1,100}$/.test(name)) return encodeHeader({ ...own, path: name });
  const body = Buffer.from(new Pax({ path: name }).encodeBody());
  const pax = encodeHeader({ type: 'ExtendedHeader', path: 'PaxHeader', mode: 0o644, size: body.length });
  return Buffer.concat([pax, body, padding(body.length), encodeHeader({ ...own, path: 'PaxName' })]);
}

/** What follows the content of a member. */
export function padding(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
}

/** What follows the last member. */
export const endOfArchive: Readonly<Buffer> = Buffer.alloc(2 * blockBytes);

function encodeHeader(fields: HeaderData): Buffer {
  const block = Buffer.alloc(blockBytes);
  new Header({ ...fields, uid: 0, gid: 0, mtime: new Date(0) }).encode(block);
  return block;
}
