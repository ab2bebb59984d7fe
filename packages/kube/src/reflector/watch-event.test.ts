import { expect } from "chai";
import { KubeError } from "../kube-error.js";
import { parseWatchEvent } from "./watch-event.js";

describe("parseWatchEvent", () => {
  const metadata = { name: "a", namespace: "ns", resourceVersion: "7" };

  for (const type of ["ADDED", "MODIFIED", "DELETED"]) {
    it(`reads ${type} with the whole object, unknown fields included`, () => {
      const object = { metadata, spec: { unknown: [1] }, more: true };
      expect(parseWatchEvent(JSON.stringify({ type, object }))).to.deep.equal({
        type,
        object,
        resourceVersion: "7",
      });
    });
  }

  it("reads bookmarks, and tells the one that ends the initial state", () => {
    const bookmark = (annotations?: object): unknown =>
      parseWatchEvent(
        JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9", annotations } } }),
      );
    const plain = { type: "BOOKMARK", resourceVersion: "9", isInitialEventsEnd: false };
    expect(bookmark()).to.deep.equal(plain);
    expect(bookmark({ "k8s.io/initial-events-end": "false" })).to.deep.equal(plain);
    expect(bookmark({ "k8s.io/initial-events-end": "true" })).to.deep.equal({
      ...plain,
      isInitialEventsEnd: true,
    });
  });

  it("turns ERROR into an error, with the code of its Status", () => {
    const object = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
    const event = parseWatchEvent(JSON.stringify({ type: "ERROR", object }));
    expect(event).to.have.nested.property("error.code", "EXPIRED");
  });

  it("survives an ERROR without an object", () => {
    for (const line of [
      '{"type":"ERROR"}',
      '{"type":"ERROR","object":null}',
      '{"type":"ERROR","object":5}',
    ]) {
      expect(parseWatchEvent(line), line).to.have.property("error").that.is.instanceOf(KubeError);
    }
  });

  for (const line of [
    "",
    "null",
    "5",
    "[]",
    "{}",
    '{"type":"ADDED"',
    '{"type":"ADDED","object":null}',
    '{"type":"ADDED","object":{"metadata":null}}',
    '{"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}}}',
    '{"type":"ADDED","object":{"metadata":{"name":"a"}}}',
    '{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":7}}}',
    '{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"0"}}}',
    '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":""}}}',
    '{"type":"MOVED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}',
  ]) {
    it(`refuses ${line === "" ? "an empty line" : line}`, () => {
      expect(() => parseWatchEvent(line))
        .to.throw(KubeError)
        .with.property("code", "PROTOCOL");
    });
  }

  it("quotes only the beginning of a long line", () => {
    const line = `{"type":"ADDED","object":"${"x".repeat(10_000)}"}`;
    expect(() => parseWatchEvent(line))
      .to.throw(KubeError)
      .with.property("message")
      .with.lengthOf.below(250);
  });
});
