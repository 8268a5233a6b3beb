/** The candidate with the smallest edit distance to `word`; the first one among equals. */
export function closestMatch(word: string, candidates: readonly [string, ...string[]]): string {
  return candidates.reduce((best, candidate) =>
    editDistance(word, candidate) < editDistance(word, best) ? candidate : best,
  );
}

/** Damerau-Levenshtein distance (insertion, deletion, substitution, transposition), ignoring case. */
function editDistance(a: string, b: string): number {
  const [from, to] = [a.toLowerCase(), b.toLowerCase()];
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= from.length; row++) {
    const line = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      line.push(
        Math.min(
          cellAt(rows, row - 1, column) + 1,
          cellAt([line], 0, column - 1) + 1,
          cellAt(rows, row - 1, column - 1) + (same ? 0 : 1),
          swapped ? cellAt(rows, row - 2, column - 2) + 1 : Infinity,
        ),
      );
    }
    rows.push(line);
  }
  return cellAt(rows, from.length, to.length);
}

function cellAt(rows: number[][], row: number, column: number): number {
  return rows[row]?.[column] ?? Infinity;
}
