/** What a form says of what is typed so far. */
export interface Judgement {
  /** What is wrong, by the names of fields; the form is not sent meanwhile. */
  problems: Readonly<Record<string, string>>;
  /** How it is understood, where nothing is wrong. */
  meaning?: string;
}

/** Marks the fields of a form that are wrong, and tells in its `output` why, else how it is understood. */
export function showJudgement(form: HTMLFormElement, { problems, meaning = '' }: Judgement): void {
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
