import { expect } from "chai";
import { KubeError } from "../kube-error.js";
import type { ConsistentRead, ReflectorHandler } from "../reflector/reflector-handler.js";
import type { KubeObject } from "../rest/resource.js";
import { Informer } from "./informer.js";
import { JoinedReads } from "./joined-reads.js";

const forbidden = new KubeError("FORBIDDEN", "no Role");

describe("JoinedReads", () => {
  let heard: string[];
  let news: string[];
  let informer: Informer;
  let joined: JoinedReads;
  let handlers: Readonly<Record<"a" | "b", Required<ReflectorHandler>>>;

  beforeEach(() => {
    heard = [];
    news = [];
    informer = new Informer({
      handler: {
        changed: (key, object) => heard.push(`${key} ${object?.metadata.resourceVersion ?? "gone"}`),
        synced: () => heard.push("synced"),
      },
    });
    joined = new JoinedReads(["a", "b"], informer, {
      read: (namespace) => news.push(`read ${namespace}`),
      refused: (namespace) => news.push(`refused ${namespace}`),
    });
    handlers = { a: joined.handlerOf("a"), b: joined.handlerOf("b") };
  });

  function object(key: string, version: number): KubeObject {
    const [namespace = "", name = ""] = key.split("/");
    return { metadata: { namespace, name, uid: `uid-${name}`, resourceVersion: String(version) } };
  }

  function begin(namespace: "a" | "b", keys: readonly string[], version: number): ConsistentRead {
    const read = handlers[namespace].beginRead();
    for (const key of keys) read.add(object(key, version), String(version));
    return read;
  }

  const read = (namespace: "a" | "b", keys: readonly string[], version = 1): void =>
    begin(namespace, keys, version).complete(String(version), 1);

  function event(type: "ADDED" | "MODIFIED" | "DELETED", key: string, version: number): void {
    const namespace = key.startsWith("a/") ? "a" : "b";
    handlers[namespace].event({ type, object: object(key, version), resourceVersion: String(version) }, 1);
  }

  /** The reports since the last call. */
  const taken = (): string[] => heard.splice(0);

  it("is complete for the first time with the last of the namespaces", () => {
    read("b", ["b/x"]);
    expect([informer.hasSynced, taken()]).to.deep.equal([false, []]);
    read("a", ["a/x", "a/y"]);
    expect(taken()).to.deep.equal(["b/x 1", "a/x 1", "a/y 1", "synced"]);
  });

  it("has in the first read what has happened in a namespace while another one was still to be read", () => {
    read("a", ["a/x", "a/y"]);
    event("MODIFIED", "a/x", 2);
    event("DELETED", "a/y", 3);
    event("ADDED", "a/z", 4);
    read("b", [], 5);
    expect(taken()).to.deep.equal(["a/x 2", "a/z 4", "synced"]);
    event("DELETED", "a/z", 6);
    expect(taken()).to.deep.equal(["a/z gone"]);
  });

  it("has nothing in the first read that was gone when a read of a namespace was begun anew", () => {
    begin("a", ["a/x", "a/y"], 1);
    handlers.a.failed(new KubeError("CONNECTION_LOST", "away"));
    read("b", ["b/x"]);
    expect(taken()).to.deep.equal([]);
    read("a", ["a/y", "a/z"], 3);
    expect(taken()).to.have.members(["b/x 1", "a/y 3", "a/z 3", "synced"]);
  });

  it("does not wait for a namespace that RBAC refuses, and takes it in once it can be read", () => {
    informer.failed = () => expect.fail("that is no failure of the others");
    handlers.b.failed(forbidden);
    read("a", ["a/x"]);
    expect(taken()).to.deep.equal(["a/x 1", "synced"]);
    read("b", ["b/x"], 2);
    expect(taken()).to.deep.equal(["b/x 2"]);
    expect(news).to.deep.equal(["refused b", "read a", "read b"]);
  });

  it("is complete as soon as the only ones are refused that are still to be read", () => {
    read("a", ["a/x"]);
    handlers.b.failed(forbidden);
    expect(taken()).to.deep.equal(["a/x 1", "synced"]);
  });

  it("is not complete while all are refused", () => {
    handlers.a.failed(forbidden);
    handlers.b.failed(forbidden);
    expect(informer.hasSynced).to.equal(false);
    read("b", []);
    expect(taken()).to.deep.equal(["synced"]);
  });

  it("is not complete with half of a namespace that was refused before", () => {
    handlers.b.failed(forbidden);
    const half = begin("b", ["b/x"], 1);
    read("a", []);
    expect(informer.hasSynced).to.equal(false);
    half.complete("1", 1);
    expect(taken()).to.deep.equal(["b/x 1", "synced"]);
  });

  it("counts what a later read lacks as gone, in its own namespace alone", () => {
    read("a", ["a/x", "a/y"]);
    read("b", ["b/x"]);
    taken();
    read("a", ["a/y"], 2);
    expect(taken()).to.deep.equal(["a/x gone", "a/y 2"]);
    handlers.b.failed(forbidden);
    expect([taken(), [...informer.store.keys()]]).to.deep.equal([[], ["b/x", "a/y"]]);
  });

  it("says when each was read once more, or is refused", async () => {
    read("a", []);
    read("b", []);
    const ended: string[] = [];
    const again = joined.nextReads().then(() => ended.push("again"));
    read("a", []);
    handlers.b.failed(new KubeError("CONNECTION_LOST", "away"));
    await Promise.resolve();
    expect(ended).to.deep.equal([]);
    handlers.b.failed(forbidden);
    await again;
    const third = joined.nextReads();
    for (const namespace of ["a", "b"] as const)
      handlers[namespace].failed(new KubeError("NOT_FOUND", "404 page not found"));
    await third;
  });
});
