import { expect } from "chai";
import type { ExtensionAnswer, ExtensionObject } from "@bunting/extension";
import type { Extension } from "../api/extension.js";
import type { ExtensionQuestion } from "./extension-caller.js";
import { storedExtension } from "./extension.fixture.js";
import { preCreate, type PreCreateObject, type PreCreateOutcome } from "./pre-create.js";

const never = new AbortController().signal;

function sidecar(container: object = {}): ExtensionObject {
  const spec = { container: { name: "flagd", image: "agent:1", ...container } };
  const metadata = { name: "storefront", namespace: "shop", annotations: {} };
  return { apiVersion: "bunting.dev/v1alpha1", kind: "Sidecar", metadata, spec };
}

type Hook = (question: ExtensionQuestion) => ExtensionAnswer;

describe("preCreate", () => {
  let asked: string[];
  beforeEach(() => (asked = []));

  async function made(
    extensions: readonly (readonly [extension: Extension, hook: Hook])[],
    changes: Partial<PreCreateObject> = {},
  ): Promise<PreCreateOutcome> {
    const hooks = new Map(extensions.map(([{ metadata }, hook]) => [metadata.name, hook]));
    const namespace = { name: "shop", labels: { stage: "dev" }, annotations: {} };
    const object = { target: "Sidecar", operation: "CREATE", object: sidecar(), annotations: {} } as const;
    return preCreate(
      extensions.map(([extension]) => extension),
      { ...object, namespace, ...changes },
      {
        ask: ({ metadata: { name } }, question) => {
          asked.push(name);
          return Promise.resolve(hooks.get(name)?.(question) ?? { kind: "unchanged" });
        },
      },
      never,
    );
  }

  const replacing =
    (container: object): Hook =>
    ({ object }) => {
      const { spec } = object as ExtensionObject & { readonly spec: { readonly container: object } };
      return {
        kind: "replaced",
        object: { ...object, spec: { ...spec, container: { ...spec.container, ...container } } },
      };
    };
  const failing: Hook = () => ({ kind: "failed", reason: "it answered 503" });
  const any = storedExtension;

  it("asks each about what those before it have made", async () => {
    const lists = { mutates: ["/spec/container"] };
    const outcome = await made([
      [any("first", lists), replacing({ tty: true })],
      [any("second", lists), replacing({ stdin: true })],
    ]);
    expect(outcome).to.deep.equal({
      kind: "made",
      object: sidecar({ tty: true, stdin: true }),
      failed: new Set(),
    });
  });

  it("names the beginning of a field that has a long name", async () => {
    const outcome = await made([[any("hostile"), replacing({ ["x".repeat(100_000)]: 1 })]]);
    const { reason } = outcome.kind === "withheld" ? outcome : { reason: outcome.kind };
    expect(reason).to.have.length(1_024);
    expect(reason).to.contain("/spec/container/xxx");
    const colored = await made([[any("hostile"), replacing({ "\u001b[31m\n\u202e": 1 })]]);
    expect(JSON.stringify(colored)).to.contain("/spec/container/?[31m ?").and.to.not.contain("\u202e");
  });

  it("asks for the hook, the kind of object and the namespaces that an Extension has, and no others", async () => {
    await made([
      [any("hook", { hooks: ["lint"] }), failing],
      [any("kind", { objects: ["Flagd"] }), failing],
      [any("namespace", { namespaceSelector: { matchLabels: { stage: "pro" } } }), failing],
      [any("asked", { namespaceSelector: { matchLabels: { stage: "dev" } } }), () => ({ kind: "unchanged" })],
    ]);
    expect(asked).to.deep.equal(["asked"]);
  });

  it("stops at a refusal", async () => {
    const outcome = await made([
      [any("strict"), () => ({ kind: "refused", reason: "no team is named" })],
      [any("after"), failing],
    ]);
    expect(outcome).to.deep.equal({
      kind: "refused",
      extension: "strict",
      reason: "no team is named",
      failed: new Set(),
    });
    expect(asked).to.deep.equal(["strict"]);
  });

  it("withholds the object if one fails that has to be asked, and goes on without one that need not", async () => {
    const down = {
      kind: "withheld",
      extension: "down",
      reason: "it answered 503",
      failed: new Set(["down"]),
    };
    expect(await made([[any("down"), failing]])).to.deep.equal(down);
    const outcome = await made([
      [any("down", { failurePolicy: "Ignore" }), failing],
      [any("after"), replacing({ resources: {} })],
    ]);
    expect(outcome).to.deep.equal({
      kind: "made",
      object: sidecar({ resources: {} }),
      failed: new Set(["down"]),
    });
    const refused = await made([
      [any("down", { failurePolicy: "Ignore" }), failing],
      [any("strict"), () => ({ kind: "refused", reason: "no" })],
    ]);
    expect([...refused.failed]).to.deep.equal(["down"]);
  });

  it("takes an image, a volume of the node or another name from no extension that does not list it", async () => {
    const hostile: readonly Hook[] = [
      replacing({ image: "evil:1" }),
      replacing({ securityContext: { privileged: true } }),
      ({ object }) => ({
        kind: "replaced",
        object: {
          ...object,
          spec: {
            ...(object["spec"] as object),
            volumes: [{ name: "root", hostPath: { path: "/" } }],
          },
        },
      }),
    ];
    const places = ["/spec/container/image", "/spec/container/securityContext/privileged", "/spec/volumes"];
    for (const [index, hook] of hostile.entries()) {
      const outcome = await made([[any("hostile"), hook]]);
      expect(outcome.kind).to.equal("withheld");
      if (outcome.kind === "withheld") expect(outcome.reason).to.contain(`mutates: ${places[index]}`);
    }
    const renamed: Hook = ({ object }) => ({
      kind: "replaced",
      object: { ...object, metadata: { ...object.metadata, name: "other" } },
    });
    const outcome = await made([[any("renaming", { mutates: ["/metadata"] }), renamed]]);
    expect(outcome.kind).to.equal("withheld");
  });

  it("sends the configuration of the object's source, or else of its namespace", async () => {
    const configurations: unknown[] = [];
    const noting: Hook = (question) => {
      configurations.push(question.configuration);
      return { kind: "unchanged" };
    };
    const annotation = "extensions.bunting.dev/noting";
    const namespace = { name: "shop", labels: {}, annotations: { [annotation]: '{"level":1}' } };
    await made([[any("noting"), noting]], { namespace, annotations: { [annotation]: "[2]" } });
    await made([[any("noting"), noting]], { namespace });
    await made([[any("noting"), noting]]);
    expect(configurations).to.deep.equal([[2], { level: 1 }, undefined]);
    const outcome = await made([[any("noting"), noting]], { annotations: { [annotation]: "{" } });
    expect(outcome).to.deep.equal({
      kind: "refused",
      extension: "noting",
      reason: `the annotation ${annotation} is no JSON`,
      failed: new Set(),
    });
  });
});
