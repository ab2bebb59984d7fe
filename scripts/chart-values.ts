/** Makes the table of values in the chart's README, out of the comments in values.yaml. */

interface Value {
  /** As `--set` takes it: `image.repository`. */
  readonly name: string;
  readonly default: string;
  readonly description: string;
}

/** What the schema says of values: those with properties are written one by one, others as a whole. */
export interface ValueSchema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
}

/**
 * Reads values.yaml line by line, since a parser would drop comments or leave open to which value each belongs. A comment describes the value
 * below it, and those that follow without a blank line or a comment of their own.
 *
 * @throws Error for a value that nothing describes
 */
export function valuesTable(
  text: string,
  schema: ValueSchema,
  definitions: Readonly<Record<string, ValueSchema>>,
): string {
  const values = valuesIn(text.split("\n"), (path) => isWrittenOneByOne(path, schema, definitions));
  const rows = values.map(({ name, default: value, description }) =>
    [`\`${name}\``, value, description].map((cell) => cell.replaceAll("|", "\\|")).join(" | "),
  );
  return [
    "| value | default | meaning |",
    "| --- | --- | --- |",
    ...rows.map((row) => `| ${row} |`),
    "",
  ].join("\n");
}

function valuesIn(lines: readonly string[], isGroup: (path: readonly string[]) => boolean): readonly Value[] {
  const values: Value[] = [];
  const path: string[] = [];
  /** Of each level of the path, what was said of the group, or of the value before. */
  const said: (string | undefined)[] = [];
  let comment: string[] = [];
  let wholeIndent = Infinity;
  for (const line of lines) {
    const [, indent = "", remark] = /^( *)# ?(.*)$/.exec(line) ?? [];
    if (remark !== undefined) {
      if (indent.length <= wholeIndent) comment.push(remark);
      continue;
    }
    const [, spaces = "", key, inline = ""] = /^( *)([\w-]+):(?: (.*))?$/.exec(line) ?? [];
    if (key === undefined) {
      // A blank line, or an item of a list. A comment that nothing follows is about the file.
      if (line.trim() === "") {
        comment = [];
        said.length = 0;
      }
      continue;
    }
    if (spaces.length > wholeIndent) continue;
    const depth = spaces.length / 2;
    path.splice(depth, path.length, key);
    said.splice(depth + 1);
    if (comment.length > 0) said[depth] = comment.join(" ");
    comment = [];
    const description =
      said[depth] ??
      said
        .slice(0, depth)
        .filter((text) => text !== undefined)
        .at(-1);
    if (isGroup(path)) {
      wholeIndent = Infinity;
      continue;
    }
    const name = path.join(".");
    wholeIndent = inline === "" ? spaces.length : Infinity;
    if (description === undefined) throw new Error(`values.yaml says nothing about ${name}`);
    values.push({ name, default: inline === "" ? "(several lines)" : `\`${inline}\``, description });
  }
  return values;
}

function isWrittenOneByOne(
  path: readonly string[],
  schema: ValueSchema,
  definitions: Readonly<Record<string, ValueSchema>>,
): boolean {
  let at: ValueSchema | undefined = schema;
  for (const key of path) {
    at = at?.properties?.[key];
    if (at?.$ref !== undefined) at = definitions[at.$ref.split("/").at(-1) ?? ""];
  }
  return at?.properties !== undefined && path[0] !== "resources";
}
