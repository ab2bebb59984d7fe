import { status as grpcStatus } from "@grpc/grpc-js";
import {
  accessMatrix,
  callers,
  topics,
  type MatrixAnswer,
  type CallerKind,
  type TopicRelation,
} from "../../scripts/access-matrix.js";
import { expect } from "chai";
import type { ProxyProcess } from "../support/proxy-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { AccessWorld, podAddressOfMachine } from "./support/access-world.js";
import { sharedCluster } from "./support/use-cluster.js";

/** The tables of docs/reference/access.md, each answer from a real proxy on a real API server. */
describe("the access matrix", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let world: AccessWorld;
  const tokens = new Map<CallerKind, string>();

  before(async () => {
    world = await AccessWorld.create(cluster());
    tokens.set("token", await world.token("web"));
    tokens.set("otherAudience", await world.token("web", "vault"));
    // A ServiceAccount of its own name would need its own readers and Role: it is deleted and made again, as another one.
    tokens.set("deletedAccount", await world.token("web"));
    await world.deleteAccount("web");
    await world.createAccount("web");
    tokens.set("token", await world.token("web"));
    tokens.set("otherAudience", await world.token("web", "vault"));
  });

  for (const { args, callers: rows } of accessMatrix) {
    for (const [first, ...others] of callersOfOneProxy(Object.keys(rows) as CallerKind[])) {
      describe(`${args.join(" ")}${isOfAddress(first) ? ` asked ${callers[first]}` : ""}`, () => {
        let proxy: ProxyProcess;
        let client: StockSyncClient;

        before(async function () {
          const address = isOfAddress(first) ? podAddressOfMachine("IPv4") : "127.0.0.1";
          if (address === undefined) {
            console.log("      skipped: this machine has no address that a Pod could have");
            this.skip();
          }
          if (first === "pod") await world.createPod("web", address);
          if (first === "hostNetwork") await world.createPod("agent", address, { hostNetwork: true });
          proxy = await world.startProxy([...args, "--host", address]);
          client = new StockSyncClient(`${address}:${proxy.sync.split(":")[1] ?? ""}`);
        });
        after(async () => {
          client.close();
          expect(await proxy.process.stop("SIGKILL"), proxy.process.output).to.equal(null);
          if (first === "pod") await world.deletePod("web");
          if (first === "hostNetwork") await world.deletePod("agent");
        });

        for (const caller of [first, ...others]) {
          const row = Object.entries(rows[caller] ?? {}) as [TopicRelation, MatrixAnswer][];
          for (const [topic, expected] of row)
            it(`answers who ${callers[caller]} and asks for ${topics[topic]}: ${expected}`, async () => {
              await expectAnswer(
                client,
                { selector: world.topic(topic), token: tokens.get(caller) },
                expected,
              );
            });
        }
      });
    }
  }

  /** What the proxy answers to a subscription. */
  async function expectAnswer(
    client: StockSyncClient,
    { selector, token }: { readonly selector: string; readonly token: string | undefined },
    expected: MatrixAnswer,
  ): Promise<void> {
    const stream = client.subscribe({ selector, ...(token === undefined ? {} : { token }) });
    const ended = stream.ended.then(({ code, details }) => ({ code, details }));
    // Response headers come once the caller is let in; a message only if the FeatureFlag exists.
    const admitted = stream.headers.then(async () => {
      if (expected === "flags") await stream.messages.nextEvent("flags");
      return expected === "flags" ? "flags" : "held";
    });
    const answer = await Promise.race([ended, admitted]);
    if (typeof answer === "string") expect(answer).to.equal(expected);
    else if (expected === "denied") {
      expect(answer.code, answer.details).to.equal(grpcStatus.PERMISSION_DENIED);
      expect(answer.details).to.contain(`system:serviceaccount:${world.teamA}:web`).and.contain(selector);
    } else {
      expect(expected, answer.details).to.equal("unknown");
      expect(answer.code, answer.details).to.equal(grpcStatus.UNAUTHENTICATED);
    }
    stream.cancel();
  }
});

/** Callers with tokens ask the same proxy; one that is known by its address has a proxy of its own, because an address has one answer for a while. */
function callersOfOneProxy(kinds: readonly CallerKind[]): readonly [CallerKind, ...CallerKind[]][] {
  const [first, ...others] = kinds.filter((kind) => !isOfAddress(kind));
  const alone = kinds.filter(isOfAddress).map((kind): [CallerKind] => [kind]);
  return first === undefined ? alone : [[first, ...others], ...alone];
}

function isOfAddress(kind: CallerKind): boolean {
  return kind === "pod" || kind === "hostNetwork" || kind === "noPod";
}
