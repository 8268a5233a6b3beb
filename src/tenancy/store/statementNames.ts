/** Names of prepared statements by their text, for a server that keeps statements by name. */
const names = new Map<string, string>();

/** Gives a prepared statement a name, once. */
export function nameStatement(text: string): void {
  if (!names.has(text)) names.set(text, `deployd_${names.size}`);
}

/** The name of a prepared statement, by its text; undefined for any other statement. */
export function statementNameOf(text: string): string | undefined {
  return names.get(text);
}
