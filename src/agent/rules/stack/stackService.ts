import { contentLabel } from '../release/contentLabel.ts';
import { listOf, objectOf, textOf, textsOf, type ModelObject } from '../createdContainers/renderedModel.ts';
import { inertText } from './inertText.ts';
import type { ContentMount } from './stackContents.ts';
import { stackMountOf } from './stackMount.ts';

/** What a service of the stack gets besides what the model says. */
export interface ServiceParts {
  /** Labels of its containers. */
  labels: ModelObject;
  /** The image with its digest. */
  image: string;
  sha: string;
  /** The contents that it mounts. */
  contents: readonly ContentMount[];
  /** The items of `volumes` that are no contents. */
  volumes: readonly ModelObject[];
}

/** Keys that say nothing in a stack, because compose has done what they say or they are about `docker compose up`. */
const droppedKeys = ['attach', 'develop', 'expose', 'profiles', 'pull_policy', 'restart', 'scale', 'tmpfs'];

/**
 * A service of the rendered model as `docker stack deploy` takes it. Keys that are not named here stay, so that the
 * program refuses what it does not know.
 */
export function stackServiceOf(
  service: ModelObject,
  { image, labels, sha, contents, volumes }: ServiceParts,
): ModelObject {
  const kept = Object.entries(service).filter(([key, value]) => !droppedKeys.includes(key) && value !== null);
  const temporary = textsOf(service['tmpfs']).map((target) => ({ type: 'tmpfs', target }));
  return {
    ...Object.fromEntries(kept),
    image,
    configs: contents.filter(({ content }) => content.kind === 'config').map(referenceOf),
    secrets: contents.filter(({ content }) => content.kind === 'secret').map(referenceOf),
    volumes: [...volumes, ...temporary].map(stackMountOf),
    ports: listOf(service['ports']).map((port) => portOf(objectOf(port))),
    depends_on: Object.keys(objectOf(service['depends_on'])),
    extra_hosts: listOf(service['extra_hosts']).map((host) => String(host).replace('=', ':')),
    ...inertTextsOf(service),
    labels: { ...keptLabelsOf(service), ...placementLabelOf(service), ...labels },
    deploy: deployOf(service, sha),
  };
}

function referenceOf({ content, target, ...access }: ContentMount): ModelObject {
  return { source: content.name, target: target.replaceAll('$', '$$$$'), ...access };
}

function portOf({ published, ...port }: ModelObject): ModelObject {
  return { ...port, ...(published !== undefined && { published: Number(textOf(published)) }) };
}

/** The keys in which a swarm would expand templates. */
function inertTextsOf(service: ModelObject): ModelObject {
  const environment = Object.entries(objectOf(service['environment'])).map(([name, value]) => [name, inertText(value)]);
  return {
    environment: Object.fromEntries(environment),
    ...(service['hostname'] !== undefined && { hostname: inertText(service['hostname']) }),
  };
}

/** Not by which compose on one host knows what to start anew: contents have names of their own, on all nodes the same. */
function keptLabelsOf(service: ModelObject): ModelObject {
  const labels = Object.entries(objectOf(service['labels'])).filter(([name]) => name !== contentLabel);
  return Object.fromEntries(labels);
}

/**
 * Has the swarm start anew what is to be placed otherwise: it leaves tasks as they were made when nothing but the placement
 * changed and their nodes will do, and nobody could tell them from tasks that are still to be replaced.
 */
function placementLabelOf(service: ModelObject): ModelObject {
  const placement = objectOf(objectOf(service['deploy'])['placement']);
  return Object.keys(placement).length === 0 ? {} : { 'deployd.placement': JSON.stringify(placement) };
}

function deployOf(service: ModelObject, sha: string): ModelObject {
  const deploy = objectOf(service['deploy']);
  const { limits, reservations, ...resources } = objectOf(deploy['resources']);
  return {
    restart_policy: restartPolicyOf(service),
    ...deploy,
    ...(service['scale'] !== undefined && { replicas: service['scale'] }),
    labels: { ...objectOf(deploy['labels']), 'deployd.sha': sha },
    resources: {
      ...resources,
      ...(limits !== undefined && { limits: quantityOf(objectOf(limits)) }),
      ...(reservations !== undefined && { reservations: quantityOf(objectOf(reservations)) }),
    },
  };
}

function quantityOf({ cpus, ...quantity }: ModelObject): ModelObject {
  return { ...quantity, ...(cpus !== undefined && { cpus: textOf(cpus) }) };
}

/** `restart` in the words of a swarm. Without it a service that has a healthcheck must keep running, as on one host. */
function restartPolicyOf({ restart, healthcheck }: ModelObject): ModelObject {
  const [condition, attempts] = textOf(restart).split(':');
  const mustRun = healthcheck !== undefined && objectOf(healthcheck)['disable'] !== true;
  if (condition === 'always' || condition === 'unless-stopped') return { condition: 'any' };
  if (condition === 'on-failure')
    return { condition: 'on-failure', ...(attempts !== undefined && { max_attempts: Number(attempts) }) };
  return { condition: restart === undefined && mustRun ? 'any' : 'none' };
}
