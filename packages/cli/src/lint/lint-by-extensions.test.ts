import {
  flagOwner,
  refuse,
  serveExtension,
  type ExtensionRequest,
  type ServedExtension,
} from "@bunting/extension";
import { expect } from "chai";
import { lintByExtensions } from "./lint-by-extensions.js";

const flag = "{ state: ENABLED, variants: { v: 1 }, defaultVariant: v }";
const manifest = (name: string, ...further: readonly string[]): string =>
  [
    "apiVersion: core.openfeature.dev/v1beta1",
    "kind: FeatureFlag",
    `metadata: { name: ${name}, namespace: shop${further.map((each) => `, ${each}`).join("")} }`,
    "spec:",
    "  flagSpec:",
    "    flags:",
    `      a/b: ${flag}`,
    `      c: ${flag.replace("{", "{ metadata: { owner: shop },")}`,
    "",
  ].join("\n");

describe("lintByExtensions", () => {
  const ending = new AbortController();
  const asked: ExtensionRequest[] = [];
  let extension: ServedExtension;

  before(async () => {
    const lint = flagOwner();
    extension = await serveExtension(
      {
        lint: (request) => {
          asked.push(request);
          if (request.object.metadata.name === "closed") refuse("it is closed");
          if (request.object.metadata.name === "broken") throw new Error("broken");
          return lint(request);
        },
      },
      { port: 0, host: "127.0.0.1", signal: ending.signal, report: () => undefined },
    );
  });
  beforeEach(() => (asked.length = 0));
  after(async () => {
    ending.abort();
    await extension.ended;
  });

  async function found(text: string, names: readonly string[] = ["owner"]): Promise<readonly string[]> {
    const addresses = Object.fromEntries(names.map((name) => [name, extension.url]));
    const findings = await lintByExtensions("flags.yaml", text, addresses, new AbortController().signal);
    return findings.map(
      ({ line, column, severity, kind, message }) => `${line}:${column} ${severity} ${kind} ${message}`,
    );
  }

  it("has what each extension says of each FeatureFlag, at its place, also in a List", async () => {
    const finding =
      'the flag "a/b" has no owner: write the team that decides on it into its metadata, as owner';
    expect(await found(`${manifest("one")}---\n${manifest("two")}`, ["owner", "other"])).to.deep.equal([
      `7:7 error extension owner: ${finding}`,
      `7:7 error extension other: ${finding}`,
      `16:7 error extension owner: ${finding}`,
      `16:7 error extension other: ${finding}`,
    ]);
    const items = [manifest("one")].map((text) => `  - ${text.trimEnd().replaceAll("\n", "\n    ")}\n`);
    expect(await found(`kind: List\nitems:\n${items.join("")}`)).to.deep.equal([
      `9:11 error extension owner: ${finding}`,
    ]);
  });

  it("asks as the operator does, with the configuration of the extension's name", async () => {
    const annotation = `annotations: { extensions.bunting.dev/owner: '{"owner":"shop"}' }`;
    expect(await found(manifest("one", annotation))).to.deep.equal([]);
    expect(asked[0]).to.deep.include({
      hook: "lint",
      target: "FeatureFlag",
      dryRun: true,
      namespace: { name: "shop", labels: {}, annotations: {} },
      configuration: { owner: "shop" },
    });
    expect(await found(manifest("one", annotation), ["other"])).to.have.length(1);
  });

  it("says of a configuration that is no JSON, and of a FeatureFlag that is refused", async () => {
    expect(await found(manifest("one", "annotations: { extensions.bunting.dev/owner: '{' }"))).to.deep.equal([
      "3:1 error extension owner: the annotation extensions.bunting.dev/owner is no JSON",
    ]);
    const deep = "[".repeat(101) + "]".repeat(101);
    expect(
      await found(manifest("one", `annotations: { extensions.bunting.dev/owner: '${deep}' }`)),
    ).to.deep.equal([
      "3:1 error extension owner: the annotation extensions.bunting.dev/owner is nested more than 100 levels deep",
    ]);
    expect(await found(manifest("closed"))).to.deep.equal(["1:1 error extension owner: it is closed"]);
  });

  it("ends with the extension that does not answer", async () => {
    const error = await found(manifest("broken")).catch((reason: unknown) => reason);
    expect(error).to.include({ name: "CliError", code: "SERVER_UNREACHABLE" });
    expect(String(error)).to.include(`the extension owner at ${extension.url} has failed: it answered 500`);
  });

  it("asks nobody about anything else", async () => {
    for (const text of [
      "kind: FeatureFlag\n",
      "kind: [FeatureFlag",
      `flags: { a: ${flag} }\n`,
      manifest("x").replace("v1beta1", "v1alpha1"),
    ])
      expect(await found(text), text).to.deep.equal([]);
    expect(asked).to.deep.equal([]);
  });
});
