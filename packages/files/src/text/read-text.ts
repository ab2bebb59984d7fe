import { extname } from "node:path";
import { namingTemplate } from "./helm-template.js";
import { isYamlName } from "./is-yaml-name.js";
import { readError, type ParsedText } from "./parsed-text.js";
import { readJson } from "./read-json.js";
import { defaultTextLimits, type TextLimits } from "./text-limits.js";
import { notText, utf8Of } from "./utf8-of.js";

/**
 * Reads the text of a JSON or YAML file. JSON is read as what it is, also where the name says YAML: that takes a tenth of the time. The
 * reader of YAML is loaded on first use, as it costs 9 MB.
 */
export async function readText(
  path: string,
  bytes: Buffer,
  limits: TextLimits = defaultTextLimits,
): Promise<ParsedText> {
  const text = utf8Of(bytes)?.toString();
  if (text === undefined) return readError("encoding", notText);
  if (text.trim() === "") return readError("empty", "the file is empty");
  const parsed = namingTemplate(text, await parse(path, text, limits));
  const isEmpty = parsed.kind === "documents" && parsed.documents.every(({ value }) => value === null);
  return isEmpty ? readError("empty", "the file holds no document") : parsed;
}

async function parse(path: string, text: string, limits: TextLimits): Promise<ParsedText> {
  const isJsonFile = extname(path).toLowerCase() === ".json";
  if (isJsonFile || /^\s*[{[]/.test(text)) {
    const parsed = readJson(text, limits, isYamlName(path));
    if (parsed.kind === "documents" || (isJsonFile && !/^---/m.test(text))) return parsed;
  }
  const { readYaml } = await import("@bunting/files/yaml");
  return readYaml(text, limits);
}
