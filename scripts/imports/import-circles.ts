/**
 * The groups of files that import each other, directly or through others, each sorted by name: the strongly connected components of more
 * than one file, after Tarjan.
 */
export function importCircles(
  files: Iterable<string>,
  imported: (file: string) => Iterable<string>,
): string[][] {
  const number = new Map<string, number>();
  const open = new Set<string>();
  const circles: string[][] = [];

  const visit = (file: string): number => {
    const own = number.size;
    number.set(file, own);
    let low = own;
    open.add(file);
    for (const other of imported(file)) {
      const known = number.get(other);
      if (known === undefined) low = Math.min(low, visit(other));
      else if (open.has(other)) low = Math.min(low, known);
    }
    if (low === own) {
      const group = [...open].slice([...open].indexOf(file));
      for (const member of group) open.delete(member);
      if (group.length > 1) circles.push(group.sort());
    }
    return low;
  };

  for (const file of files) if (!number.has(file)) visit(file);
  return circles;
}
