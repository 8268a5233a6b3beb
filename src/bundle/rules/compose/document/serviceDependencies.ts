import { entriesOf, itemsOf, textOf, textsOf, valueAt, valuesAt, type ComposeNode } from './composeNode.ts';

/** A service that compose starts before another one. */
export interface ServiceDependency {
  /** The key that names it. */
  key: string;
  name: string;
  /** False for `required: false` of `depends_on`: compose does without the service when it does not run. */
  required: boolean;
}

/** Where other keys than `depends_on` name a service. */
const references: readonly [key: string, service: RegExp][] = [
  ['links', /^[^:]+/],
  ['volumes_from', /^(?!container:)[^:]+/],
  ['network_mode', /(?<=^service:).+/],
  ['ipc', /(?<=^service:).+/],
  ['pid', /(?<=^service:).+/],
];

/** The services that compose starts before the service with these layers, each once for each key that names it. */
export function serviceDependenciesOf(layers: readonly ComposeNode[]): ServiceDependency[] {
  const ordered = valuesAt(layers, 'depends_on').flatMap((value) => [
    ...textsOf(itemsOf(value)).map((name): [string, boolean] => [name, true]),
    ...entriesOf(value).map(([name, entry]): [string, boolean] => [name, isRequired(entry)]),
  ]);
  const others = references.flatMap(([key, service]) => {
    const values = valuesAt(layers, key);
    // lists are merged, a text takes the place of the one in an earlier layer
    const inForce = values.at(-1)?.kind === 'list' ? values : values.slice(-1);
    const texts = textsOf(inForce.flatMap(itemsOf));
    const names = new Set(texts.flatMap((text) => service.exec(text) ?? []));
    return [...names].map((name) => ({ key, name, required: true }));
  });
  // the last layer that names a service decides
  return [...[...new Map(ordered)].map(([name, required]) => ({ key: 'depends_on', name, required })), ...others];
}

function isRequired(entry: ComposeNode): boolean {
  return !/^false$/i.test(textOf(valueAt(entry, 'required')) ?? '');
}
