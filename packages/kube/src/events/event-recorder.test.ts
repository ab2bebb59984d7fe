import { expect } from "chai";
import { createLogger } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { KubeError } from "../kube-error.js";
import type { KubeObject } from "../rest/resource.js";
import { EventRecorder, type EventDetails } from "./event-recorder.js";

interface WrittenEvent {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly note: string;
  readonly eventTime: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

describe("EventRecorder", () => {
  let clock: ManualClock;
  let recorder: EventRecorder;
  let created: WrittenEvent[];
  let patched: { readonly name: string; readonly body: unknown }[];
  let fault: (method: "create" | "patch") => KubeError | undefined;
  let dropped: number;
  let lines: string[];
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new ManualClock();
    created = [];
    patched = [];
    fault = () => undefined;
    dropped = 0;
    lines = [];
    abort = new AbortController();
    const answer = (method: "create" | "patch", accept: () => void): Promise<KubeObject> => {
      const error = fault(method);
      if (error !== undefined) return Promise.reject(error);
      accept();
      return Promise.resolve({ metadata: { name: "x" } });
    };
    recorder = new EventRecorder({
      client: {
        create: (_scope, object) => answer("create", () => created.push(object as WrittenEvent)),
        patch: ({ name }, _type, body) => answer("patch", () => patched.push({ name, body })),
      },
      controller: "bunting.dev/operator",
      instance: "operator-1",
      context: {
        clock,
        logger: createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) }),
      },
      onDropped: () => dropped++,
    });
    running = recorder.run(abort.signal);
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers, "timers left").to.equal(0);
  });

  function details(name = "a", changes: Partial<EventDetails> = {}): EventDetails {
    const regarding = { apiVersion: "v1", kind: "Pod", namespace: "ns", name, uid: `uid-${name}` };
    return {
      regarding,
      type: "Warning",
      reason: "NotInjected",
      action: "Inject",
      note: "No source.",
      ...changes,
    };
  }

  function of(namespace: string, name: string): EventDetails {
    return details(name, { regarding: { apiVersion: "v1", kind: "Pod", namespace, name } });
  }

  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it("writes an event with all that the API asks for", async () => {
    recorder.record(details());
    await settled();
    const [event] = created;
    expect(event).to.deep.equal({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace: "ns", name: event?.metadata.name },
      eventTime: "2023-11-14T22:13:21.000000Z",
      reportingController: "bunting.dev/operator",
      reportingInstance: "operator-1",
      ...details(),
    });
    expect(event?.metadata.name).to.match(/^a\.[0-9a-f]{16}$/);
  });

  it("names an event as the API allows also where it cuts a long name before a part of it", async () => {
    recorder.record(details(`${"a".repeat(199)}-b`));
    recorder.record(details(`${"a".repeat(199)}.b`));
    await settled();
    const dnsName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
    for (const { metadata } of created) expect(metadata.name).to.match(dnsName);
    expect(created).to.have.length(2);
  });

  it("makes a series of an event that happens again, written at its second time and then every six minutes", async () => {
    recorder.record(details());
    await settled();
    for (let again = 0; again < 5; again++) {
      clock.advance(1_000);
      recorder.record(details());
      await settled();
    }
    const name = created[0]?.metadata.name;
    const series = (count: number, second: string): unknown => ({
      name,
      body: { series: { count, lastObservedTime: `2023-11-14T22:13:${second}.000000Z` } },
    });
    expect([created.length, patched]).to.deep.equal([1, [series(2, "22")]]);
    clock.advance(6 * 60_000);
    await settled();
    expect(patched).to.deep.equal([series(2, "22"), series(6, "26")]);
    recorder.record(details());
    await settled();
    expect(created).to.have.length(2);
  });

  it("writes a series that goes on every six minutes", async () => {
    const minutes: number[] = [];
    for (let minute = 0; minute <= 20; minute++) {
      recorder.record(details());
      await settled();
      if (patched.length > minutes.length) minutes.push(minute);
      clock.advance(60_000);
      await settled();
      if (patched.length > minutes.length) minutes.push(minute + 1);
    }
    expect([created.length, minutes]).to.deep.equal([1, [1, 7, 13, 19]]);
  });

  it("tells events apart that differ in anything but their time", async () => {
    recorder.record(details());
    recorder.record(details("b"));
    recorder.record(details("a", { note: "Another one." }));
    recorder.record(details("a", { reason: "Missed" }));
    await settled();
    expect(created).to.have.length(4);
    expect(patched).to.have.length(0);
  });

  it("drops what is over the budget of an object, and counts it", async () => {
    for (let index = 0; index < 40; index++) recorder.record(details("a", { note: `${index}` }));
    await settled();
    await settled();
    expect([created.length, dropped]).to.deep.equal([25, 15]);
    recorder.record(details("b"));
    await settled();
    expect(created).to.have.length(26);
    clock.advance(5 * 60_000);
    recorder.record(details("a", { note: "later" }));
    await settled();
    expect(created.at(-1)?.note).to.equal("later");
  });

  it("drops what is over the budget of a namespace, and of no other one", async () => {
    for (let index = 0; index < 120; index++) recorder.record(details(`pod-${index}`));
    for (let turn = 0; turn < 5; turn++) await settled();
    expect([created.length, dropped]).to.deep.equal([50, 70]);
    recorder.record(of("quiet", "a"));
    for (let turn = 0; turn < 5; turn++) await settled();
    expect([created.at(-1)?.metadata.namespace, dropped]).to.deep.equal(["quiet", 70]);
    clock.advance(2_000);
    recorder.record(details("pod-later"));
    for (let turn = 0; turn < 5; turn++) await settled();
    expect(created).to.have.length(52);
  });

  it("remembers a bounded number of objects, also of those of which nothing is written", async () => {
    const again = (index: number): EventDetails => ({ ...of("quiet", "a"), note: `${index}` });
    for (let index = 0; index < 26; index++) recorder.record(again(index));
    expect(dropped, "one is over the budget of its object").to.equal(1);
    for (let index = 0; index < 6_000; index++) recorder.record(details(`pod-${index}`));
    const before = dropped;
    recorder.record(again(26));
    expect(dropped, "it was forgotten, as the one of which nothing was heard for the longest").to.equal(
      before,
    );
    await settled();
  });

  it("writes events of many namespaces one after the other, and lets these take turns", async () => {
    for (let index = 0; index < 50; index++)
      for (const namespace of ["a", "b", "c"]) recorder.record(of(namespace, `pod-${index}`));
    for (let turn = 0; turn < 5; turn++) await settled();
    expect([created.length, dropped]).to.deep.equal([100, 0]);
    recorder.record(of("quiet", "a"));
    for (let time = 0; time < 5; time++) {
      clock.advance(200);
      await settled();
    }
    expect(created.slice(100).map(({ metadata }) => metadata.namespace)).to.include("quiet");
    for (let time = 0; time < 60; time++) {
      clock.advance(200);
      await settled();
    }
    expect(created).to.have.length(151);
  });

  it("writes an event later if the API server fails, with what has happened meanwhile", async () => {
    fault = () => new KubeError("SERVER_ERROR", "etcd has no leader");
    recorder.record(details());
    await settled();
    recorder.record(details());
    await settled();
    fault = () => undefined;
    clock.advance(2_000);
    await settled();
    expect(created).to.have.length(1);
    expect(created[0]?.series?.count).to.equal(2);
  });

  it("gives up an event that is refused, and says so", async () => {
    fault = () => new KubeError("FORBIDDEN", "the namespace is being terminated");
    recorder.record(details());
    await settled();
    clock.advance(10 * 60_000);
    await settled();
    expect(created).to.have.length(0);
    expect(lines.filter((line) => line.includes("an event is not accepted"))).to.have.length(1);
  });

  it("begins an event again that was forgotten by the API server", async () => {
    recorder.record(details());
    await settled();
    fault = (method) => (method === "patch" ? new KubeError("NOT_FOUND", "gone") : undefined);
    recorder.record(details());
    await settled();
    expect(created).to.have.length(2);
    expect(created[1]?.series?.count).to.equal(2);
  });

  it("keeps of a long note what it writes", async () => {
    const long = "x".repeat(2_000);
    recorder.record(details("a", { note: `${long}1` }));
    recorder.record(details("a", { note: `${long}2` }));
    await settled();
    expect([created.length, created[0]?.series?.count]).to.deep.equal([1, 2]);
  });

  it("writes events of objects without a namespace to default, and cuts long notes", async () => {
    recorder.record(
      details("a", {
        regarding: { apiVersion: "v1", kind: "Namespace", name: "n".repeat(240) },
        note: "é".repeat(600),
      }),
    );
    await settled();
    const [event] = created;
    expect(event?.metadata.namespace).to.equal("default");
    expect(event?.metadata.name).to.have.length(217);
    expect(Buffer.byteLength(event?.note ?? "")).to.equal(1_024);
  });
});
