import { readFile } from 'node:fs/promises';
import { configTable } from './table.ts';

it('stands in docs/config.md as it is now', async () => {
  const page = await readFile(new URL('../../../docs/config.md', import.meta.url), 'utf8');
  const [, shown] = /<!-- prettier-ignore-start -->([^]*)<!-- prettier-ignore-end -->/.exec(page) ?? [];
  expect(shown?.trim()).toBe(configTable());
});
