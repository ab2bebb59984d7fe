import { expect } from "chai";
import { status as grpcStatus } from "@grpc/grpc-js";
import type { FlagDocument, TopicKey } from "@bunting/protocol";
import { AgentConnection } from "@bunting/test/support/agent-client.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { StockSyncClient } from "@bunting/test/support/stock-sync-client.js";
import { SyncServer } from "@bunting/test/support/sync-server.js";
import { ProxyError } from "../proxy-error.js";
import type { Access, Admission, Admitted, LostSubscriptions } from "./access.js";

const topic = "demo/flags" as TopicKey;
const other = "demo/secret" as TopicKey;
const document: FlagDocument = { flags: { f: { state: "v1" } } };
const admission: Admission = {
  identity: { kind: "token", namespace: "demo", serviceAccount: "checkout" },
};
const unauthenticated = new ProxyError("UNAUTHENTICATED", "present a token");
const denied = new ProxyError("PERMISSION_DENIED", "checkout may not read it");

/** Answers when the test says so, and knows what is watched. */
class ScriptedAccess implements Access {
  admits: () => Admission | Promise<Admission> = () => admission;
  authorizes: () => ProxyError | undefined | Promise<ProxyError | undefined> = () => undefined;
  readonly streams = new Set<Admitted>();
  readonly subscribers = new Map<Admitted, TopicKey>();

  admit(): Admission | Promise<Admission> {
    return this.admits();
  }

  authorize(): ProxyError | undefined | Promise<ProxyError | undefined> {
    return this.authorizes();
  }

  watchAdmission(of: Admission, stream: Admitted): void {
    expect(of).to.equal(admission);
    this.streams.add(stream);
  }

  watchTopic(of: Admission, key: TopicKey, subscriber: Admitted): void {
    expect(of).to.equal(admission);
    this.subscribers.set(subscriber, key);
  }

  lost(): readonly LostSubscriptions[] {
    return [];
  }

  forget(stream: Admitted): void {
    this.streams.delete(stream);
  }

  forgetTopic(subscriber: Admitted): void {
    this.subscribers.delete(subscriber);
  }

  /** Ends the subscriptions of a topic, or all streams. */
  end(error: ProxyError, key?: TopicKey): void {
    if (key === undefined) for (const stream of [...this.streams]) stream.refuse(error);
    else for (const [subscriber, its] of [...this.subscribers]) if (its === key) subscriber.refuse(error);
  }
}

function later<T>(): { readonly promise: Promise<T>; resolve(value: T): void; reject(error: Error): void } {
  let settle: { resolve: (value: T) => void; reject: (error: Error) => void } | undefined;
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }));
  return { promise, resolve: (value) => settle?.resolve(value), reject: (error) => settle?.reject(error) };
}

