import type { Command, Help } from 'commander';
import type { ConfigKey, KeyTable } from '../../src/core/config/keyTable.ts';
import type { PackageVersion } from '../packageVersion.ts';

/** A term, and what it means. */
type Term = readonly [term: string, meaning: string];

/** The content of a page in section 1 in addition to the commands and options of its program. */
export interface ProgramPage {
  program: Command;
  /** The purpose of the program, for the list of all pages. */
  summary: string;
  description: string;
  /** Exit codes; each has one meaning or more. */
  exits: readonly (readonly [code: number, ...meanings: string[]])[];
  environment?: readonly Term[];
  files: readonly Term[];
  examples: readonly Term[];
  seeAlso: string;
}

/** The content of a page in section 5 in addition to the keys of its configuration file. */
export interface ConfigPage {
  /** Such as `deployd.yaml`. */
  name: string;
  summary: string;
  description: string;
  table: KeyTable;
  example: string;
  file: Term;
  seeAlso: string;
}

/** A page in section 1: commands and options come from the command line's definition. */
export function programPage(about: ProgramPage, packageVersion: PackageVersion): string {
  const { program, environment = [] } = about;
  const name = program.name();
  const exits = about.exits.map(([code, ...meanings]) => entryOf(String(code), ...meanings));
  return page(
    titleOf(name.toUpperCase(), 1, packageVersion),
    sectionOf('NAME', toRoff(`${name} - ${about.summary}`)),
    sectionOf('SYNOPSIS', toRoff(`\`${name}\` [options] command`)),
    sectionOf('DESCRIPTION', toRoff(about.description)),
    sectionOf('COMMANDS', ...leavesOf(program).map((command) => formatCommand(command, program))),
    sectionOf('OPTIONS', ...optionsOf(program.createHelp(), program)),
    sectionOf('EXIT STATUS', ...exits),
    ...(environment.length > 0 ? [sectionOf('ENVIRONMENT', ...entriesOf(environment))] : []),
    sectionOf('FILES', ...entriesOf(about.files)),
    sectionOf('EXAMPLES', ...entriesOf(about.examples)),
    sectionOf('SEE ALSO', toRoff(about.seeAlso)),
  );
}

/** A page in section 5: keys come from the table that validates the configuration. */
export function configPage(about: ConfigPage, packageVersion: PackageVersion): string {
  const { names, keys } = about.table;
  return page(
    titleOf(about.name.toUpperCase(), 5, packageVersion),
    sectionOf('NAME', toRoff(`${about.name} - ${about.summary}`)),
    sectionOf('DESCRIPTION', toRoff(about.description)),
    sectionOf('KEYS', ...names.map((name) => formatKey(name, keys[name]))),
    sectionOf('EXAMPLE', '.nf', toRoff(about.example), '.fi'),
    sectionOf('FILES', ...entriesOf([about.file])),
    sectionOf('SEE ALSO', toRoff(about.seeAlso)),
  );
}

function page(...parts: string[]): string {
  return `${parts.join('\n')}\n`;
}

function entriesOf(terms: readonly Term[]): string[] {
  return terms.map(([term, meaning]) => entryOf(term, meaning));
}

/** The commands that do something: the commands of a group, not the group. */
function leavesOf({ commands }: Pick<Command, 'commands'>): readonly Command[] {
  return commands.flatMap((command) => (command.commands.length > 0 ? leavesOf(command) : [command]));
}

function formatCommand(command: Command, program: Command): string {
  const help = program.createHelp();
  const group = command.parent === program ? '' : `${command.parent?.name() ?? ''} `;
  const term = help.subcommandTerm(command).replace(' [options]', '');
  const head = entryOf(group + term, toSentence(command.description()));
  const options = optionsOf(help, command);
  return [head, ...(options.length > 0 ? ['.RS', ...options, '.RE'] : [])].join('\n');
}

/** Entries of the options, without those that every command has. */
function optionsOf(help: Help, command: Command): string[] {
  const common = command.parent === null ? [] : ['--config', '--help'];
  const options = help.visibleOptions(command).filter(({ long }) => !common.includes(long ?? ''));
  return options.map((option) => entryOf(help.optionTerm(option), toSentence(option.description)));
}

function formatKey(name: string, key: ConfigKey | undefined): string {
  if (key === undefined) throw new Error(`there is no key ${name}`);
  const { allowed, description, default: value } = key;
  return entryOf(
    name,
    description,
    `Allowed: ${allowed}. ${value === undefined ? 'Required.' : `Default: ${formatDefault(value)}.`}`,
  );
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}`;
}

function formatDefault(value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

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
function sectionOf(heading: string, ...content: string[]): string {
  return [`.SH ${heading}`, ...content].join('\n');
}
