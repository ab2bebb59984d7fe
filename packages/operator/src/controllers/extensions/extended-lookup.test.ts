import { expect } from "chai";
import type { ClusterWatches, KubeObject } from "@bunting/kube";
import type { Extension } from "../../api/extension.js";
import type { InjectionEntry, InjectionSpec } from "../../api/injection.js";
import { storedExtension } from "../../extensions/extension.fixture.js";
import { portEntry } from "../../pod/injection-entry.fixture.js";
import { extendedLookup } from "./extended-lookup.js";
import { storedInjection, StoredInjections, textIn } from "./stored-injections.js";

const plainEntry: InjectionEntry = { ...portEntry, digest: "plain" };
const storedEntry: InjectionEntry = { ...portEntry, digest: "stored" };
const request = { list: "sources", text: "app" } as const;

function injectionOf(spec: InjectionSpec | undefined): KubeObject {
  return { metadata: { name: "bunting", namespace: "shop" }, spec };
}

describe("extendedLookup", () => {
  let extensions: readonly Extension[];
  let spec: InjectionSpec | undefined;
  let hasSynced: boolean;
  const lookup = (): unknown =>
    extendedLookup({
      extensions: { hasSynced, askedFor: () => extensions },
      injections: {
        hasSynced: true,
        find: (_namespace, asked) => textIn(storedInjection(injectionOf(spec)), asked),
      },
      plain: () => plainEntry,
    })("shop", request);
  beforeEach(() => {
    extensions = [storedExtension("qos")];
    spec = undefined;
    hasSynced = true;
  });

  it("gives what was stored, and what can be compiled where no extension is asked", () => {
    spec = { format: 1, sources: { app: storedEntry } };
    expect(lookup()).to.deep.equal(storedEntry);
    extensions = [];
    expect(lookup()).to.equal(plainEntry);
  });

  it("gives what extensions have not seen only if none of them must be asked", () => {
    expect(lookup()).to.include({ reason: "NotExtended" });
    extensions = [storedExtension("qos", { failurePolicy: "Ignore" })];
    expect(lookup()).to.equal(plainEntry);
  });

  it("gives nothing that an extension refuses, whatever its failurePolicy is", () => {
    extensions = [storedExtension("qos", { failurePolicy: "Ignore" })];
    spec = { format: 1, sources: {}, refused: { sources: { app: "no flags here" }, inProcess: {} } };
    expect(lookup()).to.deep.equal({ reason: "RefusedByExtension", message: "no flags here" });
  });

  it("finds nothing stored by a name that every object has", () => {
    spec = { format: 1, sources: { app: storedEntry } };
    for (const text of ["constructor", "__proto__"])
      expect(textIn(storedInjection(injectionOf(spec)), { list: "sources", text })).to.equal(undefined);
  });

  it("finds what further Injections of the namespace have, and not those of others", () => {
    const objects = new Map<string, ReturnType<typeof storedInjection>>(
      (["bunting", "bunting-1", "other"] as const).map((name) => {
        const sources = { [`of-${name}`]: { ...storedEntry, digest: name } };
        return [`shop/${name}`, storedInjection(injectionOf({ format: 1, sources }))] as const;
      }),
    );
    const watches = { inform: () => ({ informer: { store: { get: (key: string) => objects.get(key) } } }) };
    const stored = new StoredInjections(watches as unknown as Pick<ClusterWatches, "inform">);
    const found = ["of-bunting", "of-bunting-1", "of-other"].map((text) =>
      stored.find("shop", { list: "sources", text }),
    );
    expect(found.map((each) => each?.kind)).to.deep.equal(["entry", "entry", undefined]);
  });

  it("gives nothing before all is read", () => {
    hasSynced = false;
    expect(lookup()).to.include({ reason: "NotExtended" });
  });
});