describe("access to topics", () => {
  let access: ScriptedAccess;
  let server: SyncServer;

  beforeEach(async () => {
    access = new ScriptedAccess();
    server = await new SyncServer({ access }).start();
    for (const each of [topic, other]) server.source.publish(each, document);
  });

  afterEach(async () => {
    await eventually(() => server.listener.sessions.size === 0, "connections closed");
    expect(access.streams.size).to.equal(0);
    expect(access.subscribers.size).to.equal(0);
    for (const { size } of server.topics.topics()) expect(size).to.equal(0);
    await server.stop();
  });

  for (const legacy of [false, true]) {
    describe(legacy ? "with sync.v1" : "with flagd.sync.v1", () => {
      let client: StockSyncClient;

      beforeEach(() => {
        client = new StockSyncClient(`127.0.0.1:${server.port}`);
      });

      afterEach(() => client.close());

      it("is refused with UNAUTHENTICATED, and the reason, to unknown callers", async () => {
        for (const admits of [() => Promise.reject(unauthenticated), throwUnauthenticated]) {
          access.admits = admits;
          const { code, details } = await client.subscribe({ selector: topic, legacy }).ended;
          expect({ code, details }).to.deep.equal({
            code: grpcStatus.UNAUTHENTICATED,
            details: unauthenticated.message,
          });
          const error: unknown = await client.fetchAll(topic, legacy).catch((reason: unknown) => reason);
          expect(error).to.have.property("code", grpcStatus.UNAUTHENTICATED);
        }
      });

      it("is refused with PERMISSION_DENIED, and without a subscription, to those who may not read them", async () => {
        for (const authorizes of [() => denied, () => Promise.resolve(denied)]) {
          access.authorizes = authorizes;
          const { code } = await client.subscribe({ selector: topic, legacy }).ended;
          expect(code).to.equal(grpcStatus.PERMISSION_DENIED);
          const error: unknown = await client.fetchAll(topic, legacy).catch((reason: unknown) => reason);
          expect(error).to.have.property("code", grpcStatus.PERMISSION_DENIED);
        }
        expect(server.topics.size).to.equal(0);
      });

      it("waits until it is known who calls", async () => {
        const who = later<Admission>();
        let hasAsked = false;
        access.admits = () => {
          hasAsked = true;
          return who.promise;
        };
        const stream = client.subscribe({ selector: topic, legacy });
        await eventually(() => hasAsked, "the call");
        access.admits = () => admission;
        expect(await client.fetchAll(topic, legacy), "a later call").to.include("v1");
        expect(stream.messages.size).to.equal(0);
        who.resolve(admission);
        await stream.messages.nextEvent();
        stream.cancel();
        await eventually(() => access.streams.size === 0, "the end of the stream");
      });

      it("subscribes nobody who has gone while that is found out", async () => {
        const who = later<Admission>();
        let hasAsked = false;
        access.admits = () => {
          hasAsked = true;
          return who.promise;
        };
        const stream = client.subscribe({ selector: topic, legacy });
        await eventually(() => hasAsked, "the call");
        client.close();
        stream.cancel();
        await eventually(() => server.listener.sessions.size === 0, "the end of the connection");
        who.resolve(admission);
        await who.promise;
        expect(server.topics.size).to.equal(0);
      });

      it("ends with the reason when it is taken away", async () => {
        for (const [error, key, status] of [
          [denied, topic, grpcStatus.PERMISSION_DENIED],
          [unauthenticated, undefined, grpcStatus.UNAUTHENTICATED],
        ] as const) {
          const stream = client.subscribe({ selector: topic, legacy });
          await stream.messages.nextEvent();
          access.end(error, key);
          const { code, details } = await stream.ended;
          expect({ code, details }).to.deep.equal({ code: status, details: error.message });
          await eventually(() => access.streams.size === 0, "the end of the stream");
        }
      });
    });
  }

  describe("with bunting.sync.v1", () => {
    let connection: AgentConnection;

    beforeEach(async () => {
      connection = await AgentConnection.open(server.port);
    });

    afterEach(() => connection.close());

    it("ends the stream with UNAUTHENTICATED for unknown callers", async () => {
      for (const admits of [() => Promise.reject(unauthenticated), throwUnauthenticated]) {
        access.admits = admits;
        const agent = connection.stream();
        agent.subscribe(topic);
        const { status, message } = await agent.ended;
        expect({ status, message }).to.deep.equal({
          status: grpcStatus.UNAUTHENTICATED,
          message: unauthenticated.message,
        });
        expect(agent.isOpen, "headers, which say to an agent that it is connected").to.be.false;
      }
      expect(server.topics.size).to.equal(0);
    });

    it("keeps what an agent sends until it is known who it is, and then answers", async () => {
      const who = later<Admission>();
      let hasAsked = false;
      access.admits = () => {
        hasAsked = true;
        return who.promise;
      };
      const agent = connection.stream();
      const many = Array.from({ length: 100 }, () => other);
      for (const each of many) agent.unsubscribe(each);
      agent.subscribe(topic);
      await eventually(() => hasAsked, "the call");
      access.admits = () => admission;
      await connection.stream().fence();
      expect(agent.isOpen).to.be.false;
      expect(agent.messages.size).to.equal(0);
      expect(server.topics.size).to.equal(0);
      who.resolve(admission);
      expect(await agent.messages.nextEvent()).to.have.property("$case", "snapshot");
    });

    it("sends heartbeats to an agent while it is not known who it is: one that hears nothing would open stream after stream", async () => {
      const clock = new ManualClock();
      const waiting = await new SyncServer({ access, context: { clock } }).start();
      try {
        waiting.source.publish(topic, document);
        const who = later<Admission>();
        let hasAsked = false;
        access.admits = () => {
          hasAsked = true;
          return who.promise;
        };
        const agents = await AgentConnection.open(waiting.port);
        const agent = agents.stream();
        agent.subscribe(topic);
        await eventually(() => hasAsked, "the call");
        for (let i = 0; i < 2; i++) {
          clock.advance(20_000);
          await agent.heartbeats.nextEvent();
        }
        who.resolve(admission);
        expect(await agent.messages.nextEvent()).to.have.property("$case", "snapshot");
        agents.close();
      } finally {
        await waiting.stop();
      }
    });

    it("refuses a topic in-band, and goes on with the others", async () => {
      for (const authorizes of [() => denied, () => Promise.resolve(denied)]) {
        const agent = connection.stream();
        access.authorizes = authorizes;
        agent.subscribe(other);
        expect(await agent.messages.nextEvent())
          .to.have.property("value")
          .that.includes({ topic: other, code: grpcStatus.PERMISSION_DENIED, message: denied.message });
        access.authorizes = () => undefined;
        agent.subscribe(topic);
        expect(await agent.messages.nextEvent()).to.have.property("$case", "snapshot");
      }
    });

    it("lets an agent take back a subscription that is being decided", async () => {
      const decision = later<ProxyError | undefined>();
      let hasAsked = false;
      access.authorizes = () => {
        hasAsked = true;
        return decision.promise;
      };
      const agent = connection.stream();
      agent.subscribe(topic);
      await eventually(() => hasAsked, "the question whether it may");
      agent.unsubscribe(topic);
      access.authorizes = () => undefined;
      agent.subscribe(other);
      expect(await agent.messages.nextEvent()).to.have.property("$case", "snapshot");
      decision.resolve(undefined);
      await agent.fence();
      expect([...access.subscribers.values()]).to.deep.equal([other]);
    });

    it("ends a subscription in-band when permission is taken away, and the stream when its identity ends", async () => {
      const agent = connection.stream();
      for (const each of [topic, other]) {
        agent.subscribe(each);
        expect(await agent.messages.nextEvent()).to.have.property("$case", "snapshot");
      }
      access.end(denied, other);
      expect(await agent.messages.nextEvent())
        .to.have.property("value")
        .that.includes({ topic: other, code: grpcStatus.PERMISSION_DENIED });
      expect(agent.hasEnded).to.be.false;
      access.end(unauthenticated);
      const { status, message } = await agent.ended;
      expect({ status, message }).to.deep.equal({
        status: grpcStatus.UNAUTHENTICATED,
        message: unauthenticated.message,
      });
    });

    it("ends the stream when its identity has ended by the time of a decision", async () => {
      access.authorizes = () => Promise.resolve(unauthenticated);
      const agent = connection.stream();
      agent.subscribe(topic);
      expect((await agent.ended).status).to.equal(grpcStatus.UNAUTHENTICATED);
    });
  });
});

function throwUnauthenticated(): never {
  throw unauthenticated;
}
