import type { Command, Help } from 'commander';
import { endings, commandEndings } from '../../machines/endings.ts';
import { configKeys, configTable } from '../../src/agent/config/configKeys.ts';
import type { PackageVersion } from '../packageVersion.ts';
import { entryOf, toRoff, sectionOf, titleOf } from './roff.ts';

/** deployd(1): commands and options come from the command line's definition, exit codes from the table of endings. */
export function commandPage(program: Command, packageVersion: PackageVersion): string {
  const commands = program.commands.map((command) => formatCommand(command, program));
  return page(
    titleOf('DEPLOYD', 1, packageVersion),
    sectionOf('NAME', toRoff('deployd - converges a container host to the bundle that its tenancy service announces')),
    sectionOf('SYNOPSIS', toRoff('`deployd` [options] command')),
    sectionOf('DESCRIPTION', toRoff(description)),
    sectionOf('COMMANDS', ...commands),
    sectionOf('OPTIONS', ...optionsOf(program.createHelp(), program)),
    sectionOf('EXIT STATUS', ...exitStatusEntries()),
    sectionOf('FILES', ...files.map(([file, meaning]) => entryOf(file, meaning))),
    sectionOf('EXAMPLES', ...examples.map(([line, meaning]) => entryOf(line, meaning))),
    sectionOf('SEE ALSO', toRoff('`deployd.yaml`(5), `systemctl`(1), `journalctl`(1)')),
  );
}

/** deployd.yaml(5), about config.yaml: its keys come from the table that validates the configuration. */
export function configPage(packageVersion: PackageVersion): string {
  const entries = configTable.names.map((name) => {
    const { allowed, description: meaning, default: value } = configKeys[name];
    return entryOf(
      name,
      meaning,
      `Allowed: ${allowed}. ${value === undefined ? 'Required.' : `Default: ${formatDefault(value)}.`}`,
    );
  });
  return page(
    titleOf('DEPLOYD.YAML', 5, packageVersion),
    sectionOf('NAME', toRoff('deployd.yaml - config.yaml, the configuration of the deploy agent deployd')),
    sectionOf('DESCRIPTION', toRoff(format)),
    sectionOf('KEYS', ...entries),
    sectionOf('EXAMPLE', '.nf', toRoff(example), '.fi'),
    sectionOf('FILES', entryOf('/etc/deployd/config.yaml', 'Owned by root and group deployd, mode 0640.')),
    sectionOf('SEE ALSO', toRoff('`deployd`(1)')),
  );
}

const description = `\`deployd\` runs on a container host. Each tick asks the tenancy service what should run here and makes it so: it
downloads and verifies the bundle, refuses what is not allowed, reads the secrets, and brings the release up with compose.
The unit \`deployd.timer\` starts a tick 60 to 70 seconds after the end of the last one; the package itself enables nothing.`;

const files = [
  ['/etc/deployd/config.yaml', 'The configuration, see `deployd.yaml`(5).'],
  ['/etc/deployd/bootstrap.jwt', 'The bootstrap grant; it is there only until the first login.'],
  ['/var/lib/deployd/store.token', 'The secretstore token, the only credential that is kept.'],
  ['/var/lib/deployd/state.json', 'What is applied, and how the last tick ended.'],
  ['/var/lib/deployd/<env>/current', 'The release in force.'],
] as const;

const examples = [
  ['deployd status', 'Is this host in sync?'],
  ['sudo deployd run --once', 'One tick now.'],
  ['sudo deployd bootstrap', 'After a new grant was put in place.'],
  ['journalctl -u deployd', 'What the ticks did.'],
] as const;

const format = `One YAML 1.2 document: \`true\` and \`false\` are the only booleans, no key is given twice, aliases are not allowed. A key
with a dot stands in a section: \`disk.headroom_bytes\` is written as headroom_bytes under disk. Everything that is wrong is
told at once, one line each, and the agent exits 78. The file holds no secret, and no environment variable changes what
the agent does.`;

const example = `env: eu-1
site: berlin
transport: proxy
tenancy_url: https://tenancy.deploy
secretstore_url: https://secretstore
disk:
  headroom_bytes: 4294967296`;

function page(...parts: string[]): string {
  return `${parts.join('\n')}\n`;
}

function formatCommand(command: Command, program: Command): string {
  const help = program.createHelp();
  const head = entryOf(help.subcommandTerm(command).replace(' [options]', ''), toSentence(command.description()));
  const options = optionsOf(help, command);
  return [head, ...(options.length > 0 ? ['.RS', ...options, '.RE'] : [])].join('\n');
}

/** Entries of the options, without those that every command has. */
function optionsOf(help: Help, command: Command): string[] {
  const common = command.parent === null ? [] : ['--config', '--help'];
  const options = help.visibleOptions(command).filter(({ long }) => !common.includes(long ?? ''));
  return options.map((option) => entryOf(help.optionTerm(option), toSentence(option.description)));
}

function exitStatusEntries(): string[] {
  const all = Object.entries({ ...endings, ...commandEndings });
  const codes = [...new Set(all.map(([, { meta }]) => meta.exit))].sort((a, b) => a - b);
  return codes.map((code) =>
    entryOf(String(code), ...all.filter(([, { meta }]) => meta.exit === code).map(formatEnding)),
  );
}

function formatEnding([name, { description: meaning }]: [string, { description: string }]): string {
  return `${name}: ${meaning}`;
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}`;
}

function formatDefault(value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
