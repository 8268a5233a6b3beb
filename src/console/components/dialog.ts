import { html, nothing, render, type TemplateResult } from 'lit-html';
import { ApiError } from '../api/createApi.ts';
import { type DialogContent, errorNotice, type Judgement } from './page.ts';

/** The one dialog of the console, which browsers keep above the page and keep the focus in. */
export class Dialog {
  readonly #element: HTMLDialogElement;
  readonly #onDone: (done: string) => void;
  #content: DialogContent | null = null;

  /** `onDone` gets the message when the work of a dialog has succeeded. */
  constructor(element: HTMLDialogElement, onDone: (done: string) => void) {
    this.#element = element;
    this.#onDone = onDone;
    element.addEventListener('close', () => {
      this.#content = null;
      render(nothing, element);
    });
  }

  /** Closes it; work that has begun is completed. */
  close(): void {
    this.#element.close();
  }

  open(content: DialogContent): void {
    this.#content = content;
    this.#draw(content, { error: null, isBusy: false });
    const form = this.#element.querySelector('form');
    if (form !== null) judge(content, form);
    if (!this.#element.open) this.#element.showModal();
  }

  #draw(content: DialogContent, { error, isBusy }: { error: ApiError | null; isBusy: boolean }): void {
    const { title, body, confirm, typed, isDangerous } = content;
    const submit = (event: SubmitEvent) => {
      event.preventDefault();
      void this.#work(content, new FormData(event.target as HTMLFormElement));
    };
    const type = (event: Event) => judge(content, event.currentTarget as HTMLFormElement);
    const form = html`<form method="dialog" @submit=${submit} @input=${type} autocomplete="off">
      <h2 id="dialog-title">${title}</h2>
      ${body} ${content.judge ? html`<output class="hint"></output>` : nothing}
      ${typed === undefined ? nothing : typedField(typed)} ${error === null ? nothing : errorNotice(error)}
      <div class="buttons">
        <button type="button" class="quiet" @click=${() => this.close()}>Cancel</button>
        <button class=${isDangerous ? 'danger' : 'primary'} ?disabled=${isBusy}>${confirm}</button>
      </div>
    </form>`;
    render(form, this.#element);
  }

  async #work(content: DialogContent, fields: FormData): Promise<void> {
    this.#draw(content, { error: null, isBusy: true });
    try {
      await content.work(fields);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (this.#content === content) this.#draw(content, { error, isBusy: false });
      return;
    }
    if (this.#content === content) this.close();
    this.#onDone(content.done);
  }
}

function judge(content: DialogContent, form: HTMLFormElement): void {
  if (content.judge) showJudgement(form, content.judge(new FormData(form)));
}

/** A field that is valid only with one text in it. */
function typedField(typed: string): TemplateResult {
  const pattern = typed.replace(/[^\w ]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`);
  return html`<label
    >Type <strong>${typed}</strong> to confirm
    <input name="typed" required pattern=${pattern} spellcheck="false" autocapitalize="off"
  /></label>`;
}

/** The text of a field. */
export function textOf(fields: FormData, name: string): string {
  const value = fields.get(name);
  return typeof value === 'string' ? value : '';
}

/** Marks the invalid fields of a form, and shows in its `output` the reason, otherwise how the input is understood. */
function showJudgement(form: HTMLFormElement, { problems, meaning = '' }: Judgement): void {
  for (const field of form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea')) {
    const problem = problems[field.name] ?? '';
    field.setCustomValidity(problem);
    const folded = field.closest('details');
    if (problem !== '' && folded !== null) folded.open = true;
  }
  const told = Object.values(problems).join('\n') || meaning;
  const place = form.querySelector('output');
  // A screen reader reads each change.
  if (place !== null && place.textContent !== told) place.textContent = told;
}
