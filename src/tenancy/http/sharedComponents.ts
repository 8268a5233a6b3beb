type Json = Record<string, unknown>;

/** A description by codes alone, such as `ENV_NOT_FOUND, BUNDLE_NOT_FOUND`. */
const codes = /^[A-Z_]+(, [A-Z_]+)*$/;

/**
 * Moves schemas with a `title`, and error responses that are described by their codes, into the components of an OpenAPI
 * document, where each stands once. Throws if two that differ have one name.
 */
export function shareComponents(document: Json): Json {
  const schemas = new Map<string, Json>();
  const responses = new Map<string, Json>();
  const replace = (node: Json, key: string) => {
    const { title, description, ...rest } = node;
    const about = description === undefined ? {} : { description };
    if (typeof title === 'string') return refer(schemas, { kind: 'schemas', name: title, node: { ...rest, ...about } });
    const isError = Number(key) >= 400 && typeof description === 'string' && codes.test(description);
    return isError ? refer(responses, { kind: 'responses', name: description.replaceAll(', ', '-or-'), node }) : node;
  };
  const paths = replaceObjects(document['paths'], replace);
  const webhooks = replaceObjects(document['webhooks'], replace);
  const components = { ...(document['components'] as Json), schemas: sorted(schemas), responses: sorted(responses) };
  return { ...document, paths, ...(webhooks !== undefined && { webhooks }), components };
}

/** A copy of a document's part, with each object replaced after those in it; `key` is where it stands. */
function replaceObjects(part: unknown, replace: (node: Json, key: string) => Json, key = ''): unknown {
  if (Array.isArray(part)) return part.map((item) => replaceObjects(item, replace));
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part).map(([name, value]) => [name, replaceObjects(value, replace, name)]);
  return replace(Object.fromEntries(entries) as Json, key);
}

function refer(components: Map<string, Json>, { kind, name, node }: { kind: string; name: string; node: Json }): Json {
  const known = components.get(name) ?? node;
  if (JSON.stringify(known) !== JSON.stringify(node)) throw new Error(`two ${kind} have the name ${name}`);
  components.set(name, node);
  return { $ref: `#/components/${kind}/${name}` };
}

function sorted(components: Map<string, Json>): Json {
  return Object.fromEntries([...components].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
