import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { textParts, type TextVariable, variablesOf } from '../compose/variables.rules.ts';
import { mapTexts } from './files.rules.ts';
import { type ImportWork, leaveUndecided, partsOf, tellChange } from './importWork.rules.ts';
import type { Model, Part } from './model.rules.ts';

/** The variables that the bundle's manifest names. */
export interface SuppliedVariables {
  /** Names of secrets. */
  secrets: string[];
  /** Values of the others. */
  variables: Map<string, string>;
}

const ofProject = { owner: 'project', key: 'variables' };

/**
 * Decides each variable that the model still uses: a secret, a variable of the manifest, or left open. A secret loses its
 * default.
 */
export function supplyVariables(work: ImportWork): SuppliedVariables {
  for (const section of Object.values(work.model))
    for (const [name, part] of Object.entries(section))
      section[name] = mapTexts(part, (text) => rewriteVariables(text, (one) => rewritten(one, work))) as Part;
  const uses = textsOf(work.model).flatMap((text) => variablesOf(text).uses);
  const bare = (['configs', 'secrets'] as const)
    .flatMap((section) => partsOf(work, section).map(({ part }) => part['environment']))
    .filter((name) => typeof name === 'string');
  const nameless = partsOf(work, 'services').flatMap(({ part }) =>
    Object.entries(part['environment'] ?? {}).flatMap(([name, value]) => (value === null ? [name] : [])),
  );
  const named = [...bare, ...nameless];
  const required = new Set([...uses.filter((use) => use.required).map(({ name }) => name), ...named]);
  const supplied: SuppliedVariables = { secrets: [], variables: new Map() };
  for (const name of new Set([...uses.map((use) => use.name), ...named]))
    supply(name, required.has(name), { work, supplied });
  return supplied;
}

/** All texts of a model. */
export function textsOf(model: Model): string[] {
  const texts: string[] = [];
  mapTexts(model, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
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
    leaveUndecided(work, ofProject, [`${printable(name)} is reserved`, cure]);
    return;
  }
  if (register.secrets.has(name) || register.isSecret(name, value)) {
    if (isRequired || value !== null || register.secrets.has(name)) supplied.secrets.push(name);
  } else if (value !== null && (value !== '' || !isDemanded(name, work))) supplied.variables.set(name, value);
  else if (isRequired || value !== null) leaveOpen(name, { work, supplied });
}

/** Whether the project demands a value that is not empty (`${NAME:?}`). */
function isDemanded(name: string, { model }: ImportWork): boolean {
  return textsOf(model).some((text) => text.includes(`\${${name}:?`));
}

/** A variable without a value: empty, as compose takes it, unless the project demands one (`${NAME:?}`). */
function leaveOpen(name: string, { work, supplied }: { work: ImportWork; supplied: SuppliedVariables }): void {
  const lacksOne = isDemanded(name, work);
  if (!lacksOne) supplied.variables.set(name, '');
  const what = lacksOne ? 'has no value' : 'has no value, so it is empty, as compose takes it';
  leaveUndecided(work, ofProject, [`${printable(name)} ${what}`, `--variable ${name}=VALUE or --secret ${name}`]);
}

function rewritten({ name, operator, inner, source }: TextVariable, work: ImportWork): string {
  const { register } = work;
  const value = register.values.get(name) ?? null;
  const isSecret = register.secrets.has(name) || register.isSecret(name, value);
  if (operator === '') return source;
  const isLiteral = inner !== '' && textParts(inner).every((part) => typeof part === 'string');
  if (isSecret && operator === ':?') return `\${${name}}`;
  if (isSecret && operator.endsWith('-') && (isLiteral || value !== null)) {
    if (isLiteral)
      tellChange(work, ofProject, [`\${${name}} has no default now`, 'its value is a secret, and a bundle holds none']);
    return `\${${name}}`;
  }
  return `\${${name}${operator}${rewriteVariables(inner, (one) => rewritten(one, work))}}`;
}

/** A text with each variable replaced by another text; unchanged if compose cannot read it. */
function rewriteVariables(text: string, rewrite: (variable: TextVariable) => string): string {
  if (!text.includes('$')) return text;
  const parts = textParts(text);
  if (parts.includes(null)) return text;
  return parts.map((part) => (part === null || typeof part === 'string' ? (part ?? '') : rewrite(part))).join('');
}
