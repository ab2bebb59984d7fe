/** A path within an object as the API server writes it: `spec.flagSpec.flags.a.targeting.if[0]`; keys with other characters are in brackets. */
export function fieldPathOf(path: readonly string[]): string {
  return path.reduce((before, part) => {
    if (/^\d+$/.test(part)) return `${before}[${part}]`;
    if (!/^[\w$-]+$/.test(part)) return `${before}[${JSON.stringify(part)}]`;
    return before === "" ? part : `${before}.${part}`;
  }, "");
}
