import { program } from '../../src/agent/cli.ts';
import { configKeys, configTable } from '../../src/agent/config/configKeys.ts';
import { commandPage, configPage } from './manPages.ts';
import { toRoff } from './roff.ts';

const packageVersion = { version: '1.2.3', date: new Date('2026-01-02T03:04:05Z') };

it('documents every command and every option of the command line', () => {
  const page = commandPage(program, packageVersion);
  const heads = program.commands.map((command) => `\n.B ${command.name()}`);
  const options = [program, ...program.commands].flatMap((each) =>
    each.options.map(({ long }) => `\n.B ${toRoff(long!)}`),
  );
  expect([...heads, ...options].filter((line) => !page.includes(line))).toEqual([]);
});

it('documents every configuration key with its description', () => {
  const page = configPage(packageVersion);
  const entries = configTable.names.map((name) => `.B ${toRoff(name)}\n${toRoff(configKeys[name].description)}`);
  expect(entries.filter((entry) => !page.includes(entry))).toEqual([]);
});
