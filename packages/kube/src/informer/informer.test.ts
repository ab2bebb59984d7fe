import { expect } from "chai";
import { KubeError } from "../kube-error.js";
import type { KubeObject } from "../rest/resource.js";
import { Informer } from "./informer.js";

function object(name: string, version: number, uid = `uid-${name}`): KubeObject {
  return { metadata: { namespace: "ns", name, uid, resourceVersion: String(version) } };
}

describe("Informer", () => {
  let heard: string[];
  let informer: Informer;

  beforeEach(() => {
    heard = [];
    const versionOf = (each: KubeObject | undefined): string => each?.metadata.resourceVersion ?? "none";
    informer = new Informer({
      handler: {
        changed: (key, now, before) => heard.push(`${key}: ${versionOf(before)} -> ${versionOf(now)}`),
        synced: () => heard.push("synced"),
      },
    });
  });

  function read(objects: readonly KubeObject[], version = 10, epoch = 1): void {
    const into = informer.beginRead();
    for (const each of objects) into.add(each, each.metadata.resourceVersion ?? "");
    into.complete(String(version), epoch);
  }

  const event = (type: "ADDED" | "MODIFIED" | "DELETED", each: KubeObject, epoch = 1): void =>
    informer.event({ type, object: each, resourceVersion: each.metadata.resourceVersion ?? "" }, epoch);

  /** The reports since the last call. */
  const news = (): string[] => heard.splice(0);

  it("reports what a read finds, and only what the next one finds otherwise", () => {
    expect(informer.hasSynced).to.equal(false);
    read([object("a", 1), object("b", 2)]);
    expect(news()).to.deep.equal(["ns/a: none -> 1", "ns/b: none -> 2", "synced"]);
    read([object("a", 1), object("c", 11)]);
    expect(news()).to.deep.equal(["ns/b: 2 -> none", "ns/c: none -> 11"]);
    expect([...informer.store.keys()]).to.deep.equal(["ns/a", "ns/c"]);
  });

  it("changes nothing before a read is complete, nor if it never is", async () => {
    read([object("a", 1)]);
    news();
    const unfinished = informer.beginRead();
    unfinished.add(object("b", 2), "2");
    expect([news(), [...informer.store.keys()]]).to.deep.equal([[], ["ns/a"]]);
    await informer.whenSynced;
  });

  it("leaves out of a read what was deleted during it", () => {
    const into = informer.beginRead();
    into.add(object("a", 1), "1");
    into.remove(object("a", 2));
    into.complete("2", 1);
    expect(news()).to.deep.equal(["synced"]);
  });

  it("reports events, but none that it knows already", () => {
    read([object("a", 5)]);
    news();
    event("MODIFIED", object("a", 5));
    event("DELETED", object("a", 4));
    event("MODIFIED", object("a", 11));
    event("ADDED", object("b", 12));
    event("DELETED", object("a", 13));
    event("DELETED", object("a", 13));
    expect(news()).to.deep.equal(["ns/a: 5 -> 11", "ns/b: none -> 12", "ns/a: 11 -> none"]);
  });

  it("takes lower versions of a new epoch, and another object under the same version", () => {
    read([object("a", 50)]);
    read([object("a", 50, "another")], 50);
    news();
    read([object("a", 3)], 3, 2);
    event("MODIFIED", object("a", 4), 2);
    expect(news()).to.deep.equal(["ns/a: 50 -> 3", "ns/a: 3 -> 4"]);
  });

  it("tells when the next read ends: complete, or because there is no such type", async () => {
    const ended: string[] = [];
    const ask = (name: string): Promise<unknown> => informer.nextRead().then(() => ended.push(name));
    read([]);
    const first = ask("complete");
    informer.failed(new KubeError("CONNECTION_LOST", "away"));
    informer.failed(new KubeError("FORBIDDEN", "what is stored may be of before another replica wrote"));
    informer.beginRead();
    await Promise.resolve();
    expect(ended).to.deep.equal([]);
    read([]);
    await first;
    const second = ask("no type");
    informer.failed(new KubeError("NOT_FOUND", "404 page not found"));
    await second;
    expect(ended).to.deep.equal(["complete", "no type"]);
  });

  it("keeps nothing else while it reads, either, so that large objects don't add up", () => {
    const transformed: string[] = [];
    const small = new Informer({
      transform: ({ metadata }) => {
        transformed.push(metadata.name);
        return { metadata };
      },
      handler: { changed: () => undefined },
    });
    const into = small.beginRead();
    into.add(object("a", 1), "1");
    expect(transformed).to.deep.equal(["a"]);
    into.complete("1", 1);
    expect(transformed).to.deep.equal(["a"]);
    expect(small.store.get("ns/a")?.metadata.resourceVersion).to.equal("1");
  });

  it("counts objects that it does not keep as absent, and those that it no longer keeps as deleted", () => {
    const some = new Informer({
      keeps: ({ metadata }) => metadata.labels?.["kept"] === "yes",
      handler: {
        changed: (key, now, before) => heard.push(`${key} ${before ? "was" : ""} ${now ? "is" : ""}`),
      },
    });
    const labelled = (name: string, version: number, kept: string): KubeObject => {
      const { metadata, ...rest } = object(name, version);
      return { ...rest, metadata: { ...metadata, labels: { kept } } };
    };
    const into = some.beginRead();
    into.add(labelled("a", 1, "yes"), "1");
    into.add(labelled("b", 1, "no"), "1");
    into.complete("1", 1);
    some.event({ type: "MODIFIED", object: labelled("b", 2, "no"), resourceVersion: "2" }, 1);
    some.event({ type: "MODIFIED", object: labelled("b", 3, "yes"), resourceVersion: "3" }, 1);
    some.event({ type: "MODIFIED", object: labelled("a", 4, "no"), resourceVersion: "4" }, 1);
    some.event({ type: "DELETED", object: labelled("a", 5, "no"), resourceVersion: "5" }, 1);
    expect([...some.store.keys()]).to.deep.equal(["ns/b"]);
    expect(heard).to.deep.equal(["ns/a  is", "ns/b  is", "ns/a was "]);
  });

  it("keeps only what a transform leaves of objects", () => {
    const small = new Informer<KubeObject & { readonly size: number }, "size">({
      transform: ({ metadata: { name, namespace = "" } }) => ({
        metadata: { name, namespace },
        size: name.length,
      }),
      indexes: { size: ({ size }) => [String(size)] },
      handler: { changed: (key) => heard.push(key) },
    });
    small.event({ type: "ADDED", object: object("abc", 1), resourceVersion: "1" }, 1);
    expect(small.store.by("size", "3")).to.deep.equal([
      { metadata: { name: "abc", namespace: "ns" }, size: 3 },
    ]);
    expect(heard).to.deep.equal(["ns/abc"]);
  });
});
