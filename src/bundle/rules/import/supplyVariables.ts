import { printable } from '../../../protocol/printable.ts';
import { isReservedVariable } from '../../../protocol/reservedVariables.ts';
import { readEnvFile } from './envFileValues.ts';
import { textParts, variablesOf, type TextVariable } from '../compose/document/interpolation.ts';
import { leaveUndecided, tellChange, type ImportWork } from './importWork.ts';
import { resolveVariable, rewriteVariables } from './interpolate.ts';
import { bareNamesOf, valueScalars } from './usedVariables.ts';
import { setText } from './yamlNodes.ts';

/** The variables that the bundle's manifest names. */
export interface SuppliedVariables {
  /** Names of secrets. */
  secrets: string[];
  /** Values of the others. */
  variables: Map<string, string>;
}

const place = { owner: 'project', key: 'variables' };

/**
 * Decides each variable that the documents and env files still use: a secret, a variable of the manifest, or left open. A
 * secret loses its default; a reserved variable is written out, or has another name if it is a secret.
 */
export function supplyVariables(work: ImportWork): SuppliedVariables {
  for (const scalar of work.documents.flatMap(valueScalars)) {
    const text = rewriteVariables(scalar.value, (variable) => rewritten(variable, work));
    if (text !== null && text !== scalar.value) setText(scalar, text);
  }
  const texts = [...work.documents.flatMap(valueScalars).map(({ value }) => value), ...envTemplates(work)];
  const uses = texts.flatMap((text) => variablesOf(text).uses);
  const bare = bareNamesOf(work.documents);
  const required = new Set([...uses.filter((use) => use.required).map(({ name }) => name), ...bare]);
  const supplied: SuppliedVariables = { secrets: [], variables: new Map() };
  for (const name of new Set([...uses.map((use) => use.name), ...bare]))
    supply(name, required.has(name), { work, supplied });
  return supplied;
}

function supply(
  name: string,
  isRequired: boolean,
  { work, supplied }: { work: ImportWork; supplied: SuppliedVariables },
): void {
  const { register } = work;
  const value = register.values.get(name) ?? null;
  if (isReservedVariable(name)) {
    const cure = `write its value into the compose file, or --variable ${name}=VALUE`;
    leaveUndecided(work, place, [`${printable(name)} is reserved`, cure]);
    return;
  }
  if (register.secrets.has(name) || register.isSecret(name, value)) {
    if (isRequired || value !== null || register.secrets.has(name)) supplied.secrets.push(name);
  } else if (value !== null) supplied.variables.set(name, value);
  else if (isRequired) leaveOpen(name, { work, supplied });
}

/** A variable without a value: empty, as compose takes it, unless the project demands one (`${NAME:?}`). */
function leaveOpen(name: string, { work, supplied }: { work: ImportWork; supplied: SuppliedVariables }): void {
  const isDemanded = work.documents.flatMap(valueScalars).some(({ value }) => demands(value, name));
  if (!isDemanded) supplied.variables.set(name, '');
  const what = isDemanded ? 'has no value' : 'has no value, so it is empty, as compose takes it';
  leaveUndecided(work, place, [`${printable(name)} ${what}`, `--variable ${name}=VALUE or --secret ${name}`]);
}

function demands(text: string, name: string): boolean {
  return text.includes(`\${${name}?`) || text.includes(`\${${name}:?`);
}

function rewritten(variable: TextVariable, work: ImportWork): string {
  const { name, operator, inner, source } = variable;
  const { register } = work;
  const value = register.values.get(name) ?? null;
  const isSecret = register.secrets.has(name) || register.isSecret(name, value);
  const isEmpty = value === null && operator.endsWith('-') && inner === '';
  if (isReservedVariable(name)) {
    if (isSecret && !isEmpty) return rewritten({ ...variable, ...renamed(variable, work) }, work);
    return writtenOut(variable, work) ?? source;
  }
  if (operator === '') return source;
  const isLiteral = inner !== '' && textParts(inner).every((part) => typeof part === 'string');
  if (isSecret && operator.endsWith('-') && (isLiteral || value !== null)) {
    if (isLiteral)
      tellChange(work, place, [`\${${name}} has no default now`, 'its value is a secret, and a bundle holds none']);
    return `\${${name}}`;
  }
  return `\${${name}${operator}${rewriteVariables(inner, (one) => rewritten(one, work)) ?? inner}}`;
}

/** A reserved variable that is a secret, under a name that it may have. */
function renamed({ name, source }: TextVariable, work: ImportWork): Pick<TextVariable, 'name' | 'source'> {
  const { register, choices } = work;
  const other = register.variableFor(name, choices.name.toUpperCase(), register.values.get(name) ?? '');
  tellChange(work, place, [`${printable(source)} is \${${other}} now`, `${printable(name)} is reserved`]);
  return { name: other, source: `\${${other}}` };
}

/** The value of a reserved variable; one of a secret is none. */
function writtenOut(variable: TextVariable, work: ImportWork): string | null {
  const text = resolveVariable(variable, work.register.openValueOf)?.replaceAll('$', '$$$$') ?? null;
  if (text !== null)
    tellChange(work, place, [`${printable(variable.source)} is written out as ${printable(text)}`, 'it is reserved']);
  return text;
}

/** Texts of the env files that come along. */
function envTemplates({ tree, envFiles }: ImportWork): string[] {
  return [...envFiles].flatMap((path) =>
    readEnvFile(tree.textOf(path) ?? '').assignments.map(({ template }) => template),
  );
}
