import { KubeError, type KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { injectionNames, type Injection } from "../../api/injection.js";
import { portEntry } from "../../pod/injection-entry.fixture.js";
import { InjectionWriter } from "./injection-writer.js";

const never = new AbortController().signal;

function injection(name: Injection["metadata"]["name"], texts: readonly string[]): Injection {
  return {
    apiVersion: "bunting.dev/v1alpha1",
    kind: "Injection",
    metadata: { name, namespace: "shop" },
    spec: { format: 1, sources: Object.fromEntries(texts.map((text) => [text, portEntry])) },
  };
}

/** The API server is a map of objects, which refuses some on request. The rest is tried on a real one. */
describe("InjectionWriter", () => {
  let stored: Map<string, Injection>;
  let versions: Map<string, string>;
  let refused: string | undefined;
  /** Texts that were stored after each write. */
  let moments: ReadonlySet<string>[];
  let writes: string[];
  let writer: InjectionWriter;

  beforeEach(() => {
    stored = new Map();
    versions = new Map();
    refused = undefined;
    moments = [];
    writes = [];
    const wrote = (key: string): void => {
      writes.push(key);
      versions.set(key, String(writes.length));
      moments.push(new Set([...stored.values()].flatMap(({ spec }) => Object.keys(spec.sources))));
    };
    const live = (key: string): KubeObject | undefined => {
      const resourceVersion = versions.get(key) ?? "";
      return stored.has(key)
        ? { metadata: { name: key.slice("shop/".length), namespace: "shop", resourceVersion } }
        : undefined;
    };
    const keyOf = ({
      namespace = "",
      name = "",
    }: {
      readonly namespace?: string;
      readonly name?: string;
    }): string => `${namespace}/${name}`;
    writer = new InjectionWriter({
      live,
      client: {
        get: (scope) => Promise.resolve({ ...stored.get(keyOf(scope)), ...live(keyOf(scope)) } as KubeObject),
        apply: (scope, object) => {
          const key = keyOf(scope);
          if (key === refused) return Promise.reject(new KubeError("FORBIDDEN", "exceeded quota"));
          stored.set(key, object as Injection);
          wrote(key);
          return Promise.resolve(live(key) ?? { metadata: { name: "" } });
        },
        delete: (scope) => {
          stored.delete(keyOf(scope));
          wrote(keyOf(scope));
          return Promise.resolve();
        },
      },
    });
  });

  /** Writes these texts, two to an Injection. */
  function write(texts: readonly string[]): Promise<void> {
    const parts = injectionNames.map((name, at) => injection(name, texts.slice(2 * at, 2 * at + 2)));
    return writer.write(
      "shop",
      parts.filter(({ spec }) => Object.keys(spec.sources).length > 0),
      never,
    );
  }

  it("writes what differs, and deletes what there is nothing for any more", async () => {
    await write(["a", "b", "c"]);
    expect(writes).to.have.members(["shop/bunting", "shop/bunting-1"]);
    writes.length = 0;
    await write(["a", "b", "d"]);
    expect(writes).to.deep.equal(["shop/bunting-1"]);
    await write(["a", "b"]);
    expect([...stored.keys()]).to.deep.equal(["shop/bunting"]);
    expect(await writer.read("shop", never)).to.have.length(1);
    await write([]);
    expect(stored.size).to.equal(0);
    expect(writer.isStored("shop")).to.equal(false);
  });

  it("deletes what an earlier leader wrote that asked extensions", async () => {
    stored.set("shop/bunting-3", injection("bunting-3", ["z"]));
    await write(["a"]);
    expect([...stored.keys()]).to.deep.equal(["shop/bunting"]);
  });

  it("never takes a text away for a moment that another Injection gets", async () => {
    await write(["b", "c", "d"]);
    moments.length = 0;
    await write(["a", "b", "c", "d"]);
    await write(["b", "c", "d"]);
    expect(moments.length).to.equal(4);
    for (const texts of moments) expect([...texts]).to.include.members(["b", "c", "d"]);
  });

  it("writes the others where one is refused, and knows its own writes again", async () => {
    refused = "shop/bunting-1";
    const error: unknown = await write(["a", "b", "c"]).catch((each: unknown) => each);
    expect(error).to.be.instanceOf(KubeError);
    expect([...stored.keys()]).to.deep.equal(["shop/bunting"]);
    const [written] = await writer.read("shop", never);
    expect(written !== undefined && writer.isWritten(written)).to.equal(true);
  });
});
