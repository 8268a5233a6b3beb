import { type Command, Option } from 'commander';
import { isObject } from '../../core/json.rules.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { path } from '../core/client.ts';
import { usageError } from '../core/ctlError.ts';
import { readValue } from '../core/input.ts';
import { formatDoom, formatFacts, formatTable, formatTime, signatureStepFacts, warningFacts } from '../core/table.ts';
import type { Bundle, EnvDetails, SecretName, WrittenSecret } from '../core/types.ts';

interface SetOptions {
  field: string;
  jsonFields?: boolean;
  fromFile?: string;
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
    .argument('<env>', 'name of the environment')
    .action(run(listSecrets));
  secret
    .command('set')
    .description('Write a new version from standard input, and deploy it if the desired bundle uses the secret')
    .argument('<env>', 'name of the environment')
    .argument('<key>', 'name of the secret')
    .option('--from-file <file>', 'read the value from a file, byte for byte')
    .option('--field <name>', 'field to write; other fields of the secret are removed', 'value')
    .addOption(new Option('--json-fields', 'read a JSON object with all fields').conflicts('field'))
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

async function listSecrets(session: Session, [env]: [string]): Promise<Result> {
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

async function setSecret(session: Session, [env, key]: [string, string], options: SetOptions): Promise<Result> {
  const target = path`/v1/envs/${env}/secrets/${key}`;
  const api = await session.api();
  const value = await readValue(session.io, options.fromFile, `value of ${key}`);
  const data = options.jsonFields ? fieldsOf(value) : { [options.field]: value };
  const json = await api.call<WrittenSecret>({ method: 'PUT', path: target, json: { data }, tries: 1 });
  return { json, text: formatWritten(json) };
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

function formatWritten({ path, version, bundle, warnings }: WrittenSecret): string {
  return formatFacts([
    ['secret', path],
    ['version', String(version)],
    ['bundle', bundle ? `${bundle.sha256}, sequence ${bundle.sequence}, ${stateOf(bundle)}` : 'none reads it'],
    ...warningFacts(warnings),
    ...(bundle ? signatureStepFacts(bundle) : []),
  ]);
}

function stateOf({ signature }: Bundle): string {
  return signature === 'awaiting signature' ? 'awaits a signature before it can be desired' : 'is desired';
}
