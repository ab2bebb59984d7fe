import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { format } from "prettier";
import { commentedOptions, schemaOfOptions, type ChartOption } from "./chart-options.js";
import { valuesTable, type ValueSchema } from "./chart-values.js";

const root = path.dirname(import.meta.dirname);

const optionsEnd = "# End of what is generated.\n";
const tableHead = "<!-- Generated from here on by `npm run generate`, out of values.yaml. -->\n";

/** values.schema.json, of which some parts are generated and the rest is written by hand. */
export interface ChartSchema {
  readonly properties: Record<string, unknown>;
}

/** A Helm chart's folder. A chart can only read files of its own, so it gets copies of what it shares with others. */
export class ChartFolder {
  readonly #folder: string;

  /** @param folder from the root of the repository */
  constructor(folder: string) {
    this.#folder = path.join(root, folder);
  }

  /** @param from from the root of the repository */
  copy(from: string, to: string): void {
    copyFileSync(path.join(root, from), path.join(this.#folder, to));
  }

  /** Makes the folder `to` one of copies of these files and no others. */
  copyAll(from: string, to: string, isWanted: (name: string) => boolean): void {
    const target = path.join(this.#folder, to);
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    for (const name of readdirSync(path.join(root, from)).filter(isWanted))
      this.copy(`${from}/${name}`, `${to}/${name}`);
  }

  read(file: string): string {
    return readFileSync(path.join(this.#folder, file), "utf8");
  }

  async writeJson(file: string, content: unknown): Promise<void> {
    const text = await format(JSON.stringify(content), { parser: "json", printWidth: 110 });
    mkdirSync(path.dirname(path.join(this.#folder, file)), { recursive: true });
    writeFileSync(path.join(this.#folder, file), text);
  }

  /** Writes the schema of the options, what templates check of them, and their comments in values.yaml. */
  async writeOptions(
    options: readonly ChartOption[],
    {
      program,
      change = () => undefined,
    }: { readonly program: string; readonly change?: (schema: ChartSchema) => void },
  ): Promise<void> {
    await this.writeJson(
      "files/options.json",
      Object.fromEntries(options.map(({ name, check }) => [name, check])),
    );
    const schema = JSON.parse(this.read("values.schema.json")) as ChartSchema;
    schema.properties["options"] = schemaOfOptions(options);
    change(schema);
    await this.writeJson("values.schema.json", schema);
    const begin = `# Generated from here on by \`npm run generate\`, with the defaults of the ${program}:\n`;
    const [before, rest] = halves(this.read("values.yaml"), begin);
    const [, after] = halves(rest, optionsEnd);
    const values = [before, begin, commentedOptions(options), optionsEnd, after].join("");
    writeFileSync(path.join(this.#folder, "values.yaml"), values);
    await this.#writeTable(before + after);
  }

  /** The table of values in the chart's README. Options have a reference of their own. */
  async #writeTable(values: string): Promise<void> {
    const { properties = {}, definitions } = JSON.parse(this.read("values.schema.json")) as ValueSchema & {
      readonly definitions: Readonly<Record<string, ValueSchema>>;
    };
    const table = valuesTable(values, { properties: { ...properties, options: {} } }, definitions);
    const [readme] = halves(this.read("README.md"), tableHead);
    writeFileSync(
      path.join(this.#folder, "README.md"),
      await format(`${readme}${tableHead}\n${table}`, { parser: "markdown" }),
    );
  }
}

function halves(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  if (at < 0) throw new Error(`there is no line ${JSON.stringify(separator)}`);
  return [text.slice(0, at), text.slice(at + separator.length)];
}
