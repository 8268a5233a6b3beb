/** The candidate that takes the fewest typing slips to reach, the first one among equals. */
export function nearest(word: string, candidates: readonly [string, ...string[]]): string {
  return candidates.reduce((best, candidate) => (slips(word, candidate) < slips(word, best) ? candidate : best));
}

/** Letters added, dropped, exchanged or swapped with their neighbour between two words, whatever their case. */
function slips(a: string, b: string): number {
  const [from, to] = [a.toLowerCase(), b.toLowerCase()];
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= from.length; row++) {
    const line = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      line.push(
        Math.min(
          at(rows, row - 1, column) + 1,
          at([line], 0, column - 1) + 1,
          at(rows, row - 1, column - 1) + (same ? 0 : 1),
          swapped ? at(rows, row - 2, column - 2) + 1 : Infinity,
        ),
      );
    }
    rows.push(line);
  }
  return at(rows, from.length, to.length);
}

function at(rows: number[][], row: number, column: number): number {
  return rows[row]?.[column] ?? Infinity;
}
