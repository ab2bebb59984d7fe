import { encodeDocument, topicKey } from "@bunting/protocol";
import { cpuGrowth } from "@bunting/test/support/cpu-growth.js";
import { expect } from "chai";
import { flags, manifest, textOf } from "./manifest.fixture.js";
import type { Manifest } from "./manifest.js";
import { readManifest } from "./read-manifest.js";

const plain = { topic: topicKey("default", "plain") };

function read(text: string, path = "flags.yaml"): Promise<Manifest> {
  return readManifest(path, Buffer.from(text), plain);
}

/** Topics with the text of their documents. */
function served({ flags: entries }: Manifest): Record<string, string> {
  return Object.fromEntries(entries.map(({ topic, document }) => [topic, encodeDocument(document)]));
}

/** Errors as `line reason topic: message`. */
function errors({ errors: list }: Manifest): string[] {
  return list.map(({ line, reason, topic, message }) => `${line} ${reason} ${topic ?? "?"}: ${message}`);
}

describe("readManifest", () => {
  describe("what it reads", () => {
    it("reads one or many FeatureFlags, in the namespace default where none is given", async () => {
      const result = await read(`---\n${manifest("a", 1)}---\n${manifest("b", 2, "team")}---\n`);
      expect(served(result)).to.deep.equal({ "default/a": textOf(1), "team/b": textOf(2) });
      expect(result.errors).to.deep.equal([]);
      expect(result.flags.map(({ line }) => line)).to.deep.equal([2, 15]);
    });

    it("takes an empty namespace for none, as kubectl does", async () => {
      expect(served(await read(manifest("a", 1, '""')))).to.deep.equal({ "default/a": textOf(1) });
    });

    it("reads plain flagd files in YAML and JSON", async () => {
      const text = JSON.stringify(flags(3));
      expect(served(await read(text, "x.json"))).to.deep.equal({ "default/plain": textOf(3) });
      expect(served(await read(text, "x.yaml"))).to.deep.equal({ "default/plain": textOf(3) });
      expect(served(await read("flags: {}"))).to.deep.equal({ "default/plain": '{"flags":{}}' });
    });

    it("reads FeatureFlags as JSON, several in a row, and Lists of them", async () => {
      const flag = (name: string): object => ({
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlag",
        metadata: { name },
        spec: { flagSpec: flags(1) },
      });
      const list = {
        apiVersion: "v1",
        kind: "List",
        items: [flag("c"), { apiVersion: "v1", kind: "Secret" }],
      };
      const text = [flag("a"), flag("b"), list].map((value) => JSON.stringify(value, null, 2)).join("\n");
      expect(Object.keys(served(await read(text, "x.json")))).to.deep.equal([
        "default/a",
        "default/b",
        "default/c",
      ]);
      const apart = [flag("a"), flag("b")].map((value) => JSON.stringify(value)).join("\n---\n");
      expect(Object.keys(served(await read(apart, "x.json")))).to.deep.equal(["default/a", "default/b"]);
    });

    it("serves a FeatureFlag without flagSpec as one without flags", async () => {
      const text =
        "apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: {name: a}\nspec: {}\n";
      expect(served(await read(text))).to.deep.equal({ "default/a": '{"flags":{}}' });
      expect((await read(text)).warnings).to.deep.equal([]);
    });

    it("warns of a FeatureFlag whose flags are not below flagSpec", async () => {
      const head = "apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: {name: a}\n";
      for (const below of ["spec: {flags: {}}\n", "flagSpec: {flags: {}}\n", "flags: {}\n"]) {
        const result = await read(head + below);
        expect(served(result), below).to.deep.equal({ "default/a": '{"flags":{}}' });
        expect(result.warnings[0]?.message, below).to.contain('there is no "spec.flagSpec"');
      }
      expect((await read(`${head}spec: {flags: {}}\n`)).warnings[0]?.line).to.equal(4);
    });

    it("reads whom a FeatureFlag is shared with, and warns of entries that share nothing", async () => {
      const text = `apiVersion: core.openfeature.dev/v1beta1
kind: FeatureFlag
metadata:
  name: a
  annotations:
    bunting.dev/readers: team-a, team-b/checkout, "*"
`;
      const {
        flags: [flag],
        warnings,
      } = await read(text);
      expect([...(flag?.readers ?? [])]).to.deep.equal(["team-a", "team-b/checkout"]);
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.include({ line: 6, kind: "other" });
      expect(warnings[0]?.message).to.contain("of the annotation bunting.dev/readers shares nothing");
      expect((await read(manifest("a", 1))).flags[0]).to.not.have.property("readers");
    });

    it("passes over other Kubernetes objects, with whatever they hold", async () => {
      const result = await read(
        "apiVersion: v1\nkind: ConfigMap\ndata: {on: yes}\n---\napiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlagSource\n",
      );
      expect(result).to.deep.equal({ flags: [], errors: [], warnings: [] });
    });

    it("keeps flags that are called like parts of JavaScript, and the text of keys that look like numbers", async () => {
      const result = await read(
        'flags:\n  __proto__: {state: ENABLED}\n  1.10: {state: ENABLED}\n  "10": {state: ENABLED}\n',
      );
      expect(Object.keys(result.flags[0]?.document.flags ?? {})).to.have.members(["__proto__", "1.10", "10"]);
    });

    it("merges and repeats what anchors hold", async () => {
      const result = await read(
        "flags:\n  a: &a {state: ENABLED, variants: &v {x: 1}, defaultVariant: x}\n  b: {<<: *a, state: DISABLED}\n  c: {state: ENABLED, variants: *v}\n",
      );
      expect(served(result)).to.deep.equal({
        "default/plain":
          '{"flags":{"a":{"defaultVariant":"x","state":"ENABLED","variants":{"x":1}},"b":{"defaultVariant":"x","state":"DISABLED","variants":{"x":1}},"c":{"defaultVariant":"","state":"ENABLED","variants":{"x":1}}}}',
      });
      expect(result.warnings).to.deep.equal([]);
    });

    it("reads UTF-8 and UTF-16 with a byte order mark", async () => {
      const marked = `\ufeff${JSON.stringify(flags(1))}`;
      const little = Buffer.from(marked, "utf16le");
      for (const bytes of [Buffer.from(marked), little, Buffer.from(little).swap16()])
        expect(served(await readManifest("x.json", bytes, plain))).to.deep.equal({
          "default/plain": textOf(1),
        });
    });
  });

  describe("what it refuses", () => {
    it("says which line is no YAML or JSON", async () => {
      expect(errors(await read("flags:\n  a: {state: [}\n"))[0]).to.match(/^2 syntax \?: /);
      expect(errors(await read('{"flags": {\n  "a": {},\n}}', "x.json"))).to.deep.equal([
        '3 syntax ?: expected a key in double quotes, but there is "}"',
      ]);
      expect(errors(await read('{"flags": {\n  "a": {"state"', "x.json"))).to.deep.equal([
        '2 syntax ?: expected ":", but the text ends',
      ]);
    });

    it("says which line repeats a key", async () => {
      expect(errors(await read("flags:\n  a: {}\n  b: {}\n  a: {}\n"))).to.deep.equal([
        '4 syntax ?: duplicate key "a"',
      ]);
      const json = '{"flags":{\n"a":{},\n"a":{"state":"S"}}}';
      expect(errors(await read(json, "x.yaml"))).to.deep.equal(['3 syntax ?: duplicate key "a"']);
      const { warnings, ...result } = await read(json, "x.json");
      expect(served({ warnings, ...result })).to.deep.equal({
        "default/plain": '{"flags":{"a":{"defaultVariant":"","state":"S"}}}',
      });
      expect(warnings.map(({ line, message }) => `${line}: ${message}`)).to.deep.equal([
        '3: duplicate key "a": the later one counts',
      ]);
    });

    it("says of a template of Helm that it is not rendered", async () => {
      for (const text of [
        "flags:\n  {{- toYaml .Values.flags | nindent 2 }}\n",
        "kind: FeatureFlag\nmetadata:\n  name: {{ .Release.Name }}-flags\n",
        '{"flags": {{ .Values.flags | toJson }} }',
      ])
        expect(errors(await read(text))[0], text).to.contain("template of Helm that is not rendered");
      expect(errors(await read("flags:\n  a: {{ b }}: [\n"))[0]).not.to.contain("Helm");
    });

    it("finds the lines of thousands of warnings and items in a time that grows with the file", async () => {
      const flag = { state: "ENABLED", variants: { a: "1" }, defaultVariant: "a", metadata: { bad: {} } };
      const readOf = async (size: number): Promise<void> => {
        const stripped = Object.fromEntries(Array.from({ length: size }, (_, index) => [`f${index}`, flag]));
        const items = Array.from({ length: size / 2 }, (_, index) => ({
          apiVersion: "core.openfeature.dev/v1beta1",
          kind: "FeatureFlag",
          metadata: { name: `f${index}` },
          spec: { flagSpec: flags(1) },
        }));
        const first = await read(JSON.stringify({ flags: stripped }, null, 1), "x.json");
        expect(first.warnings).to.have.length(size);
        expect(first.warnings.at(-1)?.line).to.equal(size * 10);
        const list = JSON.stringify({ kind: "List", apiVersion: "v1", items }, null, 1);
        expect((await read(list, "x.json")).flags).to.have.length(size / 2);
      };
      expect(await cpuGrowth(300, 8, readOf), "of the CPU that 8 times as many take").to.be.lessThan(32);
    });

    it("says which line of a FeatureFlag can't be served, and serves the others", async () => {
      const broken = manifest("b", 1).replace("state: ENABLED", "state: 1");
      const result = await read(`${manifest("a", 1)}---\n${broken}---\n${manifest("c", 3)}`);
      expect(errors(result)).to.deep.equal([
        '22 document default/b: "state" of "greeting" must be ENABLED or DISABLED, but it is a number',
      ]);
      expect(served(result)).to.deep.equal({ "default/a": textOf(1), "default/c": textOf(3) });
    });

    it("asks for a name in quotes where the default variant is a value", async () => {
      const text =
        'flags:\n  f:\n    state: ENABLED\n    variants: { "on": true, "off": false }\n    defaultVariant: false\n';
      expect(errors(await read(text))).to.deep.equal([
        '5 document default/plain: "defaultVariant" of "f" must be the name of one of "variants", in quotes, but it is a boolean',
      ]);
    });

    it("says the line within a List and within JSON", async () => {
      const text =
        "kind: List\nitems:\n  - apiVersion: core.openfeature.dev/v1beta1\n    kind: FeatureFlag\n    metadata: {name: a}\n    spec:\n      flagSpec:\n        flags:\n          - key: x\n          - {}\n";
      expect(errors(await read(text))).to.deep.equal([
        '10 document default/a: a flag in a list needs a "key"',
      ]);
      const json = '{\n"flags": {\n"a": {\n"targeting": 1}}}';
      expect(errors(await read(json, "x.json"))[0]).to.match(/^4 document default\/plain: "targeting"/);
    });

    it("says which version of the resource is read", async () => {
      const old = manifest("a", 1).replace("v1beta1", "v1alpha1");
      expect(errors(await read(`\n${old}`))).to.deep.equal([
        "2 manifest ?: a FeatureFlag of core.openfeature.dev/v1alpha1 is not read, only a FeatureFlag of core.openfeature.dev/v1beta1: convert it",
      ]);
      for (const apiVersion of ["", "apiVersion:\n"])
        expect(errors(await read(`${apiVersion}kind: FeatureFlag\n`))[0]).to.contain('has no "apiVersion"');
      for (const kind of ["", "kind:\n"])
        expect(errors(await read(`apiVersion: core.openfeature.dev/v1beta1\n${kind}`))[0]).to.contain(
          'no "kind"',
        );
    });

    it("finds a misspelt kind or group, and passes over those of others", async () => {
      const misspelt = `${manifest("a", 1).replace("kind: FeatureFlag", "kind: FeatureFlags")}---\n${manifest("b", 1).replace("openfeature", "openfeatures")}`;
      expect(errors(await read(misspelt))).to.deep.equal([
        '2 manifest ?: core.openfeature.dev/v1beta1 has no kind "FeatureFlags": did you mean "FeatureFlag"?',
        `${misspelt.slice(0, misspelt.indexOf("core.openfeatures")).split("\n").length} manifest ?: "core.openfeatures.dev/v1beta1" is not the "apiVersion" of a FeatureFlag: did you mean "core.openfeature.dev/v1beta1"?`,
      ]);
      const kinds = ["FeatureFlagSource", "FeatureFlagSourceConfiguration", "Flagd", "Flags"];
      const others = [
        ...kinds.map((kind) => `apiVersion: core.openfeature.dev/v1beta1\nkind: ${kind}\n`),
        "apiVersion: flags.example.com/v1\nkind: FeatureFlag\n",
      ];
      expect(errors(await read(others.join("---\n")))).to.deep.equal([]);
    });

    it("says what is wrong with names", async () => {
      expect(errors(await read(manifest("Not_OK", 1)))[0]).to.match(
        /^4 manifest \?: "metadata.name" must be/,
      );
      expect(errors(await read(manifest("a", 1, "a.b")))[0]).to.match(
        /^5 manifest \?: "metadata.namespace" must be/,
      );
      expect(errors(await read(manifest("a", 1).replace("  name: a", "  labels: {}")))[0]).to.match(
        /^3 manifest/,
      );
      const result = await readManifest("My Flags.json", Buffer.from('{"flags":{}}'), {
        problem: "rename it",
      });
      expect(errors(result)).to.deep.equal(["1 manifest ?: rename it"]);
    });

    it("refuses what is no flags at all", async () => {
      expect(errors(await read(""))).to.deep.equal(["1 empty ?: the file is empty"]);
      expect(errors(await read(" \n\t\n"))).to.deep.equal(["1 empty ?: the file is empty"]);
      expect(errors(await read("# nothing yet\n---\n"))).to.deep.equal([
        "1 empty ?: the file holds no document",
      ]);
      expect(errors(await read("null", "x.json"))).to.deep.equal(["1 empty ?: the file holds no document"]);
      expect(errors(await read("\n- 1\n"))[0]).to.match(/^2 manifest \?: expected an object/);
      expect(errors(await read("flag: {}"))[0]).to.match(/^1 manifest \?: there is neither "kind"/);
      const latin1 = await readManifest("x.json", Buffer.from('{"flags":{"é":{}}}', "latin1"), plain);
      expect(errors(latin1)).to.deep.equal([
        "1 encoding ?: it is not UTF-8 text, nor UTF-16 with a byte order mark",
      ]);
    });

    it("serves the first of two FeatureFlags of one name and says where both are", async () => {
      const result = await read(`${manifest("a", 1)}---\n${manifest("a", 2)}`);
      expect(served(result)).to.deep.equal({ "default/a": textOf(1) });
      expect(errors(result)).to.deep.equal([
        "14 duplicate default/a: default/a is on line 1 already; that one is served",
      ]);
    });

    it("says no more of a long text than fits into a line of a log", async () => {
      const long = "9".repeat(10_000);
      for (const text of [
        `a: ${long}`,
        `? ${long}\n: 1\n? ${long}\n: 1\n`,
        `a: *${long}`,
        `a: !!${long} 1`,
        `metadata: {a: 1_${long}}`,
        `{"flags":{},"metadata":{"${long}":1,"${long}":2}}`,
      ]) {
        const isJson = text.startsWith("{");
        const result = await (isJson ? read(text, "x.json") : read(`flags: {}\n${text}\n`));
        const messages = [...result.errors, ...result.warnings].map(({ message }) => message);
        expect(messages).not.to.deep.equal([]);
        for (const message of messages) expect(message.length).to.be.at.most(500);
      }
    });

    it("refuses what JSON has no word for, and YAML that is built to hurt", async () => {
      expect(errors(await read("flags: {}\nmetadata:\n  x: .inf\n"))).to.deep.equal([
        "3 syntax ?: .inf is a number that JSON does not have",
      ]);
      expect(errors(await read("flags: &f\n  a: *f\n"))).to.deep.equal(["2 syntax ?: *f contains itself"]);
      expect(errors(await read("flags: {}\nmetadata: *f\n"))[0]).to.match(
        /^2 syntax \?: the alias \*f stands for nothing/,
      );
      for (const deep of [
        "[".repeat(10_000),
        "- ".repeat(10_000),
        "? ".repeat(10_000),
        '{"a":'.repeat(10_000),
      ]) {
        expect(errors(await read(deep))[0]).to.contain("nested more than 200 deep");
      }
      const wide = `a: &a [${"x,".repeat(5_000)}]\n${Array.from({ length: 1_000 }, (_, i) => `k${i}: *a`).join("\n")}`;
      expect(errors(await read(wide))[0]).to.contain("more than 1000000 values");
      const levels = "bcdefghi".split("").map(
        (c, i) =>
          `${c}: &${c} [${Array(10)
            .fill(`*${"abcdefgh"[i] ?? ""}`)
            .join(",")}]`,
      );
      expect(errors(await read(`a: &a [x]\n${levels.join("\n")}`))[0]).to.match(
        /^7 syntax .*more than 1000000 values/,
      );
    });
  });

  describe("what it warns of", () => {
    it("warns of every plain scalar, keys too, that YAML 1.1 reads otherwise", async () => {
      const odd = [
        "yes",
        "No",
        "on",
        "OFF",
        "y",
        "N",
        "012",
        "0o17",
        "12:30:00",
        "1_000",
        "0b11",
        "-0x1F",
        "2026-11-21",
      ];
      const same = [
        "true",
        "False",
        "null",
        "~",
        "12",
        "-1.5",
        "1e3",
        "0x1F",
        "text",
        '"on"',
        "'yes'",
        ".5",
        "!!str on",
      ];
      const entries = [...odd, ...same].map((scalar, index) => `  m${index}: ${scalar}`);
      const result = await read(
        `flags:\n  on: {state: ENABLED, variants: {"off": 1, y: 2}}\nmetadata:\n${entries.join("\n")}\n`,
      );
      const lines = result.warnings.filter(({ kind }) => kind === "yaml_1_1").map(({ line }) => line);
      expect(lines).to.deep.equal([2, 2, ...odd.map((_, index) => index + 4)]);
    });

    it("says what both make of it", async () => {
      const { warnings } = await read("flags: {}\nmetadata:\n  at: 12:30:00\n  mode: 0755\n");
      expect(warnings.map(({ message }) => message.split(":").slice(0, -1).join(":"))).to.deep.equal([
        '12:30:00 is the text "12:30:00" here, but YAML 1.1, which kubectl reads, makes 45000 of it',
        "0755 is 755 here, but YAML 1.1, which kubectl reads, makes 493 of it",
      ]);
    });

    it("reads as YAML 1.2 even where the file says 1.1", async () => {
      const result = await read("%YAML 1.1\n---\nflags:\n  on: {state: ENABLED}\n");
      expect(served(result)).to.deep.equal({
        "default/plain": '{"flags":{"on":{"defaultVariant":"","state":"ENABLED"}}}',
      });
    });

    it("says what is wrong in a FeatureFlag beside its flags", async () => {
      const beside = `  rolout: {}
  rollout: {wave: [1]}
  remoteFlagProvider:
    type: http
    uri: https://flags.example.com/shop.json
    interval: 1s
`;
      const warningsOf = async (text: string): Promise<readonly string[]> =>
        (await read(manifest("a", 1) + text)).warnings.map(({ line, message }) => `${line}: ${message}`);
      expect(await warningsOf(beside)).to.deep.equal([
        '13: "rolout" is not a field of a FeatureFlag and is not read: did you mean "rollout"?',
        '14: "wave" is not a field of a FeatureFlag and is not read: did you mean "waves"?',
        '18: the remote is not asked: expected a duration from 5s to 24h, got "1s"',
      ]);
      expect(await warningsOf("  remoteFlagProvider: https://flags.example.com\n")).to.have.length(1);
      const right = beside.replace("  rolout: {}\n", "").replace("wave:", "waves:").replace("1s", "60s");
      expect(await warningsOf(right)).to.deep.equal([]);
      expect(await warningsOf("  rollout:\n  remoteFlagProvider:\n")).to.deep.equal([]);
    });

    it("says which metadata is not served", async () => {
      const { warnings } = await read('{"flags":{\n"a":{"metadata":{\n"x":[1]}}},\n"unknown":1}', "x.json");
      expect(warnings.map(({ line, kind }) => [line, kind])).to.deep.equal([
        [3, "stripped_metadata"],
        [4, "other"],
      ]);
    });
  });

  it("lets the event loop through while it reads much YAML", async () => {
    const many = Array.from(
      { length: 500 },
      (_, i) => `  flag-${i}: {state: ENABLED, variants: {x: ${i}, z: 2}, defaultVariant: x}`,
    );
    let turns = 0;
    const count = (): void => {
      turns++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const result = await read(`flags:\n${many.join("\n")}\n`);
    clearImmediate(timer);
    expect(Object.keys(result.flags[0]?.document.flags ?? {})).to.have.length(500);
    expect(turns).to.be.greaterThan(3);
  });
});
