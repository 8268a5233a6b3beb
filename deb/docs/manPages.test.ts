import type { Command } from 'commander';
import { agentConfigPage, agentPage } from './agentPages.ts';
import { configPage, entryOf, programPage, titleOf, toRoff } from './manPages.ts';
import { ctlPage, tenancyConfigPage, tenancyPage } from './servicePages.ts';

const packageVersion = { version: '1.2.3', date: new Date('2026-01-02T03:04:05Z') };

const programPages = { deployd: agentPage, 'deployd-tenancy': tenancyPage, deployctl: ctlPage };

it.each(Object.entries(programPages))(
  '%s(1) documents every command and every option of the command line',
  (_name, about) => {
    const { program } = about;
    const page = programPage(about, packageVersion);
    const groups = program.commands.filter(({ commands }) => commands.length > 0);
    const leaves = program.commands.filter(({ commands }) => commands.length === 0);
    const names = [
      ...leaves.map((command) => command.name()),
      ...groups.flatMap((group) => group.commands.map((command) => `${group.name()} ${command.name()}`)),
    ];
    const heads = names.map((name) => `\n.B ${toRoff(name)}`);
    const commands = [program, ...leaves, ...groups.flatMap((group) => group.commands)];
    const optionsOf = ({ options }: (typeof commands)[number]) => options.map(({ short, long }) => [short, long]);
    const options = commands
      .flatMap(optionsOf)
      .map((forms) => `\n.B ${toRoff(forms.filter((form) => form !== undefined).join(', '))}`);
    expect([...heads, ...options].filter((line) => !page.includes(line))).toEqual([]);
  },
);

it.each(Object.entries(programPages))('the help of every command of %s fits 80 columns', (_name, { program }) => {
  const helpOf = (command: Command): string[] => {
    const parts: string[] = [];
    command.configureOutput({ writeOut: (text) => void parts.push(text), getOutHelpWidth: () => 80 });
    command.outputHelp();
    return [...parts.join('').split('\n'), ...command.commands.flatMap(helpOf)];
  };
  expect(helpOf(program).filter((line) => line.length > 80)).toEqual([]);
});

it.each([{ about: agentConfigPage }, { about: tenancyConfigPage }])(
  '$about.name(5) documents every key with its description',
  ({ about }) => {
    const page = configPage(about, packageVersion);
    const { names, keys } = about.table;
    const entries = names.map((name) => `.B ${toRoff(name)}\n${toRoff(keys[name]!.description)}`);
    expect(entries.filter((entry) => !page.includes(entry))).toEqual([]);
  },
);

it.each([
  ['a `--once` b', 'a \\fB\\-\\-once\\fR b'],
  ['.SH is not a heading', '\\&.SH is not a heading'],
  ["two\n'lines", "two\n\\&'lines"],
  ['C:\\path', 'C:\\epath'],
  ['the system’s 4 … 30', "the system's 4 ... 30"],
])('escapes %j', (text, written) => {
  expect(toRoff(text)).toBe(written);
});

it('puts several paragraphs under one tag', () => {
  expect(entryOf('key', 'one', 'two')).toBe('.TP\n.B key\none\n.IP\ntwo');
});

it('gives a page the date of its version', () => {
  const title = titleOf('DEPLOYD', 1, { version: '1.2.3', date: new Date('2026-01-02T03:04:05Z') });
  expect(title).toContain('.TH DEPLOYD 1 2026-01-02 "deployd 1.2.3"');
});
