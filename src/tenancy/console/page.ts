import { stylePath } from './style.ts';
import { html, type Html } from './html.ts';

/** One page of the console. */
export interface Page {
  title: string;
  body: Html;
}

/** The document of a page. */
export function documentOf({ title, body }: Page): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · deployd</title>
        <link rel="stylesheet" href="${stylePath}" />
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`.text;
}
