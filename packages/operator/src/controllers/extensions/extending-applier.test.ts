import type { ExtensionAnswer, ExtensionObject } from "@bunting/extension";
import { KubeError } from "@bunting/kube";
import { expect } from "chai";
import type { Extension } from "../../api/extension.js";
import type { DesiredObject } from "../../desired/desired-object.js";
import { storedExtension } from "../../extensions/extension.fixture.js";
import type { ExtensionQuestion } from "../../extensions/extension-caller.js";
import type { Applied } from "../apply/applier.js";
import { ExtendingApplier } from "./extending-applier.js";

const desired: DesiredObject = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "flags", namespace: "shop" },
  spec: { ports: [], type: undefined },
};
const never = new AbortController().signal;

describe("ExtendingApplier", () => {
  let extensions: readonly Extension[];
  let answer: ExtensionAnswer;
  let isThere: boolean;
  let questions: ExtensionQuestion[];
  let applied: DesiredObject[];
  let failures: (readonly string[])[];
  let objects: Set<string>;
  beforeEach(() => {
    extensions = [storedExtension("notes", { objects: ["Flagd"] })];
    answer = { kind: "unchanged" };
    isThere = false;
    questions = [];
    applied = [];
    failures = [];
    objects = new Set();
  });

  const apply = (): Promise<Applied> =>
    new ExtendingApplier(
      {
        applier: {
          apply: (object) => {
            if (isInvalid(object)) return Promise.reject(new KubeError("INVALID", "team: no such team"));
            applied.push(object);
            return Promise.resolve({} as Applied);
          },
          remove: () => Promise.resolve(true),
        },
        client: {
          apply: (_scope, object) =>
            isInvalid(object)
              ? Promise.reject(new KubeError("INVALID", "team: no such team"))
              : Promise.resolve({ metadata: { name: "flags" } }),
          get: () =>
            isThere
              ? Promise.resolve({ metadata: { name: "flags" } })
              : Promise.reject(new KubeError("NOT_FOUND", "there is none")),
        },
        extensions: {
          askedFor: () => extensions,
          namespace: (name) => ({ name, labels: {}, annotations: {} }),
        },
        peers: {
          ask: (_extension, question) => {
            questions.push(question);
            return Promise.resolve(answer);
          },
        },
        onAsked: (_namespace, failed, object) => {
          failures.push([...failed]);
          objects.add(object);
        },
      },
      { target: "Flagd", annotations: { "extensions.bunting.dev/notes": "1" } },
    ).apply(desired, never);

  function isInvalid(object: object): boolean {
    return JSON.stringify(object).includes("no such team");
  }

  async function errorOf(result: Promise<unknown>): Promise<unknown> {
    return result.then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it("applies what extensions have made, which are told whether it is there", async () => {
    const metadata = { ...desired.metadata, labels: { team: "shop" } };
    answer = { kind: "replaced", object: { ...desired, spec: { ports: [] }, metadata } as ExtensionObject };
    await apply();
    expect(applied).to.deep.equal([answer.object]);
    isThere = true;
    await apply();
    expect(
      questions.map(({ operation, target, configuration }) => [operation, target, configuration]),
    ).to.deep.equal([
      ["CREATE", "Flagd", 1],
      ["UPDATE", "Flagd", 1],
    ]);
    expect(failures).to.deep.equal([[], []]);
    expect([...objects]).to.deep.equal(["Service shop/flags"]);
  });

  it("applies the object as it is where no extension is asked", async () => {
    extensions = [];
    await apply();
    expect(applied).to.deep.equal([desired]);
    expect(questions).to.deep.equal([]);
    expect(failures, "nothing waits for them").to.deep.equal([[]]);
  });

  it("applies nothing that is refused, or of which one has failed that has to be asked", async () => {
    answer = { kind: "refused", reason: "no" };
    expect(await errorOf(apply())).to.include({
      code: "EXTENSION_REFUSED",
      message: "the extension notes refuses the Service shop/flags: no",
    });
    answer = { kind: "failed", reason: "late" };
    expect(await errorOf(apply())).to.include({ code: "EXTENSION_FAILED" });
    expect(applied).to.deep.equal([]);
    extensions = [storedExtension("notes", { objects: ["Flagd"], failurePolicy: "Ignore" })];
    await apply();
    expect(applied).to.have.length(1);
    expect(failures).to.deep.equal([[], ["notes"], ["notes"]]);
  });

  it("takes an extension for one that has failed if the API server refuses what it has made", async () => {
    const metadata = { ...desired.metadata, labels: { team: "no such team" } };
    answer = { kind: "replaced", object: { ...desired, spec: { ports: [] }, metadata } as ExtensionObject };
    const error = await errorOf(apply());
    expect(error).to.include({ code: "EXTENSION_FAILED" });
    expect((error as Error).message)
      .to.contain("the extension notes")
      .and.to.contain("team: no such team");
    extensions = [storedExtension("notes", { objects: ["Flagd"], failurePolicy: "Ignore" })];
    await apply();
    expect(applied.map((object) => object.metadata)).to.deep.equal([desired.metadata]);
    expect(failures.at(-1)).to.deep.equal(["notes"]);
  });
});
