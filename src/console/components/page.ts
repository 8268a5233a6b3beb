import { html, nothing, render, type TemplateResult } from 'lit-html';
import { type Api, ApiError } from '../api/createApi.ts';
import type { Caller } from '../api/types.ts';
import { adviceFor } from '../core/pages.rules.ts';

/** A visit of a page: what it is about, and what it may do. */
export interface Visit {
  params: Record<string, string>;
  query: URLSearchParams;
  api: Api;
  caller: Caller;
  /** Goes to the same page with another query; `replace` leaves the one before out of the history. */
  setQuery: (query: URLSearchParams, options?: { replace: boolean }) => void;
  /** Does something, reports success, and loads the page again; reports the error if it fails. */
  act: (done: string, work: () => Promise<unknown>) => Promise<void>;
  /** Does something that changes nothing and reports nothing, unless it fails. */
  attempt: (work: () => Promise<unknown>) => Promise<void>;
  /** Draws the page again with the loaded data. */
  redraw: () => void;
  /** Asks in a dialog, which stays open with the error while its work fails; then loads the page again. */
  ask: (content: DialogContent) => void;
}

/** A question with its fields, and what is done with the answers. */
export interface DialogContent {
  title: string;
  body: TemplateResult;
  /** The word on the button. */
  confirm: string;
  isDangerous?: boolean;
  /** The text that must be typed to confirm. */
  typed?: string;
  /** The message after success. */
  done: string;
  /** Validates the answers while they are typed. */
  judge?: (fields: FormData) => Judgement;
  /** Shows the effect of the answers, once typing pauses. Throws `ApiError`, whose message is shown instead. */
  preview?: (fields: FormData) => Promise<TemplateResult>;
  /** Throws `ApiError`. */
  work: (fields: FormData) => Promise<unknown>;
}

/** The verdict of a form on its current input. */
export interface Judgement {
  /** The faults, by the names of fields; the form is not sent meanwhile. */
  problems: Readonly<Record<string, string>>;
  /** How it is understood, where nothing is wrong. */
  meaning?: string;
}

/** The content of a page. */
export interface PageContent {
  title: string;
  /** Topics of changes after which it is loaded again; without one, it is never loaded again by itself. */
  topics: readonly string[];
  /** Drawn again now and then for the sake of relative times; `now` in milliseconds since 1970. */
  body: (now: number) => TemplateResult;
}

/** A page loads what it shows. Throws `ApiError`. */
export type Page = (visit: Visit) => Promise<PageContent>;

/** Where one signs in, to come back to this page. */
function signInHref(): string {
  return `/console/sign-in?return_to=${encodeURIComponent(location.pathname + location.search)}`;
}

/** An error of the API, and what to do about it. */
export function errorNotice(error: ApiError): TemplateResult {
  const advice = adviceFor(error);
  return html`<div class="notice bad" role="alert">
    <p>${error.message} <small class="faint">${error.code}</small></p>
    ${error.refusals.map(({ code, detail }) => html`<p><code>${code}</code> ${detail}</p>`)}
    ${advice === null ? nothing : html`<p>${advice}</p>`}
    ${error.status === 401 ? html`<p><a class="button" href=${signInHref()} data-outside>Sign in again</a></p>` : nothing}
  </div>`;
}

/** The content of an empty list: its meaning, and the command that changes it. */
export function emptyState(text: string, command: string | null = null): TemplateResult {
  return html`<div class="empty">
    <p>${text}</p>
    ${command === null ? nothing : html`<pre tabindex="0"><code>${command}</code></pre>`}
  </div>`;
}

/** Milliseconds without an input after which a preview is requested. */
const PREVIEW_PAUSE_MS = 300;

/** The one dialog of the console, which browsers keep above the page and keep the focus in. */
export class Dialog {
  readonly #element: HTMLDialogElement;
  readonly #onDone: (done: string) => void;
  #content: DialogContent | null = null;
  #previews = 0;

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
    if (form !== null) {
      judge(content, form);
      void this.#preview(content, form, 0);
    }
    if (!this.#element.open) this.#element.showModal();
  }

  #draw(content: DialogContent, { error, isBusy }: { error: ApiError | null; isBusy: boolean }): void {
    const { title, body, confirm, typed, isDangerous } = content;
    const submit = (event: SubmitEvent) => {
      event.preventDefault();
      void this.#work(content, new FormData(event.target as HTMLFormElement));
    };
    const type = (event: Event) => {
      const edited = event.currentTarget as HTMLFormElement;
      judge(content, edited);
      void this.#preview(content, edited, PREVIEW_PAUSE_MS);
    };
    const form = html`<form method="dialog" @submit=${submit} @input=${type} autocomplete="off">
      <h2 id="dialog-title">${title}</h2>
      ${body} ${content.judge ? html`<output class="hint"></output>` : nothing}
      ${content.preview ? html`<div class="preview" role="status"></div>` : nothing}
      ${typed === undefined ? nothing : typedField(typed, isDangerous)} ${error === null ? nothing : errorNotice(error)}
      <div class="buttons">
        <button
          type="button"
          class="quiet"
          ?autofocus=${isDangerous && typed === undefined}
          @click=${() => this.close()}
        >
          Cancel
        </button>
        <button class=${isDangerous ? 'danger' : 'primary'} ?disabled=${isBusy}>${confirm}</button>
      </div>
    </form>`;
    render(form, this.#element);
  }

  /** Shows the effect of the answers, unless more is typed meanwhile. */
  async #preview(content: DialogContent, form: HTMLFormElement, pauseMs: number): Promise<void> {
    const number = ++this.#previews;
    if (content.preview === undefined) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const isLatest = () => number === this.#previews && this.#content === content;
    if (!isLatest()) return;
    const shown = await content.preview(new FormData(form)).catch((error: unknown) => {
      if (error instanceof ApiError) return html`<p>${error.message}</p>`;
      throw error;
    });
    const place = form.querySelector<HTMLElement>('.preview');
    if (isLatest() && place !== null) render(shown, place);
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

/** A field that is valid only with one text in it. In a dangerous dialog it has the focus, and not a choice above it. */
function typedField(typed: string, isFocused = false): TemplateResult {
  const pattern = typed.replace(/[^\w ]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`);
  return html`<label
    >Type <strong>${typed}</strong> to confirm
    <input name="typed" required pattern=${pattern} ?autofocus=${isFocused} spellcheck="false" autocapitalize="off"
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
