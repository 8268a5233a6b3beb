/** A text, in which a swarm would expand templates, written so that it reaches the container as it is. */
export function inertText(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('{{', '{{"{{"}}') : value;
}
