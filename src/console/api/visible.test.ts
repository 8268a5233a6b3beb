import { visible } from './createApi.ts';

it.each([
  ['shop\u202egnp.exe\u2066', 'shop\ufffdgnp.exe\ufffd'],
  ['\u001b[31mred\u0000\u0085', '\ufffd[31mred\ufffd\ufffd'],
  ['zero\u200bwidth\u2028line\ud800', 'zero\ufffdwidth\ufffdline\ufffd'],
  ['two\n\tlines, Zürich, 東京', 'two\n\tlines, Zürich, 東京'],
])('%j is shown as %j', (text, shown) => expect(visible(text)).toBe(shown));
