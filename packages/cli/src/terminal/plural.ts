/** `1 flag`, `2 flags`. */
export function plural(count: number, singular: string, several = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : several}`;
}
