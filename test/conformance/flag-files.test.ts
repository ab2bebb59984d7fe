import { flagTextReader } from "@bunting/agent/internal/sync/flag-text.js";
import { lintText } from "@bunting/cli/internal/lint/lint-text.js";
import { parseDocument } from "@bunting/evaluation";
import { plainTopicOf, readManifest } from "@bunting/featureflags/manifests";
import { isYamlName } from "@bunting/files/names";
import { withRefusedFlags, type JsonValue } from "@bunting/protocol";
import { expect } from "chai";

const json = (flags: object, rest: object = {}): string => JSON.stringify({ flags, ...rest });
const flag = (value: unknown): object => ({ state: "ENABLED", variants: { v: value }, defaultVariant: "v" });
const yaml = "flags:\n  f:\n    state: ENABLED\n    variants: { v: 1 }\n    defaultVariant: v\n";
const manifest = `apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: { name: a }\nspec:\n  flagSpec:\n    ${yaml.replaceAll("\n", "\n    ").trimEnd()}\n`;
const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, "utf16le");

/** A file as people have it. */
interface FlagFile {
  readonly name: string;
  readonly content: string | Buffer;
  /** The flags that agent and proxy serve, `key=value`; undefined if they refuse all of it. */
  readonly served: readonly string[] | undefined;
  /** What `bunting lint` finds, `line:column kind`. */
  readonly found: readonly string[];
}

const one = ["f=1"];
const files: readonly FlagFile[] = [
  { name: "plain.json", content: json({ f: flag(1) }), served: one, found: [] },
  { name: "My_flags.JSON", content: json({ f: flag(1) }), served: one, found: [] },
  { name: "plain.yaml", content: yaml, served: one, found: [] },
  { name: "crlf.yaml", content: yaml.replaceAll("\n", "\r\n"), served: one, found: [] },
  { name: "mark.json", content: `\ufeff${json({ f: flag(1) })}`, served: one, found: [] },
  { name: "mark.yaml", content: `\ufeff${yaml}`, served: one, found: [] },
  { name: "utf16.json", content: utf16(json({ f: flag(1) })), served: one, found: [] },
  { name: "utf16-big.yaml", content: utf16(yaml).swap16(), served: one, found: [] },
  {
    name: "latin1.json",
    content: Buffer.from(json({ ü: flag(1) }), "latin1"),
    served: undefined,
    found: ["1:1 unreadable"],
  },
  { name: "marks.yaml", content: `---\n${yaml}...\n---\n`, served: one, found: [] },
  { name: "json-in.yaml", content: json({ f: flag(1) }), served: one, found: [] },
  { name: "yaml-in.json", content: yaml, served: undefined, found: ["1:1 syntax"] },
  { name: "comments.json", content: '{\n// one\n"flags":{}}', served: undefined, found: ["2:1 syntax"] },
  { name: "comma.json", content: '{"flags":{},\n}', served: undefined, found: ["2:1 syntax"] },
  { name: "tab.yaml", content: "flags:\n\tf: {}\n", served: undefined, found: ["2:1 syntax"] },
  { name: "empty.json", content: "", served: undefined, found: ["1:1 unreadable"] },
  { name: "null.json", content: "null", served: undefined, found: ["1:1 unreadable"] },
  { name: "list.json", content: "[]", served: undefined, found: ["1:1 manifest"] },
  { name: "none.json", content: "{}", served: undefined, found: ["1:1 manifest"] },
  { name: "no-flags.json", content: json({}), served: [], found: [] },
  {
    name: "twice.json",
    content: `{"flags":{\n"f":${JSON.stringify(flag(0))},\n"f":${JSON.stringify(flag(1))}}}`,
    served: one,
    found: ["3:1 document"],
  },
  { name: "twice.yaml", content: "flags:\n  f: {}\n  f: {}\n", served: undefined, found: ["3:3 syntax"] },
  {
    name: "one-bad.json",
    content: json({ f: flag(1), bad: { ...flag(2), state: true }, "": flag(3) }),
    served: one,
    found: ["1:82 document", "1:136 document"],
  },
  {
    name: "documented.yaml",
    content: `# yaml-language-server: $schema=x\n$schema: x\nx-values: &v { v: 1 }\nflags:\n  f:\n    description: d\n    state: ENABLED\n    variants: *v\n    defaultVariant: v\n`,
    served: one,
    found: [],
  },
  {
    name: "nested.json",
    content: json(
      { f: { ...flag(1), targeting: { if: [{ $ref: "outer" }, "v", null] } } },
      { $evaluators: { outer: { "!": [{ $ref: "inner" }] }, inner: { var: "a" } } },
    ),
    served: one,
    found: [],
  },
  {
    name: "circle.json",
    content: json(
      { f: flag(1), g: { ...flag(1), targeting: { $ref: "a" } } },
      { $evaluators: { a: { "!": [{ $ref: "a" }] } } },
    ),
    served: one,
    found: ["1:75 flag"],
  },
  { name: "manifest.yaml", content: manifest, served: one, found: [] },
  {
    name: "manifests.yaml",
    content: `apiVersion: v1\nkind: Secret\n---\n${manifest}---\n${manifest.replace("name: a", "name: b").replace("f:\n", "g:\n")}`,
    served: ["f=1", "g=1"],
    found: [],
  },
  {
    name: "list.yaml",
    content: `kind: List\napiVersion: v1\nitems:\n  - ${manifest.replaceAll("\n", "\n    ").trimEnd()}\n`,
    served: one,
    found: [],
  },
  {
    name: "old.yaml",
    content: manifest.replace("v1beta1", "v1alpha1"),
    served: undefined,
    found: ["1:1 manifest"],
  },
  {
    name: "source.yaml",
    content: manifest.replace("kind: FeatureFlag", "kind: FeatureFlagSource"),
    served: undefined,
    found: ["4:1 source", "5:3 unknown-field"],
  },
  {
    name: "chart.yaml",
    content: manifest.replace("name: a", "name: {{ .Release.Name }}"),
    served: undefined,
    found: ["3:19 syntax"],
  },
];

