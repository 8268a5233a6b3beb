import { type Command, Option } from 'commander';
import { envValues, readEnvFile } from '../../bundle/compose/variables.rules.ts';
import { isObject } from '../../core/json.rules.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, path } from '../core/client.ts';
import { usageError } from '../core/ctlError.ts';
import { countOption, envOf, readValue } from '../core/input.ts';
import { formatDoom, formatFacts, formatTable, formatTime, signatureStepFacts, warningFacts } from '../core/table.ts';
import { overrideOf, overrideRolloutOption } from './env.ts';
import type { Bundle, EnvDetails, SecretName, WrittenSecret, WrittenSecrets } from '../core/types.ts';

interface SetOptions {
  field: string;
  jsonFields?: boolean;
  fromFile?: string;
  fromEnvFile?: string;
  overrideRollout?: true;
  ifVersion?: number;
}

/** `deployctl secret list|set|delete|keep`. */
export function addSecret(program: Command, run: Run): void {
  const secret = program
    .command('secret')
    .helpCommand(false)
    .description('Manage the secrets of an environment; values are never shown');
  secret
    .command('list')
    .description('List secrets with version, author and time')
    .argument('[env]', 'name of the environment (default: the only one)')
    .action(run(listSecrets));
  secret
    .command('set')
    .description('Write a new version from standard input, and deploy it if the desired bundle uses the secret')
    .argument('<env>', 'name of the environment')
    .argument('<key...>', 'name of the secret, or KEY=@FILE for each of several, which are deployed together')
    .addOption(
      new Option(
        '--from-env-file <file>',
        'read values from an env file: of all its variables, or for KEY=NAME,… of these; a field has the name of its variable in lower case',
      ).conflicts(['field', 'jsonFields', 'fromFile']),
    )
    .option('--from-file <file>', 'read the value from a file, byte for byte')
    .option('--field <name>', 'field to write; the other fields of the secret are kept', 'value')
    .option('--if-version <n>', 'refuse if the newest version is another one', countOption)
    .addOption(new Option('--json-fields', 'read a JSON object with all fields; others are removed').conflicts('field'))
    .addOption(overrideRolloutOption())
    .action(run(setSecret));
  secret
    .command('delete')
    .description('Destroy all versions of a secret')
    .argument('<env>', 'name of the environment')
    .argument('<key>', 'name of the secret')
    .action(run(deleteSecret));
  secret
    .command('keep')
    .description('Keep the secrets of an environment whose last host is retired')
    .argument('<env>', 'name of the environment')
    .action(run(keepSecrets));
}

async function listSecrets(session: Session, [named]: [string | undefined]): Promise<Result> {
  const env = await envOf(session, named);
  const api = await session.api();
  const call = { method: 'GET', path: path`/v1/envs/${env}/secrets` } as const;
  const json = await api.call<{ secrets: SecretName[]; destroy_at?: string | null }>(call);
  const rows = json.secrets.map(({ key, version, written_at, written_by }) => [
    ...[key, String(version), written_at ? formatTime(written_at, session.nowMs) : '-', written_by ?? '-'],
  ]);
  const table = formatTable(['KEY', 'VERSION', 'WRITTEN', 'BY'], rows, session.width);
  const doom = json.destroy_at ? [`all are ${formatDoom(env, json.destroy_at, session.nowMs)}`] : [];
  return { json, text: [table, ...doom].join('\n') };
}

async function keepSecrets(session: Session, [env]: [string]): Promise<Result> {
  const api = await session.api();
  const json = await api.call<EnvDetails>({ method: 'POST', path: path`/v1/envs/${env}/keep-secrets` });
  return { json, text: `the secrets of environment ${env} are kept` };
}

async function setSecret(session: Session, [env, keys]: [string, string[]], options: SetOptions): Promise<Result> {
  const { fromEnvFile } = options;
  const sources = fromEnvFile === undefined ? sourcesOf(keys, options) : [];
  const api = await session.api();
  const secrets: Record<string, Record<string, unknown>> = {};
  for (const [key, file] of sources) {
    const value = await readValue(session.io, file, `value of ${key}`);
    secrets[key] = options.jsonFields ? fieldsOf(value) : { [options.field]: value };
  }
  if (fromEnvFile !== undefined)
    Object.assign(secrets, fieldsOfEnvFile(keys, await readValue(session.io, fromEnvFile, ''), fromEnvFile));
  const { ifVersion } = options;
  const choices = { ...overrideOf(options.overrideRollout), ...(options.jsonFields !== true && { keep_fields: true }) };
  const [first = ['', {}], ...others] = Object.entries(secrets);
  if (others.length > 0 && ifVersion !== undefined)
    throw usageError('VALUE_INVALID', '--if-version is for one secret', 'deployctl secret set ENV KEY --if-version N');
  if (others.length > 0) {
    const target = path`/v1/envs/${env}/secrets`;
    const json = await api.call<WrittenSecrets>({
      method: 'PUT',
      path: target,
      json: { secrets, ...choices },
      tries: 1,
    });
    return { json, text: await formatWritten(api, json.secrets, json) };
  }
  const [key, data] = first;
  const target = path`/v1/envs/${env}/secrets/${key}`;
  const json = await api.call<WrittenSecret>({
    method: 'PUT',
    path: target,
    json: { data, ...choices, ...(ifVersion !== undefined && { if_version: ifVersion }) },
    tries: 1,
  });
  return { json, text: await formatWritten(api, [json], json) };
}

