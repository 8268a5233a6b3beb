import { isDeepStrictEqual } from 'node:util';
import { Document, isScalar, visit } from 'yaml';

/** A mapping of a model. */
export type Part = Record<string, unknown>;

/** One value that compose reads in a project: section, name, part. */
export type Model = Record<Section, Record<string, Part>>;

type Section = (typeof sections)[number];
/** The sections of a model. */
export const sections = ['services', 'networks', 'volumes', 'configs', 'secrets'] as const;

/**
 * The model in the JSON of `docker compose config`, in the form that is the same for all versions of compose. `major` is
 * the version's first number.
 */
export function modelOf(json: string, major: number, placeOf: (path: string) => string = (path) => path): Model {
  const read = JSON.parse(json, (key, value: unknown) =>
    typeof value === 'string' ? placeOf(value) : plainValue(key, value),
  ) as Partial<Model>;
  for (const service of Object.values(read.services ?? {})) {
    const unread = Object.keys(service).filter((key) => key.startsWith('x-') || /^(env|label)_file$/.test(key));
    removeKeys(service, ...unread);
    for (const mount of listAt(service, 'volumes')) if (isPart(mount)) rewriteBind(mount, major);
  }
  return Object.fromEntries(sections.map((section) => [section, read[section] ?? {}])) as Model;
}

/** A value as all versions of compose write it; undefined for a default that only some of them write. */
function plainValue(key: string, value: unknown): unknown {
  if (key === 'devices' && Array.isArray(value)) return value.map(deviceOf);
  if (key === 'count' && value === -1) return 'all';
  const isDefault = key === 'required' ? value === true : key === 'external' && value === false;
  return isDefault || (/^(volume|environment)$/.test(key) && isEmpty(value)) ? undefined : value;
}

/** Compose before 5 writes `create_host_path` only where it is true, and later ones only where it is false. */
function rewriteBind(mount: Part, major: number): void {
  const { create_host_path: creates, ...rest } = partAt(mount, 'bind');
  const isCreated = major < 5 ? creates === true : creates !== false;
  const isOpen = isCreated || !isPart(mount['bind']) || mount['type'] !== 'bind';
  mount['bind'] = isOpen ? rest : { ...rest, create_host_path: false };
  if (isEmpty(mount['bind'])) removeKeys(mount, 'bind');
}

/** A device as compose 2.2x writes it, in the later form. */
function deviceOf(device: unknown): unknown {
  if (typeof device !== 'string' || !device.startsWith('/')) return device;
  const [source, target = source, permissions = 'rwm'] = device.split(':');
  return { source, target, permissions };
}

/** A value with other texts in place of its texts. */
export function mapTexts(value: unknown, textFor: (text: string) => string): unknown {
  if (typeof value === 'string') return textFor(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, textFor));
  if (!isPart(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, textFor)]));
}

/** All texts of a value. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

/** The mapping under a chain of keys; otherwise an empty one. */
export function partAt(value: unknown, ...keys: string[]): Part {
  const found = keys.reduce<unknown>((part, key) => (isPart(part) ? part[key] : undefined), value);
  return isPart(found) ? found : {};
}

/** The list under a key; otherwise an empty one. */
export function listAt<Item = unknown>(part: Part, key: string): Item[] {
  return Array.isArray(part[key]) ? (part[key] as Item[]) : [];
}

/** The text, number or boolean under a key as text; otherwise ''. */
export function textAt(part: Part, key: string): string {
  const value = part[key];
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value : '';
}

/** Whether a value is a mapping. */
export function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Removes keys; whether one was there. */
export function removeKeys(part: Part, ...keys: string[]): boolean {
  const found = keys.filter((key) => key in part);
  for (const key of found) Reflect.deleteProperty(part, key);
  return found.length > 0;
}

/** Removes what compose adds to a model: default names, and values without content. */
export function withoutAdditions(model: Model, project: string): Model {
  for (const parts of Object.values(model))
    for (const [name, part] of Object.entries(parts)) {
      if (part['name'] === `${project}_${name}` && part['external'] !== true) removeKeys(part, 'name');
      if (part['external'] !== true) removeKeys(part, 'external');
      const deploy = partAt(part, 'deploy');
      if (isEmpty(deploy['placement'])) removeKeys(deploy, 'placement');
      for (const key of ['ipam', 'driver_opts', 'environment', 'command', 'entrypoint', 'deploy', 'networks'])
        if (part[key] === null || isEmpty(part[key])) removeKeys(part, key);
    }
  return model;
}

