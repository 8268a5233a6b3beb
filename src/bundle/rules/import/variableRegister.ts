import { isReservedVariable } from '../../../protocol/reservedVariables.ts';
import type { ImportChoices } from './importReport.ts';
import { isNoSecretValue, isSecretName, isSecretValue } from './secretSigns.ts';

/** The variables of a project: their values, which are secrets, and the secrets that stood in its files. */
export interface VariableRegister {
  /** Values of `.env` and of the operator's choices. */
  readonly values: ReadonlyMap<string, string>;
  /** Whether the value of a variable is a secret; null when it has no value. */
  isSecret: (name: string, value: string | null) => boolean;
  /** The value of a variable that may stand in a bundle; null when it has none or is a secret. */
  openValueOf: (name: string) => string | null;
  /** The variable for a secret that stood in a file: the same for the same value, else one named after its owner too. */
  variableFor: (name: string, owner: string, value: string) => string;
  /** Keeps names that the project uses, so that no secret of a file takes one. */
  takeNames: (names: readonly string[]) => void;
  /** Variables that are secrets, in the order in which they were found. */
  readonly secrets: Set<string>;
}

/** Begins with the values of `.env` and of the operator's choices. */
export function createVariableRegister(values: ReadonlyMap<string, string>, choices: ImportChoices): VariableRegister {
  const found = new Map<string, string | null>(values);
  const secrets = new Set<string>();
  const isSecret = (name: string, value: string | null) => {
    if (choices.secrets.has(name) || choices.variables.has(name)) return choices.secrets.has(name);
    const isSwitch = value !== null && value !== '' && isNoSecretValue(value);
    return (isSecretName(name) && !isSwitch) || isSecretValue(value ?? '');
  };
  const variableFor = (name: string, owner: string, value: string) => {
    const plain = variableName(name);
    const owned = variableName(`${owner}_${plain}`);
    for (let count = 0; ; count++) {
      const candidate = [plain, owned][count] ?? `${owned.slice(0, maxNameLength - 10)}_${count}`;
      const other = found.get(candidate);
      if (isReservedVariable(candidate) || (other !== undefined && other !== value)) continue;
      found.set(candidate, value);
      secrets.add(candidate);
      return candidate;
    }
  };
  const openValueOf = (name: string) => {
    const value = values.get(name) ?? null;
    return value === null || isSecret(name, value) ? null : value;
  };
  const takeNames = (names: readonly string[]) => {
    for (const name of names) if (!found.has(name)) found.set(name, null);
  };
  return { values, isSecret, openValueOf, variableFor, takeNames, secrets };
}

const maxNameLength = 200;

/** A name that a variable may have. */
function variableName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, '_').slice(0, maxNameLength);
  return /^\d/.test(plain) ? `_${plain.slice(1)}` : plain;
}
