/** The value if it is an object, else an empty object. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** The value if it is an array, else an empty array. */
export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** The value if it is a string, else an empty string. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The parsed JSON, undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