function isEmpty(value: unknown): boolean {
  return isPart(value) && Object.keys(value).length === 0;
}

/** The text of a compose file with a model, in the short forms where they say the same. */
export function composeTextOf(model: Model): string {
  const { services, ...sections } = model;
  const unused = isEmpty(sections.networks['default']) ? ['default'] : [];
  removeKeys(sections.networks, ...unused);
  const others = Object.entries(sections).filter(([, parts]) => !isEmpty(parts));
  const written = Object.fromEntries(Object.entries(services).map(([name, part]) => [name, writtenService(part)]));
  const options = { version: '1.1', aliasDuplicateObjects: false } as const;
  const document = new Document({ services: written, ...Object.fromEntries(others) }, options);
  // An item of a list is a text, also where a number takes the place of its variable.
  visit(document, {
    Seq: (_, { items }) => {
      for (const item of items) if (isScalar(item) && String(item.value).includes('$')) item.type = 'QUOTE_SINGLE';
    },
  });
  return document.toString({ lineWidth: 0, singleQuote: true });
}

function writtenService(service: Part): Part {
  const part = { ...service };
  for (const [key, write] of Object.entries(shortForms))
    if (Array.isArray(part[key])) part[key] = listAt(part, key).map((item) => (isPart(item) ? write(item) : item));
  for (const [key, plain] of [['networks', null] as const, ['depends_on', { condition: 'service_started' }] as const]) {
    const named = part[key];
    if (isPart(named) && Object.values(named).every((value) => isDeepStrictEqual(value, plain)))
      part[key] = Object.keys(named);
  }
  if (String(part['networks']) === 'default') removeKeys(part, 'networks');
  return part;
}

const shortForms: Readonly<Record<string, (item: Part) => unknown>> = {
  ...{ volumes: writtenMount, ports: writtenPort, devices: writtenDevice },
  ...{ configs: writtenReference, secrets: writtenReference },
};

/** The values of a part that has no lists and mappings but those that are named. */
type Flat = Record<string, string | number | boolean | undefined>;
type Mount = Flat & { bind?: Flat; volume?: Flat };

function writtenMount(mount: Part): unknown {
  const { type, source, target, read_only: readOnly, bind = {}, volume = {}, ...rest } = mount as Mount;
  const { selinux, propagation, ...more } = bind;
  const { nocopy, ...options } = volume;
  const all = [readOnly === true && 'ro', selinux, propagation, nocopy === true && 'nocopy'];
  const modes = all.filter((mode) => mode !== false && mode !== undefined).join(',');
  const texts = [source, target].filter((text) => text !== undefined).map(String);
  const isShort = /^(bind|volume)$/.test(String(type)) && isEmpty({ ...rest, ...more, ...options });
  if (!isShort || texts.some((text) => text.includes(':')) || (source === undefined && modes !== '')) return mount;
  return [...texts, ...(modes === '' ? [] : [modes])].join(':');
}

function writtenPort(port: Part): unknown {
  const { protocol = 'tcp', mode = 'ingress', target, published, host_ip: address, ...rest } = port as Flat;
  if (mode !== 'ingress' || !isEmpty(rest) || String(address).includes(':')) return port;
  const places = [address, published ?? (address === undefined ? undefined : ''), target];
  const text = places.filter((place) => place !== undefined).join(':');
  return protocol === 'tcp' ? text : `${text}/${protocol}`;
}

function writtenDevice(device: Part): unknown {
  const { source, target, permissions = 'rwm', ...rest } = device as Flat;
  if (!isEmpty(rest)) return device;
  return [source, target, ...(permissions === 'rwm' ? [] : [permissions])].join(':');
}

function writtenReference(reference: Part): unknown {
  const { source, target, mode, ...rest } = reference as Flat;
  const isUsual = target === undefined || target === `/run/secrets/${source}`;
  const bits = typeof mode === 'string' && /^0[0-7]+$/.test(mode) ? Number.parseInt(mode, 8) : mode;
  const more = { ...(!isUsual && { target }), ...rest, ...(mode !== undefined && { mode: bits }) };
  return isEmpty(more) ? source : { source, ...more };
}
