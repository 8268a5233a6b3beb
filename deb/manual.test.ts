import { program } from '../src/agent/cli.ts';
import { keyNames, keys } from '../src/agent/config/schema.ts';
import { commandPage, configPage } from './manual.ts';
import { roff } from './roff.ts';

const edition = { version: '1.2.3', date: new Date('2026-01-02T03:04:05Z') };

it('has every command and every option of the command line', () => {
  const page = commandPage(program, edition);
  const heads = program.commands.map((command) => `\n.B ${command.name()}`);
  const options = [program, ...program.commands].flatMap((each) =>
    each.options.map(({ long }) => `\n.B ${roff(long!)}`),
  );
  expect([...heads, ...options].filter((line) => !page.includes(line))).toEqual([]);
});

it('has every key of the configuration with its meaning', () => {
  const page = configPage(edition);
  const entries = keyNames.map((name) => `.B ${roff(name)}\n${roff(keys[name].meaning)}`);
  expect(entries.filter((entry) => !page.includes(entry))).toEqual([]);
});
