/** The names under which the parts of a webhook are sealed. */
export function sealedNames(id: string): { url: string; secret: string } {
  return { url: `URL of the webhook ${id}`, secret: `secret of the webhook ${id}` };
}
