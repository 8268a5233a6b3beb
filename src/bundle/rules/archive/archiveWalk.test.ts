import { hostileArchives } from '../../../../fixtures/bundles/hostileArchives.ts';
import {
  tarDirectory,
  endOfArchive,
  tarEntry,
  gnuLongName,
  paxHeader,
  paxRecord,
} from '../../../../fixtures/bundles/tarBlocks.ts';
import { ArchiveWalk, type ArchiveLimits } from './archiveWalk.ts';

const limits: ArchiveLimits = { unpacked_bytes: 2 ** 20, bundle_entries: 50 };
const long = 'n'.repeat(200);
const comment = tarEntry('pax_global_header', paxRecord('comment', 'abc'), { type: 'g' });
const zeros = (blocks: number): Buffer => Buffer.alloc(512 * blocks);

/** Validates an archive in parts of `blocksPerPart`, and says what a refusal says. */
function outcomeOf(
  archive: Buffer[],
  { blocksPerPart = 10_000, restBytes = 0, ...more }: Partial<ArchiveLimits> & Record<string, number> = {},
): string[] {
  const walk = new ArchiveWalk({ ...limits, ...more });
  const bytes = Buffer.concat(archive);
  const paths: string[] = [];
  try {
    for (let offset = 0; offset < bytes.length; offset += 512 * blocksPerPart) {
      const entries = walk.validateBlocks(bytes.subarray(offset, offset + 512 * blocksPerPart));
      paths.push(...entries.map(({ path, size }) => `${path} ${size}`));
    }
    walk.finish(restBytes);
    return paths;
  } catch (fault) {
    return [(fault as Error).message];
  }
}
const refused = (text: string, cure = 'pack it anew, as deployctl bundle pack does') => [
  `refused: BUNDLE_UNSAFE: ${text}: ${cure}`,
];
const lessOr = (limit: string) => `leave out what no service uses, or raise ${limit} of the host`;
const cutShort = refused('the archive is cut short or not a tar archive');

describe('an archive is accepted', () => {
  it.each<[string, Buffer[], string[]]>([
    ['without entries', [], []],
    ['with a body of a part of a block', [tarEntry('a', 'x'), tarEntry('b')], ['a 1', 'b 0']],
    ['with bodies of whole blocks', [tarEntry('a', zeros(2)), tarEntry('b', zeros(1))], ['a 1024', 'b 512']],
    ['with a body a byte longer than a block', [tarEntry('a', 'x'.repeat(513)), tarEntry('b')], ['a 513', 'b 0']],
    [
      'with a directory after a file in it',
      [tarEntry('d/a'), tarDirectory('d'), tarEntry('d/b')],
      ['d/a 0', 'd 0', 'd/b 0'],
    ],
    [
      'with a long name by GNU for one entry',
      [gnuLongName(long), tarEntry('a', 'x'), tarEntry('b')],
      [`${long} 1`, 'b 0'],
    ],
    [
      'with a long name by pax for one entry',
      [paxHeader(['path', long]), tarEntry('a', 'x'), tarEntry('b')],
      [`${long} 1`, 'b 0'],
    ],
    [
      'with a pax header longer than a block',
      [paxHeader(['comment', 'x'.repeat(900)], ['path', long]), tarEntry('a')],
      [`${long} 0`],
    ],
    ['with a pax header for nothing', [paxHeader(['mtime', '1']), tarEntry('a')], ['a 0']],
    ['with a matching pax size', [paxHeader(['size', '1']), tarEntry('a', 'x'), tarEntry('b', 'yy')], ['a 1', 'b 2']],
    ['with a global comment and a pax header', [comment, paxHeader(['path', long]), tarEntry('a')], [`${long} 0`]],
    ['with a global comment only', [comment], []],
    ['with a global comment between entries', [tarEntry('a'), comment, tarEntry('b')], ['a 0', 'b 0']],
    ['with two global comments', [comment, comment, tarEntry('a')], ['a 0']],
    ['with a directory twice', [tarDirectory('d'), tarEntry('d/a'), tarDirectory('d')], ['d 0', 'd/a 0', 'd 0']],
    ['with the root twice', [tarDirectory('./'), tarDirectory('.')], [' 0', ' 0']],
    ['of the old form', [tarEntry('d/', '', { magic: '' }), tarEntry('d/a', 'x', { magic: '' })], ['d 0', 'd/a 1']],
    [
      'with attributes of macOS that hold a path',
      [paxHeader(['SCHILY.xattr.com.apple.x', 'x\n14 path=../ev\n\0']), tarEntry('a')],
      ['a 0'],
    ],
  ])('%s', (_title, archive, paths) => {
    expect(outcomeOf([...archive, endOfArchive])).toEqual(paths);
    expect(outcomeOf([...archive, endOfArchive], { blocksPerPart: 1 })).toEqual(paths);
  });
});