/** The secrets to set, with the files of their values; undefined for standard input. The error names no value. */
function sourcesOf(keys: readonly string[], { fromFile }: SetOptions): Map<string, string | undefined> {
  const [only = ''] = keys;
  if (keys.length === 1 && !only.includes('=')) return new Map([[only, fromFile]]);
  const sources = new Map<string, string | undefined>();
  for (const argument of fromFile === undefined ? keys : []) {
    const [, key = '', file] = /^([^=]+)=@(.+)$/s.exec(argument) ?? [];
    if (key !== '') sources.set(key, file === '-' ? undefined : file);
  }
  if (sources.size === keys.length) return sources;
  const message = 'several secrets need KEY=@FILE each, with different keys; a value is never an argument';
  throw usageError('VALUE_INVALID', message, 'deployctl secret set ENV user=@user.txt password=@password.txt');
}

/** The fields of secrets with values of an env file, as compose reads it. The error names no value. */
function fieldsOfEnvFile(keys: readonly string[], text: string, file: string): Record<string, Record<string, string>> {
  const read = readEnvFile(text);
  const values = envValues(read.assignments);
  const refuse = (message: string) =>
    usageError('VALUE_INVALID', message, `deployctl secret set ENV KEY=NAME --from-env-file ${file}`);
  const chosen = keys.map((argument) => {
    const [key = '', names] = argument.split('=', 2);
    if (key === '' || names === '') throw refuse('KEY=NAME needs a key and the name of a variable');
    if (names === undefined && read.unread > 0)
      throw refuse(`${file} has ${read.unread} ${read.unread === 1 ? 'line' : 'lines'} that cannot be read`);
    return [key, names?.split(',') ?? [...values.keys()]] as const;
  });
  if (new Set(chosen.map(([key]) => key)).size < keys.length) throw refuse('a key was given twice');
  const secrets = chosen.map(([key, names]) => {
    const fields = new Map(
      names.flatMap((name): [string, string][] => {
        const value = values.get(name);
        return value === undefined ? [] : [[name.toLowerCase(), value]];
      }),
    );
    if (fields.size === 0 || fields.size < names.length)
      throw refuse(`${file} does not set all variables of ${key}, or two whose names differ only in case`);
    return [key, Object.fromEntries(fields)] as const;
  });
  return Object.fromEntries(secrets);
}

async function deleteSecret(session: Session, [env, key]: [string, string]): Promise<Result> {
  const api = await session.api();
  const json = await api.call({ method: 'DELETE', path: path`/v1/envs/${env}/secrets/${key}` });
  return { json, text: `secret ${key} of ${env} is deleted` };
}

/** The fields of a JSON object of strings; the error names no value. */
function fieldsOf(text: string): Record<string, unknown> {
  const parsed = parseJson(text);
  if (isObject(parsed) && Object.values(parsed).every((value) => typeof value === 'string')) return parsed;
  throw usageError('VALUE_INVALID', 'the value is not a JSON object of strings', '{"user": "…", "password": "…"}');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

async function formatWritten(
  api: Api,
  secrets: WrittenSecrets['secrets'],
  { bundle, warnings }: Pick<WrittenSecret, 'bundle' | 'warnings'>,
): Promise<string> {
  const awaits = bundle?.signature === 'awaiting signature';
  const env = awaits ? await api.call<EnvDetails>({ method: 'GET', path: path`/v1/envs/${bundle.env}` }) : null;
  return formatFacts([
    ...secrets.flatMap(({ path, version }): [string, string][] => [
      ['secret', path],
      ['version', String(version)],
    ]),
    ['bundle', bundle ? `${bundle.sha256}, sequence ${bundle.sequence}, ${stateOf(bundle)}` : 'none reads it'],
    ...warningFacts(warnings),
    ...(bundle ? signatureStepFacts(bundle, { previous: env?.desired_sha ?? null }) : []),
  ]);
}

function stateOf({ signature }: Bundle): string {
  return signature === 'awaiting signature' ? 'awaits a signature before it can be desired' : 'is desired';
}
