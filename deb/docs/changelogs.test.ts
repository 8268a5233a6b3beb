import { debianChangelog, rpmChangelog } from './changelogs.ts';

const maintainer = 'somebody <somebody@example.org>';
const date = new Date('2026-03-01T12:00:00Z');

it('has the format of Debian, wrapped, without Markdown', () => {
  const long = 'A point of [some](docs/some.md) length with `code` in it, which goes on beyond the\n  end of a line.';
  const changes = [
    { version: '0.3.0', date: null, items: [long, 'Short.'] },
    { version: '0.2.0', date: new Date('2026-01-02T12:00:00Z'), items: ['First.'] },
  ];
  expect(debianChangelog(changes, { maintainer, date })).toBe(`deployd (0.3.0) unstable; urgency=medium

  * A point of some length with code in it, which goes on beyond the end of
    a line.

  * Short.

 -- somebody <somebody@example.org>  Sun, 01 Mar 2026 12:00:00 +0000

deployd (0.2.0) unstable; urgency=medium

  * First.

 -- somebody <somebody@example.org>  Fri, 02 Jan 2026 12:00:00 +0000
`);
});

it('has the format of rpm, wrapped, without Markdown, and expands no macro', () => {
  const long = 'A point of [some](docs/some.md) length with `%code` in it, which goes on beyond the\n  end of a line.';
  const changes = [
    { version: '0.3.0', date: null, items: [long, 'Short.'] },
    { version: '0.2.0', date: new Date('2026-01-02T12:00:00Z'), items: ['First.'] },
  ];
  expect(rpmChangelog(changes, { maintainer, date })).toBe(`* Sun Mar 01 2026 somebody <somebody@example.org> - 0.3.0-1
- A point of some length with %%code in it, which goes on beyond the end of
  a line.
- Short.

* Fri Jan 02 2026 somebody <somebody@example.org> - 0.2.0-1
- First.`);
});
