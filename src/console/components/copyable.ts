import { html, type TemplateResult } from 'lit-html';

/** A text that people take elsewhere, and what it is. */
export interface NamedText {
  name: string;
  text: string;
}

/** Which text was copied last, and what became of that. */
export interface Copying {
  told: { name: string; words: string } | null;
  redraw: () => void;
}

/** A text with a button that copies it, and tells beside it whether it did. */
export function copyable({ name, text }: NamedText, copying: Copying): TemplateResult {
  const copy = async () => {
    const isCopied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    copying.told = { name, words: isCopied ? 'Copied.' : 'Not copied: select the text, and copy it.' };
    copying.redraw();
  };
  return html`<pre tabindex="0" aria-label=${name}><code>${text}</code></pre>
    <p>
      <button aria-label=${`Copy ${name}`} @click=${() => void copy()}>Copy</button>
      <span role="status">${copying.told?.name === name ? copying.told.words : ''}</span>
    </p>`;
}
