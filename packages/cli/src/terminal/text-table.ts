/** Columns as wide as their widest cell, two spaces apart. `isRight` aligns a column to the right. */
export function textTable(rows: readonly (readonly string[])[], isRight: readonly boolean[] = []): string[] {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  return rows.map((row) =>
    row
      .map((cell, column) =>
        isRight[column] === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}
