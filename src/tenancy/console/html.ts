/** Text of HTML that needs no escaping any more. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** HTML with values: texts are escaped, HTML and lists of it are not, null is nothing. Attributes must be in double quotes. */
export function html(parts: TemplateStringsArray, ...values: (string | Html | readonly Html[] | null)[]): Html {
  return new Html(parts.reduce((text, part, index) => text + textOf(values[index - 1] ?? null) + part));
}

function textOf(value: string | Html | readonly Html[] | null): string {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (character) => entities[character] ?? '');
  return value.map(({ text }) => text).join('');
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
