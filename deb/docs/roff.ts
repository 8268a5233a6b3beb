import type { PackageVersion } from '../packageVersion.ts';

/** Escapes text for a manual page: no line is a request, hyphens are ASCII, `code` is bold. */
export function toRoff(text: string): string {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('’', "'").replaceAll('…', '...');
  const marked = plain
    .replaceAll(/`([^`]*)`/g, '\\fB$1\\fR')
    .replaceAll('×', '\\(mu')
    .replaceAll('“', '\\(lq')
    .replaceAll('”', '\\(rq');
  return marked.replaceAll(/^[.']/gm, '\\&$&');
}

/** The title line of a page, with the version's date, which keeps the page reproducible. */
export function titleOf(name: string, section: number, { version, date }: PackageVersion): string {
  return `.TH ${toRoff(name)} ${section} ${date.toISOString().slice(0, 10)} "deployd ${version}" "deployd"\n.nh\n.ad l`;
}

/** A paragraph under a hanging tag. */
export function entryOf(tag: string, ...paragraphs: string[]): string {
  return ['.TP', `.B ${toRoff(tag)}`, paragraphs.map(toRoff).join('\n.IP\n')].join('\n');
}

/** A section: heading and content. */
export function sectionOf(heading: string, ...content: string[]): string {
  return [`.SH ${heading}`, ...content].join('\n');
}
