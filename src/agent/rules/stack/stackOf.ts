import { listOf, objectOf, textOf, type ModelObject } from '../createdContainers/renderedModel.ts';
import {
  bundleFileAt,
  contentMountOf,
  fileMountOf,
  type ContentMount,
  type ContentSources,
  type SwarmContent,
} from './stackContents.ts';
import { stackServiceOf } from './stackService.ts';

/** What makes a stack of a rendered model. */
export interface StackSources extends ContentSources {
  /** Each image of the model with its digest. */
  pinnedImages: ReadonlyMap<string, string>;
  /** The bundle, with which every service is labelled. */
  sha: string;
}

/** A release as a swarm runs it. The file holds the values of `environment`, the contents those of secrets. */
export interface Stack {
  /** What `docker stack deploy` reads. */
  file: ModelObject;
  /** What must be in the swarm before, each once. */
  contents: SwarmContent[];
  /** What is mounted without a byte in it, which a swarm does not keep: `web: /run/secrets/db`. */
  empty: string[];
}

/** The version of stack files that the docker program of every supported engine knows. */
const version = '3.9';

/**
 * Converts the model that compose renders into a stack. Dollar signs stay doubled, as both programs have them. What a
 * stack cannot say was refused before.
 */
export function stackOf(model: unknown, sources: StackSources): Stack {
  const root = objectOf(model);
  const services = Object.entries(objectOf(root['services'])).map(([name, service]) => {
    const { contents, volumes } = mountsOf(objectOf(service), root, sources);
    const written = textOf(objectOf(service)['image']);
    const image = sources.pinnedImages.get(written) ?? written;
    const labels = { ...ownedBy(root), 'com.docker.compose.service': name };
    const parts = { image, labels, sha: sources.sha, contents, volumes };
    return { name, contents, service: stackServiceOf(objectOf(service), parts) };
  });
  const mounted = services.flatMap(({ contents }) => contents.map(({ content }) => content));
  const contents = [...new Map(mounted.map((content) => [content.name, content])).values()];
  const file = {
    version,
    services: Object.fromEntries(services.map(({ name, service }) => [name, service])),
    networks: objectOf(root['networks']),
    volumes: Object.fromEntries(Object.entries(objectOf(root['volumes'])).map(labelledBy(root))),
    configs: referencesTo(contents, 'config'),
    secrets: referencesTo(contents, 'secret'),
  };
  const empty = services.flatMap(({ name, contents: mounts }) =>
    mounts.filter(({ content }) => content.data.length === 0).map(({ target }) => `${name}: ${target}`),
  );
  return { file: withPlainKeys(file) as ModelObject, contents, empty };
}

/** The labels by which every node knows what is the project's, as compose would set them on one host. */
function ownedBy(root: ModelObject): ModelObject {
  return { 'com.docker.compose.project': root['name'] };
}

function labelledBy(root: ModelObject): (volume: [string, unknown]) => [string, ModelObject] {
  return ([name, value]) => {
    const volume = objectOf(value);
    const labels = { ...objectOf(volume['labels']), ...ownedBy(root) };
    return [name, volume['external'] === true ? volume : { ...volume, labels }];
  };
}

/** What a service mounts, divided into what the swarm keeps and what is on the nodes. */
function mountsOf(service: ModelObject, root: ModelObject, sources: ContentSources) {
  const volumes: ModelObject[] = [];
  const files: ContentMount[] = [];
  for (const mount of listOf(service['volumes']).map(objectOf)) {
    const file = mount['type'] === 'bind' ? bundleFileAt(textOf(mount['source']), sources) : null;
    if (file === null) volumes.push(mount);
    else files.push(fileMountOf(file, textOf(mount['target']), sources));
  }
  const named = (['configs', 'secrets'] as const).flatMap((section) =>
    listOf(service[section]).map((reference) => contentMountOf(reference, section, { root, sources })),
  );
  return { volumes, contents: [...files, ...named] };
}

function referencesTo(contents: readonly SwarmContent[], kind: SwarmContent['kind']): ModelObject {
  const names = contents.filter((content) => content.kind === kind).map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, { name, external: true }]));
}

/** Compose doubles the dollar signs of keys as well, which no program undoes. */
function withPlainKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPlainKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [textOf(key), withPlainKeys(inner)]));
}
