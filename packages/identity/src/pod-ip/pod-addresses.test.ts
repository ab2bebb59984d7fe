import { expect } from "chai";
import { KubeError, type RawRequest } from "@bunting/kube";
import type { Caller } from "../authenticator.js";
import { IdentityError } from "../identity-error.js";
import type { Identity } from "../identity.js";
import { queueUnderTest, settled, type QueueUnderTest } from "../review/review.fixture.js";
import { podAddress } from "./pod-address.js";
import { PodAddresses } from "./pod-addresses.js";
import { podConfirmationTimes } from "./pod-confirmations.js";
import { podListLimits, podLookupTimes } from "./pod-lookups.js";

interface PodParts {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly ip?: string;
  readonly phase?: string;
  readonly hostNetwork?: boolean;
  readonly ips?: readonly string[];
  readonly isEnding?: boolean;
  readonly isReady?: boolean;
  readonly isMirror?: boolean;
  readonly serviceAccountName?: string | undefined;
}

function pod({
  namespace = "shop",
  name = "web-1",
  uid = "u1",
  ip = "10.1.2.3",
  phase = "Running",
  hostNetwork,
  ips = [ip],
  isEnding = false,
  isReady = true,
  isMirror = false,
  ...account
}: PodParts): object {
  const { serviceAccountName } = { serviceAccountName: "web", ...account };
  return {
    metadata: {
      namespace,
      name,
      uid,
      ...(isEnding ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
      ...(isMirror ? { annotations: { "kubernetes.io/config.mirror": "a5b" } } : {}),
    },
    spec: { serviceAccountName, ...(hostNetwork === undefined ? {} : { hostNetwork }) },
    status: {
      phase,
      podIP: ips[0],
      podIPs: ips.map((each) => ({ ip: each })),
      conditions: [{ type: "Ready", status: isReady ? "True" : "False" }],
    },
  };
}

/** Whether a request is for all Pods that have an address, from the API server's memory or from etcd; or for one by its name. */
function wayOf({ path, query }: RawRequest): string {
  if (path !== "/api/v1/pods") return "named";
  return query?.["resourceVersion"] === 0 ? "list" : "consistent list";
}

describe("PodAddresses", () => {
  let test: QueueUnderTest;
  let lists: QueueUnderTest;
  let pods: object[];
  let addresses: PodAddresses;
  beforeEach(() => {
    test = queueUnderTest();
    lists = queueUnderTest({ ...podListLimits, clock: test.clock });
    pods = [pod({})];
    test.api.answer = ({ path }) => (path === "/api/v1/pods" ? { items: pods } : pods[0]);
    const { api: client, queue, clock } = test;
    addresses = new PodAddresses({ client, queue, listQueue: lists.queue, clock });
  });
  afterEach(() => {
    test.stop();
    lists.stop();
  });

  const caller = (address: string): Caller => ({ bearerToken: undefined, address, connection: {} });
  const identify = async (address = "10.1.2.3"): Promise<Identity> => addresses.identify(caller(address));
  const errorOf = async (promise: Promise<unknown>, steps = 0): Promise<IdentityError> => {
    const caught = promise.then(
      () => undefined,
      (error: unknown) => error,
    );
    for (let step = 0; step < steps; step++) {
      await settled();
      test.clock.advance(1_000);
    }
    const error = await caught;
    if (error instanceof IdentityError) return error;
    throw new Error("it was accepted", { cause: error });
  };

  it("identifies a caller as the ServiceAccount of the Pod with its address, by one call", async () => {
    const [one, two] = await Promise.all([identify(), identify("::ffff:10.1.2.3")]);
    expect(one).to.deep.equal({
      kind: "pod-ip",
      namespace: "shop",
      serviceAccount: "web",
      pod: "web-1",
      podUid: "u1",
    });
    expect(two).to.equal(one);
    expect(addresses.identify(caller("10.1.2.3"))).to.equal(one);
    const requests = test.api.taken();
    expect(requests).to.have.length(1);
    expect(requests[0]?.query).to.deep.equal({
      fieldSelector: "status.podIP=10.1.2.3,status.phase!=Succeeded,status.phase!=Failed",
      limit: 2,
      resourceVersion: 0,
    });
  });

  for (const [what, found] of [
    ["a node's address", [pod({ hostNetwork: true })]],
    ["a node's address that a Pod reports as well", [pod({}), pod({ hostNetwork: true, uid: "u2" })]],
    ["an address that two Pods report", [pod({}), pod({ uid: "u2", namespace: "ops" })]],
    [
      "an address that a Pod reports besides one that is being deleted",
      [pod({}), pod({ uid: "u2", isEnding: true })],
    ],
    ["a static Pod, which runs as no ServiceAccount", [pod({ isMirror: true })]],
    ["a Pod without a ServiceAccount", [pod({ serviceAccountName: undefined })]],
    ["a Pod with an empty ServiceAccount", [pod({ serviceAccountName: "" })]],
  ] as const) {
    it(`refuses ${what}, and remembers that`, async () => {
      pods = [...found];
      expect((await errorOf(identify())).code).to.equal("POD_UNKNOWN");
      expect((await errorOf(identify())).message).to.contain("10.1.2.3");
      expect(test.api.taken()).to.have.length(1);
    });
  }

  for (const [what, found] of [
    ["an unknown address", []],
    ["the address of a Pod that has ended", [pod({ phase: "Succeeded" }), pod({ phase: "Failed" })]],
    ["a Pod whose address is another than was asked for", [pod({ ip: "10.1.2.4" })]],
    ["a Pod that is being deleted", [pod({ isEnding: true })]],
  ] as const) {
    it(`refuses ${what}, after it has looked again for a Pod that is just starting`, async () => {
      pods = [...found];
      expect((await errorOf(identify(), 5)).code).to.equal("POD_UNKNOWN");
      // Only what is about to be refused is asked of etcd.
      const ways = test.api.taken().map(wayOf);
      expect(ways).to.deep.equal(["list", "list", "list", "list", "consistent list"]);
      expect((await errorOf(identify())).code, "at once").to.equal("POD_UNKNOWN");
      expect(test.api.taken()).to.have.length(0);
    });
  }

  it("finds a Pod whose address the kubelet has not reported yet", async () => {
    const [starting] = pods.splice(0);
    const identity = identify();
    await settled();
    if (starting !== undefined) pods.push(starting);
    test.clock.advance(1_000);
    expect((await identity).pod).to.equal("web-1");
  });

  it("asks nothing about addresses that no Pod has", async () => {
    for (const address of [
      "unix",
      "127.0.0.1",
      "::1",
      "::6",
      "::ffff:127.0.0.1",
      "169.254.1.1",
      "fe80::1%eth0",
      "",
      "nonsense",
    ])
      expect((await errorOf(identify(address))).code, address).to.equal("POD_UNKNOWN");
    expect(test.api.taken()).to.deep.equal([]);
  });

  it("reads addresses as Kubernetes writes them", () => {
    for (const [written, read] of [
      ["::ffff:10.0.0.1", "10.0.0.1"],
      ["::FFFF:10.0.0.1", "10.0.0.1"],
      ["::ffff:a00:1", "10.0.0.1"],
      ["0:0:0:0:0:ffff:255.255.0.1", "255.255.0.1"],
      ["FD00::A", "fd00::a"],
      ["fd00:0:0:0:0:0:0:0a", "fd00::a"],
      ["fd00::a%eth0", undefined],
      ["::ffff:169.254.1.1", undefined],
      ["::ffff:127.0.0.6", undefined],
      ["0:0:0:0:0:0:0:6", undefined],
    ])
      expect(podAddress(String(written)), written).to.equal(read);
  });

  it("finds Pods by IPv6 addresses, however they are written", async () => {
    pods = [pod({ ip: "fd00:0:0::A" })];
    expect((await identify("FD00::a")).pod).to.equal("web-1");
    expect(test.api.taken()[0]?.query)
      .to.have.property("fieldSelector")
      .that.contains("status.podIP=fd00::a,");
  });

  it("knows a Pod with two addresses by each that the API server finds it by", async () => {
    pods = [pod({ ips: ["10.1.2.3", "fd00::a"] })];
    expect((await identify("10.1.2.3")).pod).to.equal("web-1");
    expect((await identify("fd00::a")).pod).to.equal("web-1");
    pods = [pod({ ips: ["10.1.2.9", "fd00::b"] }), pod({ ip: "fd00::b", uid: "u2" })];
    expect((await errorOf(identify("fd00::b"))).message).to.contain("several Pods");
  });

  it("takes a Pod that has ended for none, and the one that runs for the owner of its address", async () => {
    pods = [pod({ uid: "u0", phase: "Succeeded", isEnding: true }), pod({ name: "web-2" })];
    expect((await identify()).pod).to.equal("web-2");
  });

  it("asks for a known Pod by its name, for new connections", async () => {
    const identity = await identify();
    test.api.taken();
    test.clock.advance(podConfirmationTimes.grantedTtlMs - 1);
    expect(addresses.identify(caller("10.1.2.3"))).to.equal(identity);
    expect(test.api.taken()).to.deep.equal([]);
    test.clock.advance(1);
    expect(await identify()).to.equal(identity);
    expect(test.api.taken().map(({ path }) => path)).to.deep.equal(["/api/v1/namespaces/shop/pods/web-1"]);
    expect(addresses.identify(caller("10.1.2.3"))).to.equal(identity);
  });

  for (const [what, change] of [
    ["is not ready", { isReady: false }],
    ["is being deleted", { isEnding: true }],
    ["has ended", { phase: "Failed" }],
    ["has another address", { ip: "10.1.2.9" }],
    ["is another of its name", { uid: "u9" }],
  ] as const)
    it(`looks at all Pods again for new connections when the known one ${what}`, async () => {
      await identify();
      test.api.taken();
      test.clock.advance(podConfirmationTimes.grantedTtlMs);
      const named = pod(change);
      test.api.answer = ({ path }) =>
        path === "/api/v1/pods" ? { items: [pod({ name: "web-2", uid: "u2" })] } : named;
      expect((await identify()).pod).to.equal("web-2");
      expect(test.api.taken().map(wayOf)).to.deep.equal(["named", "list"]);
    });

  it("keeps the identity of a Pod that is not ready for its new connections", async () => {
    pods = [pod({ isReady: false })];
    const identity = await identify();
    test.clock.advance(podConfirmationTimes.grantedTtlMs);
    expect(await identify()).to.equal(identity);
  });

  it("looks at all Pods that have the address of open streams, and keeps their identity as long as it is that one", async () => {
    const identity = await identify();
    test.api.taken();
    test.clock.advance(podLookupTimes.recheckTtlMs);
    expect(await addresses.recheck(identity)).to.equal(undefined);
    expect(test.api.taken().map(wayOf)).to.deep.equal(["list"]);
    expect(addresses.identify(caller("10.1.2.3"))).to.equal(identity);
  });

  it("ends an identity, and lets nobody in, once a second Pod has its address", async () => {
    const identity = await identify();
    pods = [pod({}), pod({ uid: "u2", namespace: "ops" })];
    test.clock.advance(podLookupTimes.recheckTtlMs);
    const doubled = addresses.recheck(identity);
    await settled();
    test.clock.advance(2_000);
    expect((await doubled)?.message).to.contain("several Pods have this address");
    expect((await errorOf(identify())).message).to.contain("several Pods have this address");
  });

  it("sees a second Pod also by the new connections of the first, when all were not looked at for long", async () => {
    await identify();
    pods = [pod({}), pod({ uid: "u2", namespace: "ops" })];
    for (
      let waitedMs = 0;
      waitedMs < podLookupTimes.grantedTtlMs;
      waitedMs += podConfirmationTimes.grantedTtlMs
    ) {
      await identify();
      test.clock.advance(podConfirmationTimes.grantedTtlMs);
    }
    const doubled = errorOf(identify());
    await settled();
    test.clock.advance(2_000);
    expect((await doubled).message).to.contain("several Pods have this address");
  });

  it("keeps the streams of a Pod that is being deleted until it has ended, but lets it open no more", async () => {
    const identity = await identify();
    pods = [pod({ isEnding: true })];
    test.clock.advance(podLookupTimes.recheckTtlMs);
    const ending = addresses.recheck(identity);
    await settled();
    test.clock.advance(2_000);
    expect(await ending).to.equal(undefined);
    expect((await errorOf(identify())).message).to.contain("is being deleted");
    pods = [];
    test.clock.advance(podLookupTimes.refusedTtlMs);
    expect((await addresses.recheck(identity))?.code).to.equal("POD_UNKNOWN");
  });

  it("ends an identity whose address belongs to another Pod, which has one of its own", async () => {
    const identity = await identify();
    pods = [pod({ uid: "u2", namespace: "ops" })];
    test.clock.advance(podLookupTimes.recheckTtlMs);
    expect((await addresses.recheck(identity))?.code).to.equal("POD_UNKNOWN");
    expect((await identify()).namespace).to.equal("ops");
  });

  it("ends an identity whose Pod is gone", async () => {
    const identity = await identify();
    pods = [];
    test.clock.advance(podLookupTimes.recheckTtlMs);
    const gone = addresses.recheck(identity);
    await settled();
    test.clock.advance(2_000);
    expect((await gone)?.code).to.equal("POD_UNKNOWN");
  });

  it("keeps known identities while the API server is away, and makes no new ones", async () => {
    const identity = await identify();
    test.api.failure = "CONNECTION_REFUSED";
    test.clock.advance(podLookupTimes.recheckTtlMs);
    const known = addresses.recheck(identity);
    const unknown = errorOf(identify("10.1.2.9"), 7);
    await settled();
    expect(await known).to.equal(undefined);
    expect((await unknown).code).to.equal("IDENTITY_UNAVAILABLE");
  });

  it("lets in nobody whose Pod was seen to be gone, while the API server is away for the rest", async () => {
    await identify();
    test.clock.advance(podConfirmationTimes.grantedTtlMs);
    test.api.answer = ({ path }) => {
      throw new KubeError(
        path === "/api/v1/pods" ? "CONNECTION_REFUSED" : "NOT_FOUND",
        "the test answers so",
      );
    };
    expect((await errorOf(identify(), 7)).code).to.equal("IDENTITY_UNAVAILABLE");
  });

  it("lets in those that were known, also by a new connection, while the API server is away", async () => {
    const identity = await identify();
    test.api.failure = "CONNECTION_REFUSED";
    test.clock.advance(podConfirmationTimes.grantedTtlMs);
    expect(await identify()).to.equal(identity);
    test.clock.advance(podLookupTimes.grantedTtlMs);
    expect(await identify()).to.equal(identity);
  });

  it("looks again for an unknown address once, however many streams wait for it", async () => {
    pods = [];
    const streams = Array.from({ length: 500 }, () => errorOf(identify()));
    for (let step = 0; step < 6; step++) {
      await settled();
      test.clock.advance(1_000);
    }
    for (const error of await Promise.all(streams)) expect(error.code).to.equal("POD_UNKNOWN");
    expect(test.api.taken()).to.have.length(5);
  });

  describe("with many new addresses", () => {
    const addressOf = (index: number): string => `10.9.${index >> 8}.${index & 255}`;
    const step = async (): Promise<void> => {
      test.clock.advance(1_000);
      await settled();
    };
    beforeEach(() => {
      test.api.answer = ({ path, query }) => {
        const ip = /status\.podIP=([^,]+)/.exec(String(query?.["fieldSelector"]))?.[1];
        const found = pod({ name: `pod-${ip}`, uid: `uid-${ip}`, ...(ip === undefined ? {} : { ip }) });
        return path === "/api/v1/pods" ? { items: [found] } : pods[0];
      };
    });

    it("lists Pods only so often: the others wait, and then come back later", async () => {
      const { burst = 0, perSecond = 0 } = podListLimits;
      const results: string[] = [];
      for (let index = 0; index < 1_000; index++)
        void identify(addressOf(index)).then(
          () => results.push("in"),
          (error: unknown) => results.push((error as Error).message),
        );
      for (let turn = 0; turn < 50; turn++) await settled();
      expect(test.api.taken(), "at once").to.have.length(burst);
      for (let second = 1; second < 5; second++) {
        await step();
        expect(test.api.taken(), `after ${second} s`).to.have.length(perSecond);
      }
      await step();
      const refused = results.filter((result) => result !== "in");
      expect(results.length - refused.length).to.be.within(burst + 4 * perSecond, burst + 5 * perSecond);
      expect(refused).to.have.length(1_000 - (results.length - refused.length));
      expect(refused.at(-1)).to.equal(
        "it can't be found out who calls: too many questions wait for the API server; try again",
      );
    });

    it("still confirms known Pods by their name, and looks at open streams", async () => {
      const known = await identify();
      test.clock.advance(podLookupTimes.recheckTtlMs - 1);
      const fresh = await identify(addressOf(60_000));
      for (let index = 0; index < 1_000; index++)
        void errorOf(identify(addressOf(index))).catch(() => undefined);
      test.clock.advance(podConfirmationTimes.grantedTtlMs);
      test.api.answer = ({ path }) =>
        path === "/api/v1/pods" ? { items: [pod({ uid: "u2" })] } : namedFresh;
      const namedFresh = pod({ name: String(fresh.pod), uid: String(fresh.podUid), ip: addressOf(60_000) });
      expect(await identify(addressOf(60_000)), "by its name").to.equal(fresh);
      const ended = addresses.recheck(known);
      await step();
      expect((await ended)?.message).to.contain("belongs to another Pod");
    });
  });
});
