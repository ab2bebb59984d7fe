const whiteSpace = "\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const outerSpace = new RegExp(`^[${whiteSpace}]+|[${whiteSpace}]+$`, "g");

/** Takes white space off both ends: what Unicode calls so, which is not quite what `trim` takes off. */
export function trimSpace(text: string): string {
  const { length } = text;
  if (length === 0) return text;
  return mayBeSpace(text.charCodeAt(0)) || mayBeSpace(text.charCodeAt(length - 1))
    ? text.replace(outerSpace, "")
    : text;
}

function mayBeSpace(unit: number): boolean {
  return unit <= 0x20 || unit >= 0x85;
}
