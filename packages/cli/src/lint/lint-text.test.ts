import { expect } from "chai";
import type { FileFinding } from "./file-finding.js";
import { lintText, type LintedText } from "./lint-text.js";

function lint(text: string | Buffer, path = "flags.yaml", maxDocumentBytes = 1_000_000): Promise<LintedText> {
  return lintText(path, Buffer.from(text), { name: path, maxDocumentBytes });
}

/** `line:column severity kind`. */
function brief(findings: readonly FileFinding[]): string[] {
  return findings.map(({ line, column, severity, kind }) => `${line}:${column} ${severity} ${kind}`);
}

/** A flagd file with one flag whose rule is on line 7, from column 40 on. */
function withRule(rule: string, variants = "{ a: x, b: z }"): string {
  return [
    "$evaluators:",
    "  known: { var: a }",
    "flags:",
    "  f:",
    "    state: ENABLED",
    `    variants: ${variants}`,
    `    targeting: { if: [{ $ref: known }, ${rule}, null] }`,
    "",
  ].join("\n");
}

async function ofRule(rule: string, variants?: string): Promise<string[]> {
  return brief((await lint(withRule(rule, variants))).findings);
}

describe("lintText", () => {
  it("finds nothing in flags as people write them, and counts them", async () => {
    const linted = await lint(withRule("a"));
    expect(linted.findings).to.deep.equal([]);
    expect(linted).to.include({ documents: 1, flags: 1, isForeign: false });
  });

  it("points at what the proxy refuses", async () => {
    const refused: readonly (readonly [text: string, expected: string])[] = [
      ["", "1:1 error unreadable"],
      ["flags: {a: {state: ENABLED}\n", "1:28 error syntax"],
      ["flags:\n\ta: {}\n", "2:1 error syntax"],
      ["flags:\n  a: &x {}\n  a: *x\n", "3:3 error syntax"],
      ["flags:\n  a: *nowhere\n", "2:6 error syntax"],
      ["one: {}\n", "1:1 error manifest"],
      [
        "apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: {name: Not_OK}\n",
        "3:12 error manifest",
      ],
      ["flags:\n  a: {state: 1}\n", "2:7 error document"],
      ["flags: 1\n", "1:1 error document"],
    ];
    for (const [text, expected] of refused)
      expect(brief((await lint(text)).findings), text).to.include(expected);
    const large = await lint(Buffer.alloc(16 * 1024 * 1024 + 1, " "));
    expect(brief(large.findings)).to.deep.equal(["1:1 error unreadable"]);
    expect(brief((await lint(Buffer.from([0xff, 0xfe]))).findings)).to.deep.equal(["1:1 error unreadable"]);
  });

  it("has as many findings as there are mistakes, however many these are", async () => {
    const many = 130_000;
    const words = await lint(withRule(`{ cat: [${"yes, ".repeat(many)}a] }`));
    expect(words.findings.filter(({ kind }) => kind === "yaml-1.1")).to.have.length(many);
    const rule = { or: Array.from({ length: many }, () => ({ sem_ver: [] })) };
    const flag = { state: "ENABLED", variants: { a: 1 }, defaultVariant: "a", targeting: rule };
    const operators = await lint(JSON.stringify({ flags: { f: flag } }), "flags.json");
    expect(operators.findings.filter(({ kind }) => kind === "operator-arguments")).to.have.length.above(
      many - 2,
    );
  });

  it("points at the flag that agents refuse, once", async () => {
    const { findings } = await lint(
      'flags:\n  f:\n    state: ENABLED\n    variants: { "on": true }\n    defaultVariant: of\n',
    );
    expect(brief(findings)).to.deep.equal(["5:5 error flag"]);
    expect(findings[0]?.message).to.contain('its default variant "of" is not one of its variants ("on")');
  });

  it("points at operators and evaluators that do not exist, in evaluators too", async () => {
    expect(await ofRule("{ if: [{ starts_wiht: [] }, a, b] }")).to.deep.equal([
      "7:49 error unknown-operator",
    ]);
    expect(await ofRule("{ $ref: nowhere }")).to.deep.equal(["7:42 error unknown-evaluator"]);
    const text =
      "$evaluators:\n  e: { lower: [x] }\nflags:\n  f:\n    state: ENABLED\n    variants: {a: 1}\n    targeting: {if: [{$ref: e}, a]}\n";
    expect(brief((await lint(text)).findings)).to.deep.equal(["2:8 error unknown-operator"]);
  });

  it("follows evaluators within evaluators, and points at the flags that reach one that never ends", async () => {
    const text = [
      "$evaluators:",
      "  inner: { '==': [{ var: a }, 1] }",
      "  outer: { or: [{ $ref: inner }, { $ref: b }] }",
      "  b: { '!': { $ref: c } }",
      "  c: { $ref: b }",
      "flags:",
      "  f:",
      "    state: ENABLED",
      "    variants: { a: x }",
      "    targeting: { if: [{ $ref: RULE }, a] }",
      "",
    ].join("\n");
    const rule = async (name: string): Promise<readonly FileFinding[]> =>
      (await lint(text.replace("RULE", name))).findings.filter(({ kind }) => kind !== "unused-evaluator");
    expect(brief(await rule("inner"))).to.deep.equal([]);
    const findings = await rule("outer");
    expect(brief(findings)).to.deep.equal(["7:3 error flag"]);
    expect(findings[0]?.message).to.contain('"outer" it refers to never ends: "outer" → "b" → "c" → "b"');
  });

  it("points at results that name no variant", async () => {
    expect(await ofRule("c")).to.deep.equal(["7:40 error unknown-variant"]);
    expect(await ofRule("{ if: [true, c, true, a, d] }")).to.deep.equal([
      "7:53 error unknown-variant",
      "7:65 error unknown-variant",
    ]);
    expect(await ofRule("{ fractional: [[a, 1], [c, 2]] }")).to.deep.equal(["7:64 error unknown-variant"]);
    expect(await ofRule("{ fractional: [{ var: email }, [a, 1], [c, 2]] }")).to.deep.equal([
      "7:80 error unknown-variant",
    ]);
    expect(await ofRule("{ or: [c, b] }")).to.deep.equal(["7:47 error unknown-variant"]);
    expect(await ofRule("1")).to.deep.equal(["7:40 error unknown-variant"]);
    // What the rule computes, or takes from the context, is not known.
    expect(await ofRule("{ cat: [c, d] }")).to.deep.equal([]);
    expect(await ofRule("{ var: c }")).to.deep.equal([]);
  });

  it("knows that comparisons give true and false", async () => {
    const rule = "{ and: [{ in: [x, [z]] }, { '==': [1, 1] }] }";
    expect(await ofRule(rule)).to.deep.equal(["7:50 error unknown-variant", "7:68 error unknown-variant"]);
    expect(await ofRule(rule, "{ 'true': 1, 'false': 2 }")).to.deep.equal([]);
    const { findings } = await lint(withRule("{ in: [x, [z]] }"));
    expect(findings).to.have.length(1);
    expect(findings[0]?.message).to.contain("gives true or false");
  });

  it("warns of arguments with which an operator always gives null", async () => {
    for (const rule of [
      "{ if: [{ sem_ver: [{ var: v }, '>=', 1.10] }, a] }",
      "{ if: [{ sem_ver: [{ var: v }, '=>', '1.1.0'] }, a] }",
      "{ if: [{ sem_ver: [{ var: v }, '>=', one] }, a] }",
      "{ if: [{ sem_ver: [{ var: v }] }, a] }",
    ])
      expect(await ofRule(rule), rule).to.deep.equal(["7:49 warning operator-arguments"]);
    for (const rule of [
      "{ fractional: [[a, 0.5], [b, 1]] }",
      "{ fractional: [[a, 0]] }",
      "{ fractional: [a, 1] }",
    ])
      expect(await ofRule(rule), rule).to.deep.equal(["7:42 warning operator-arguments"]);
    expect(await ofRule("{ fractional: [[a, { var: weight }], [b, 1]] }")).to.deep.equal([]);
    expect(await ofRule("{ if: [{ sem_ver: [{ var: v }, '^', v1.2] }, a] }")).to.deep.equal([]);
  });

  it("warns of what is served otherwise than it seems", async () => {
    const text = [
      "$evaluators:",
      "  lonely: { var: a }",
      "flags:",
      "  f:",
      "    state: Disabled",
      "    variants: { one: 1, two: two }",
      "    defaultvariant: one",
      "    metadata: { owners: [ada] }",
      "  g: { state: ENABLED }",
      "  h: { variants: { a: 1 } }",
      "",
    ].join("\n");
    expect(brief((await lint(text)).findings)).to.deep.equal([
      "2:3 warning unused-evaluator",
      "5:5 warning state",
      "6:5 warning mixed-variants",
      "7:5 warning unknown-field",
      "8:17 warning stripped-metadata",
      "9:3 warning no-variants",
      "10:3 warning state",
    ]);
  });

  it("warns of words that kubectl reads as other values", async () => {
    const text = "flags:\n  f:\n    state: ENABLED\n    variants:\n      on: 'yes'\n      off: yes\n";
    expect(brief((await lint(text)).findings)).to.deep.equal([
      "5:7 warning yaml-1.1",
      "6:7 warning yaml-1.1",
      "6:12 warning yaml-1.1",
    ]);
  });

  it("warns of numbers that are not what is written", async () => {
    const text = withRule("a", "{ a: 1.10, b: 12345678901234567890 }");
    expect(brief((await lint(text)).findings)).to.deep.equal(["6:17 warning number", "6:26 warning number"]);
    const json = '{"flags":{"f":{"state":"ENABLED","variants":{"a":[1.50],"b":[2.5]}}}}';
    expect(brief((await lint(json, "flags.json")).findings)).to.deep.equal(["1:51 warning number"]);
  });

  it("finds the places in lists of flags and of FeatureFlags", async () => {
    const list = '{"flags":[\n{"key":"a","state":"ENABLED","variants":{"x":1},"defaultVariant":"y"}]}';
    expect(brief((await lint(list, "flags.json")).findings)).to.deep.equal(["2:49 error flag"]);
    const flag = (name: string): string =>
      `  - apiVersion: core.openfeature.dev/v1beta1\n    kind: FeatureFlag\n    metadata: { name: ${name} }\n    spec: { flagSpec: { flags: { f: { state: on } } } }\n`;
    const linted = await lint(`apiVersion: v1\nkind: List\nitems:\n${flag("a")}${flag("a")}`);
    expect(linted.topics.map(({ topic }) => topic)).to.deep.equal(["default/a"]);
    expect(brief(linted.findings)).to.include("8:5 error duplicate");
  });

  it("says nothing of what documents a file or a flag, and asks about what is nearly a field", async () => {
    const lines = [
      "description: ours",
      "x-owner: a",
      "_comment: b",
      "$comment: c",
      "flags:",
      "  f:",
      "    description: what it is for",
      "    title: F",
      "    owner: ada",
      "    $comment: c",
      "    _note: d",
      "    x-ticket: 1",
      "    state: ENABLED",
      "    variants: { a: 1 }",
    ];
    expect(brief((await lint(`${lines.join("\n")}\n`)).findings)).to.deep.equal([]);
    const { findings } = await lint(`${lines.join("\n")}\n    targetting: {}\n$evaluator: {}\nowning: a\n`);
    expect(brief(findings)).to.deep.equal([
      "15:5 warning unknown-field",
      "16:1 warning document",
      "17:1 warning document",
    ]);
    expect(findings.map(({ message }) => /did you mean "[^"]*"/.exec(message)?.[0])).to.deep.equal([
      'did you mean "targeting"',
      'did you mean "$evaluators"',
      undefined,
    ]);
    const astray = (await lint(`${lines.join("\n")}\n    if: [true, a]\n`)).findings;
    expect(astray.map(({ message }) => message)).to.deep.equal([
      '"if" is not a field of a flag and is not served: it is an operator, which belongs below "targeting"',
    ]);
    const [operator] = (await lint(withRule("{ if: [{ starts_wiht: [] }, a, b] }"))).findings;
    expect(operator?.message).to.contain('did you mean "starts_with"?');
  });

  it("names all defects of a file in one run", async () => {
    const text = [
      "flags:",
      "  a: { state: 1, variants: [] }",
      "  b: { state: ENABLED, variants: { x: 1 }, defaultVariant: z }",
      "  c: 5",
      "  d: { state: ENABLED, variants: { x: 1 }, targeting: { nothing: [] } }",
      "",
    ].join("\n");
    expect(brief((await lint(text)).findings)).to.deep.equal([
      "2:8 error document",
      "2:18 error document",
      "3:44 error flag",
      "4:3 error document",
      "5:57 error unknown-operator",
    ]);
  });

  it("names a syntax error of each document, and each key that is there twice", async () => {
    const text = [
      "kind: FeatureFlag",
      "kind: FeatureFlag",
      "metadata: {name: a}",
      "metadata: {name: b}",
      "---",
      "flags: {a: [1, 2}",
      "more: ]",
      "---",
      "flags:",
      "\ta: {}",
      "",
    ].join("\n");
    const { findings } = await lint(text);
    expect(findings.every(({ kind }) => kind === "syntax")).to.equal(true);
    expect(findings.map(({ line }) => line)).to.deep.equal([2, 4, 6, 10]);
    expect(findings[0]?.message).to.contain("unique");
    expect((await lint(text.repeat(3_000))).findings, "a text too long to read again").to.have.length(1);
  });

  it("names the first syntax error of JSON, and none after it, which may follow from it", async () => {
    const text = '{\n"flags": {\n"a": {"state": "ENABLED" "variants": {}},\n"b": {"state" "ENABLED"},\n}}';
    expect(brief((await lint(text, "flags.json")).findings)).to.deep.equal(["3:26 error syntax"]);
  });

  it("checks the files of flags in a ConfigMap, at their lines", async () => {
    const text = [
      "apiVersion: v1",
      "kind: ConfigMap",
      "metadata: { name: flags }",
      "data:",
      "  notes: 'flags: 1'",
      "  flags.yaml: |",
      "    flags:",
      "      f:",
      "        state: on",
      "        variants: { a: 1 }",
      '  other.json: "{\\"flags\\":{\\"g\\":{\\"state\\":1}}}"',
      "",
    ].join("\n");
    const linted = await lint(text);
    expect(linted).to.include({ documents: 1, flags: 1, isForeign: false });
    expect(brief(linted.findings)).to.deep.equal([
      "9:9 warning state",
      "9:16 warning yaml-1.1",
      "11:3 error document",
    ]);
  });

  it("checks the flags that a workload has of its own, at their lines", async () => {
    const text = [
      "kind: List",
      "items:",
      "- apiVersion: batch/v1",
      "  kind: CronJob",
      "  metadata:",
      "    name: report",
      "    annotations:",
      "      openfeature.dev/inline-flags: |",
      "        flags:",
      "          f:",
      "            state: ENABLED",
      "            variants: { on: 1 }",
      "            defaultVariant: b",
      "- kind: Deployment",
      "  metadata: { name: a, annotations: { openfeature.io/inline-flags: '{' } }",
      "- kind: Pod",
      "  metadata: { name: a, annotations: { openfeature.io/inline-flags: '{' } }",
      "",
    ].join("\n");
    const linted = await lint(text);
    expect(linted).to.include({ documents: 1, flags: 1, isForeign: false });
    expect(brief(linted.findings)).to.deep.equal([
      "13:13 error flag",
      "15:39 error syntax",
      "17:39 warning annotation",
    ]);
  });

  it("warns of a template of Helm that can be read all the same", async () => {
    const text = 'flags:\n  f: { state: ENABLED, variants: { a: "{{ .Values.a }}", b: "{{ user }}" } }\n';
    expect(brief((await lint(text)).findings)).to.deep.equal(["2:40 warning template"]);
    expect(brief((await lint(text.replace(".Values.a", "name"))).findings)).to.deep.equal([]);
  });

  it("warns of keys that split nobody, and of texts that are true or false", async () => {
    for (const rule of [
      "{ fractional: [{ in: [{ var: a }, x] }, [a, 1], [b, 1]] }",
      "{ fractional: [email, [a, 1], [b, 1]] }",
    ])
      expect(await ofRule(rule), rule).to.deep.equal(["7:42 warning operator-arguments"]);
    expect(await ofRule("{ fractional: [{ cat: [{ var: a }, { in: [x, [z]] }] }, [a, 1]] }")).to.deep.equal([
      "7:57 warning operator-arguments",
    ]);
    expect(await ofRule("{ fractional: [[{ in: [x, [z]] }, 1]] }")).to.have.length(1);
  });

  it("warns of flags of a FeatureFlag that API servers refuse, and agents take of a flagd file", async () => {
    const flags =
      "flags: { f: { state: ENABLED, variants: { a: 1 } }, g: { state: DISABLED, defaultVariant: } }\n";
    const metadata = "metadata: { name: a, namespace: shop }";
    const object = `apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\n${metadata}\nspec:\n  flagSpec:\n    ${flags}`;
    expect(brief((await lint(object)).findings)).to.deep.equal([
      "6:14 warning not-stored",
      "6:57 warning not-stored",
      "6:79 warning not-stored",
    ]);
    expect(brief((await lint(flags)).findings)).to.deep.equal([]);
    const annotation = `metadata: { annotations: { openfeature.dev/inline-flags: '${flags.trim()}' } }`;
    const own = await lint(`kind: Deployment\n${annotation}\n`);
    expect(own.findings.map(({ kind }) => kind)).to.deep.equal(["not-stored", "not-stored", "not-stored"]);
  });

  it("says once of a remote that the proxy does not ask it, as an error", async () => {
    const text = [
      "apiVersion: core.openfeature.dev/v1beta1",
      "kind: FeatureFlag",
      "metadata: { name: a, namespace: shop }",
      "spec:",
      "  remoteFlagProvider: { type: http, uri: flags.example }",
      "",
    ].join("\n");
    expect(brief((await lint(text)).findings)).to.deep.equal(["5:37 error remote"]);
  });

  it("limits the size of a document", async () => {
    const { findings } = await lint(withRule("a"), "flags.yaml", 50);
    expect(brief(findings)).to.deep.equal(["1:1 error too-large"]);
  });

  it("knows files that are no flags at all", async () => {
    expect(await lint("name: x\nversion: 1\n", "chart.yaml")).to.include({ isForeign: true });
    expect(await lint("flags: [\n")).to.include({ isForeign: false });
  });
});