describe('an archive is refused', () => {
  it.each(hostileArchives)('for %s', (_title, archive, fault) => {
    const [message] = outcomeOf([...archive, endOfArchive], { unpacked_bytes: 100 * 2 ** 20 });
    expect(message).toMatch(/^refused: BUNDLE_UNSAFE: /);
    expect(message).toContain(fault);
  });

  it.each<[string, Buffer[], string]>([
    ['for an empty extension header', [tarEntry('x', '', { type: 'x' })], 'an extension header of 0 bytes'],
  ])('%s', (_title, archive, text) => {
    expect(outcomeOf([...archive, endOfArchive])).toEqual(refused(text));
  });

  it('when it is cut short', () => {
    expect(outcomeOf([])).toEqual(cutShort);
    expect(outcomeOf([tarEntry('a')])).toEqual(cutShort);
    expect(outcomeOf([tarEntry('a'), zeros(1)])).toEqual(cutShort);
    expect(outcomeOf([tarEntry('a', zeros(3)).subarray(0, 1024)])).toEqual(cutShort);
    expect(outcomeOf([tarEntry('a'), endOfArchive], { restBytes: 1 })).toEqual(cutShort);
  });
});

describe('the bounds of an archive', () => {
  it('limit the bytes of all bodies together', () => {
    const archive = [tarEntry('a', 'x'.repeat(600)), tarEntry('b', 'x'.repeat(400)), endOfArchive];
    expect(outcomeOf(archive, { unpacked_bytes: 1000 })).toEqual(['a 600', 'b 400']);
    expect(outcomeOf(archive, { unpacked_bytes: 999 })).toEqual(
      refused('more than 999 bytes unpacked (limits.unpacked_bytes)', lessOr('limits.unpacked_bytes')),
    );
  });

  it('limit the number of files and directories, each counted once', () => {
    const archive = [tarEntry('d/e/a'), tarDirectory('d'), tarEntry('d/e/b'), endOfArchive];
    expect(outcomeOf(archive, { bundle_entries: 4 })).toEqual(['d/e/a 0', 'd 0', 'd/e/b 0']);
    expect(outcomeOf(archive, { bundle_entries: 3 })).toEqual(
      refused('more than 3 files and directories (limits.bundle_entries)', lessOr('limits.bundle_entries')),
    );
  });

  it('allow 1 MiB of padding after the end', () => {
    expect(outcomeOf([tarEntry('a'), zeros(2048)])).toEqual(['a 0']);
    expect(outcomeOf([tarEntry('a'), zeros(2049)])).toEqual(refused('too much padding follows the end of the archive'));
  });

  it('allow 1 MiB for an extension header', () => {
    const header = (bytes: number) =>
      tarEntry('p', `${bytes} comment=${'x'.repeat(bytes - `${bytes}`.length - 10)}\n`, { type: 'x' });
    expect(outcomeOf([header(2 ** 20), tarEntry('a'), endOfArchive])).toEqual(['a 0']);
    expect(outcomeOf([header(2 ** 20 + 1), tarEntry('a'), endOfArchive], { unpacked_bytes: 2 ** 21 })).toEqual(
      refused('an extension header of 1048577 bytes'),
    );
  });
});
