import { stylePath } from '../rules/consolePaths.ts';
import { html, type Html } from './html.ts';

/** One page of the console that needs no script. */
export interface Page {
  title: string;
  body: Html;
}

/** The document of a page without a script. */
export function documentOf({ title, body }: Page): string {
  const main = html`<main class="plain">
    <h1>${title}</h1>
    ${body}
  </main>`;
  return frameOf(title, html`<link rel="stylesheet" href="${stylePath}" />`, main);
}

/** A document: its title, what its head has beside it, and its body. */
export function frameOf(title: string, head: Html, body: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · deployd</title>
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html>`.text;
}
