import type { Edition } from './edition.ts';

/** Text as it stands in a manual page: nothing in it is a request, hyphens are those of the keyboard, `code` is bold. */
export function roff(text: string): string {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('’', "'").replaceAll('…', '...');
  const marked = plain
    .replaceAll(/`([^`]*)`/g, '\\fB$1\\fR')
    .replaceAll('×', '\\(mu')
    .replaceAll('“', '\\(lq')
    .replaceAll('”', '\\(rq');
  return marked.replaceAll(/^[.']/gm, '\\&$&');
}

/** The title line of a page; the date is that of the version, so that a page depends on nothing else. */
export function titleOf(name: string, section: number, { version, date }: Edition): string {
  return `.TH ${roff(name)} ${section} ${date.toISOString().slice(0, 10)} "deployd ${version}" "deployd"\n.nh\n.ad l`;
}

/** A paragraph under a hanging tag. */
export function entryOf(tag: string, ...paragraphs: string[]): string {
  return ['.TP', `.B ${roff(tag)}`, paragraphs.map(roff).join('\n.IP\n')].join('\n');
}

/** A section's heading and its content. */
export function sectionOf(heading: string, ...content: string[]): string {
  return [`.SH ${heading}`, ...content].join('\n');
}