/** `key=value` of a document's flags as agents parse them. */
function flagsIn(document: JsonValue): readonly string[] {
  return parseDocument(document).flags.map(
    ({ key, variants, defaultVariant = "" }) => `${key}=${JSON.stringify(variants.get(defaultVariant))}`,
  );
}

async function ofAgent(name: string, bytes: Buffer): Promise<readonly string[] | undefined> {
  try {
    const text = await flagTextReader({ maxJsonBytes: 1_000_000 }, {})(bytes, isYamlName(name));
    return flagsIn(JSON.parse(text.bytes.toString()) as JsonValue);
  } catch {
    return undefined;
  }
}

async function ofProxy(name: string, bytes: Buffer): Promise<readonly string[] | undefined> {
  const { flags } = await readManifest(name, bytes, plainTopicOf(name));
  if (flags.length === 0) return undefined;
  return flags.flatMap(({ document, refused = [] }) =>
    flagsIn(withRefusedFlags({ document, refused }) as unknown as JsonValue),
  );
}

describe("files of flags as people have them", () => {
  for (const { name, content, served, found } of files) {
    it(`${name}: agent and proxy serve the same of it, and lint says what is wrong`, async () => {
      const bytes = Buffer.from(content);
      expect(await ofAgent(name, bytes), "the agent").to.deep.equal(served);
      expect(await ofProxy(name, bytes), "the proxy").to.deep.equal(served);
      const { findings } = await lintText(name, bytes, { name, maxDocumentBytes: 1_000_000 });
      expect(findings.map(({ line, column, kind }) => `${line}:${column} ${kind}`)).to.deep.equal(found);
    });
  }
});
