import { displayWidth, formatFacts, formatTable } from './table.ts';

it('aligns columns, and leaves no blanks at the end of a line', () => {
  const rows = [
    ['eu-1', '1'],
    ['a', ''],
  ];
  expect(formatTable(['ENV', 'N'], rows, Infinity)).toBe('ENV   N\neu-1  1\na');
});

it.each([40, 60, 80])('fits %i columns by shortening the widest cells', (width) => {
  const rows = [['short', 'x'.repeat(100), '東'.repeat(50)]];
  const lines = formatTable(['A', 'B', 'C'], rows, width).split('\n');
  expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(width);
  expect(lines[1]).toMatch(/^short {2}x+… +東+…$/);
});

it('keeps something of each cell where there is no room at all', () => {
  expect(formatTable(['A', 'B'], [['x'.repeat(100), 'y'.repeat(100)]], 1)).toContain('xxxxxxx…  yyyyyyy…');
});

it('lets no cell begin a new line', () => {
  expect(formatTable(['A', 'B'], [['a\nb', '\u001b[1A']], 80)).toBe('A    B\na\ufffdb  \ufffd[1A');
  expect(formatFacts([['name', 'a\nroot: b']])).toBe('name  a\ufffdroot: b');
});

it('leaves out facts that are not known', () => {
  const facts: [string, string | null][] = [
    ['id', '1'],
    ['last seen', null],
    ['env', 'eu-1'],
  ];
  expect(formatFacts(facts)).toBe('id   1\nenv  eu-1');
});
